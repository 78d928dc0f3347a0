import type { MaybePromise } from "../../kit/maybe-promise.ts";
import type { SpendLimit } from "../tenancy/limits.ts";
import type { ChargedKeyUse, ClaimVerdict, IdempotencyKeyUse } from "./idempotency.ts";

/** State that several requests share: rate windows, wallet balances, holds and what was spent. One process keeps it in memory. */
export type RateWindowVerdict = {
  readonly isAllowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** When the oldest counted request leaves the window: milliseconds since the Unix epoch. */
  readonly resetAtMs: number;
  /** How long it is until then, by the clock that judged: that of this machine may say otherwise. */
  readonly waitMs: number;
  /** Of the workspace, where several instances must know when something of it changes. */
  readonly version?: string;
};

/** A key, and the workspace that it is of. */
export type KeyRef = { readonly id: string; readonly workspaceId: string };

export type HoldRequest = {
  readonly requestId: string;
  readonly workspaceId: string;
  /** Of a rotated key the first of its line: a successor goes on with what was spent. */
  readonly keyId: string;
  /** The owner of a personal key. */
  readonly memberId: string | null;
  readonly nanos: bigint;
  /** When the request began: the day and the month it is counted in, here as in the roll-ups. */
  readonly atMs: number;
  /** What it must keep besides the wallet; the first that is reached is told. */
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
      /** When its day or month is over: milliseconds since the Unix epoch. */
      readonly resetsAtMs: number;
    } & SpendState);

export type Withdrawal = {
  readonly workspaceId: string;
  /** At most this; where there is less, that, or with `whole` nothing at all. */
  readonly nanos: bigint;
  readonly isAllOrNothing: boolean;
  /** What must stay besides the holds. */
  readonly reserveNanos: bigint;
};

export type WalletState = { readonly balanceNanos: bigint; readonly heldNanos: bigint };

/** Charged so far, and reserved by requests that are running. */
export type SpendState = { readonly spentNanos: bigint; readonly heldNanos: bigint };
/** The id of a workspace, a member or a key, and the workspace that it is of. */
export type SpenderRef = { readonly id: string; readonly workspaceId: string };
export type Spending = { readonly day: SpendState; readonly month: SpendState };

/** What one key spent on one day of UTC. A key that nobody knows is an empty text: it counts for its workspace alone. */
export type DailySpend = Pick<HoldRequest, "workspaceId" | "keyId" | "memberId" | "nanos"> & {
  /** An ISO date. */
  readonly day: string;
};

/** `again`: work that was left, taken up under the id that it had. Whoever began it may go on with it all the same. */
export type ExecutionKind = "first" | "again";

/**
 * Each method is one atomic step, so that two requests can never both take the last credit or the last place. Those on
 * the path of every request answer at once where the state is in the process. What ends something (`settle`, `leave`,
 * `giveBack`, `credit`, `remember`, `release`) does not fail where the state does not answer: it is done once it does.
 */
export type SharedState = {
  /** Counts the call and says whether it fits into the sliding 60-second window. A refused call is not counted. */
  consumeRateWindow(key: KeyRef, limit: number): MaybePromise<RateWindowVerdict>;
  /** How the window stands, without counting anything. */
  peekRateWindow(key: KeyRef, limit: number): MaybePromise<RateWindowVerdict>;
  /** Something of a workspace changed: from now on the window tells another version of it. */
  bumpVersion(workspaceId: string): Promise<void>;
  /** Reserves money before any byte goes upstream: of the wallet and of every limit, or of none of them. */
  hold(request: HoldRequest): MaybePromise<HoldVerdict>;
  /** Ends a hold with what was really used; a second call for the same request changes nothing. */
  settle(hold: HoldRef, chargedNanos: bigint): MaybePromise<void>;
  /** Another run of the same request goes on: hold and claim, which both have by its id, are for that one to end. */
  handOver(hold: HoldRef): MaybePromise<void>;
  /** No run of the request goes on: what one before held is free, as if it were swept. A charge that comes all the same counts. */
  releaseHold(hold: HoldRef): MaybePromise<void>;
  /**
   * Money that came in: from top-ups, and at start from SQL and the journal. A negative amount is money that was taken
   * back from outside, whatever the balance. `booking`: with this the one that `intend` named is over.
   */
  credit(workspaceId: string, nanos: bigint, booking?: string): Promise<void>;
  /**
   * A transaction of this name is about to be written, by who has a lock on money: if it dies over it, or before it
   * knows what came of it, the state knows that the books must be asked. None where the state is lost with its process.
   */
  announceBooking?(id: string, workspaceId: string, createdAtMs: number): Promise<void>;
  /** Takes money out, but never what a hold needs; answers how much it took. */
  withdraw(taking: Withdrawal): Promise<bigint>;
  wallet(workspaceId: string): Promise<WalletState>;
  /** What was spent before, at start from SQL: limits go on from it. */
  restoreSpend(spends: readonly DailySpend[]): Promise<void>;
  /** What a workspace, a member or a key has spent in the day and the month of a moment. */
  spending(spender: SpenderRef, atMs: number): Promise<Spending>;
  /**
   * Takes an `Idempotency-Key` for a request, unless another one has it or was charged under it. Again is no harm. Where it
   * fails, the request does not have it; one that is run `again` may have it from before, and still has it then.
   */
  claimIdempotencyKey(use: IdempotencyKeyUse, requestId: string, run?: ExecutionKind): MaybePromise<ClaimVerdict>;
  /** The request was charged: its claim ends, and the key answers with it. At start for what SQL has, oldest first. */
  recordKeyUse(use: ChargedKeyUse): MaybePromise<void>;
  /** The request was not charged: its claim ends, and the key is free. After `remember` it changes nothing. */
  releaseClaim(key: string, requestId: string): MaybePromise<void>;
  /** Holds older than `maxAgeMs` are given back; answers how many. */
  sweepHolds(maxAgeMs: number): Promise<number>;
};
