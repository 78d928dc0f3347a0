import type { MaybePromise } from "../../kit/maybe-promise.ts";
import type { SpendLimit } from "../tenancy/limits.ts";
import type { ChargedKeyUse, ClaimVerdict, IdempotencyKeyUse } from "./idempotency.ts";

export type RateWindowVerdict = {
  readonly isAllowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** When the oldest counted request leaves the window: milliseconds since the Unix epoch. */
  readonly resetAtMs: number;
  /** Until then, by the clock that decided, which may differ from that of this machine. */
  readonly waitMs: number;
  /** Version of the workspace's configuration, if several instances share it. */
  readonly version?: string;
};

export type KeyRef = { readonly id: string; readonly workspaceId: string };

export type HoldRequest = {
  readonly requestId: string;
  readonly workspaceId: string;
  /** For a rotated key, the first of its line: successors share its spend. */
  readonly keyId: string;
  /** The owner of a personal key. */
  readonly memberId: string | null;
  readonly nanos: bigint;
  /** Start of the request: decides the day and month it counts for, here and in the roll-ups. */
  readonly atMs: number;
  /** Checked with the wallet; the verdict names the first that is reached. */
  readonly limits: readonly SpendLimit[];
};

export type HoldRef = Pick<HoldRequest, "requestId" | "workspaceId">;

export type HoldVerdict =
  | { readonly is: "held" }
  | { readonly is: "insufficient_credits"; readonly availableNanos: bigint; readonly neededNanos: bigint }
  | ({
      readonly is: "spend_limit_reached";
      readonly limit: SpendLimit;
      readonly neededNanos: bigint;
      /** End of its day or month: milliseconds since the Unix epoch. */
      readonly resetsAtMs: number;
    } & SpendState);

export type Withdrawal = {
  readonly workspaceId: string;
  readonly nanos: bigint;
  /** Otherwise as much of `nanos` as is free. */
  readonly isAllOrNothing: boolean;
  /** Must stay in the wallet, besides the holds. */
  readonly reserveNanos: bigint;
};

export type WalletState = { readonly balanceNanos: bigint; readonly heldNanos: bigint };

/** Charged so far, and reserved by requests in flight. */
export type SpendState = { readonly spentNanos: bigint; readonly heldNanos: bigint };
/** A workspace, a member or a key. */
export type SpenderRef = { readonly id: string; readonly workspaceId: string };
export type Spending = { readonly day: SpendState; readonly month: SpendState };

/** Spend of one key on one UTC day. An unknown key is an empty string: it counts for its workspace only. */
export type DailySpend = Pick<HoldRequest, "workspaceId" | "keyId" | "memberId" | "nanos"> & {
  /** An ISO date. */
  readonly day: string;
};

/** `again`: interrupted work resumed under its old id; the earlier run may still be active. */
export type ExecutionKind = "first" | "again";

/**
 * State that requests share: rate windows, balances, holds, spend, idempotency keys. Each method is one atomic step, so
 * that two requests can never both take the last credit. Those on the path of every request return synchronously when the
 * state is in the process. What ends something (`settle`, `handOver`, `releaseHold`, `credit`, `recordKeyUse`,
 * `releaseClaim`) does not fail while the state is unavailable: it is retried until it succeeds.
 */
export type SharedState = {
  /** Counts a call in the sliding 60-second window, unless it is full. */
  consumeRateWindow(key: KeyRef, limit: number): MaybePromise<RateWindowVerdict>;
  /** Reads the window without counting. */
  peekRateWindow(key: KeyRef, limit: number): MaybePromise<RateWindowVerdict>;
  /** The configuration of a workspace changed: rate windows return a new version from now on. */
  bumpVersion(workspaceId: string): Promise<void>;
  /** Reserves an amount before any byte goes upstream: in the wallet and in every limit, or nowhere. */
  hold(request: HoldRequest): MaybePromise<HoldVerdict>;
  /** Ends a hold with the charge; idempotent. */
  settle(hold: HoldRef, chargedNanos: bigint): MaybePromise<void>;
  /** Another run of the same request continues and will end its hold and claim. */
  handOver(hold: HoldRef): MaybePromise<void>;
  /** No run of the request continues: its hold becomes free, as if swept. A late charge still counts. */
  releaseHold(hold: HoldRef): MaybePromise<void>;
  /**
   * Adds money that SQL has. A negative amount was taken back by a payment provider, whatever the balance. `booking`
   * completes the one that `announceBooking` named.
   */
  credit(workspaceId: string, nanos: bigint, booking?: string): Promise<void>;
  /**
   * A ledger transaction with this id is about to be written, under a wallet lock. If the process crashes before it knows
   * the outcome, the state is rebuilt from SQL. Absent when the state is lost with the process.
   */
  announceBooking?(id: string, workspaceId: string, createdAtMs: number): Promise<void>;
  /** Takes free credit, never what a hold needs; returns the amount. */
  withdraw(taking: Withdrawal): Promise<bigint>;
  wallet(workspaceId: string): Promise<WalletState>;
  /** At start, from SQL: limits continue from it. */
  restoreSpend(spends: readonly DailySpend[]): Promise<void>;
  /** Spend in the day and the month of a moment. */
  spending(spender: SpenderRef, atMs: number): Promise<Spending>;
  /**
   * Claims an `Idempotency-Key` for a request, unless another one runs or was charged under it; idempotent. After a failure
   * the request does not have it, unless an earlier run of the same request has.
   */
  claimIdempotencyKey(use: IdempotencyKeyUse, requestId: string, run?: ExecutionKind): MaybePromise<ClaimVerdict>;
  /** Ends the claim of a charged request; the key answers with it from now on. Also used at start, oldest first. */
  recordKeyUse(use: ChargedKeyUse): MaybePromise<void>;
  /** Ends the claim of a request without a charge. No effect after `recordKeyUse`. */
  releaseClaim(key: string, requestId: string): MaybePromise<void>;
  /** Releases holds older than `maxAgeMs`; returns how many. */
  sweepHolds(maxAgeMs: number): Promise<number>;
};
