import type { Soon } from "../../kit/soon.ts";

/** State that several requests share: rate windows, wallet balances and holds. One process keeps it in memory. */
export type WindowVerdict = {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** When the oldest counted request leaves the window: milliseconds since the Unix epoch. */
  readonly resetAtMs: number;
};

export type HoldRequest = {
  readonly requestId: string;
  readonly workspaceId: string;
  readonly keyId: string;
  readonly memberId: string | null;
  readonly nanos: bigint;
};

export type HoldVerdict =
  | { readonly is: "held" }
  | { readonly is: "insufficient_credits"; readonly availableNanos: bigint; readonly neededNanos: bigint };

export type WalletState = { readonly balanceNanos: bigint; readonly heldNanos: bigint };

/**
 * Each method is one atomic step, so that two requests can never both take the last credit or the last place. Those on
 * the path of every request answer at once where the state is in the process.
 */
export type SharedState = {
  /** Counts the call and says whether it fits into the sliding 60-second window. A refused call is not counted. */
  window(keyId: string, limit: number): Soon<WindowVerdict>;
  /** How the window stands, without counting anything. */
  look(keyId: string, limit: number): Soon<WindowVerdict>;
  /** Reserves money before any byte goes upstream. */
  hold(request: HoldRequest): Soon<HoldVerdict>;
  /** Ends a hold with what was really used; a second call for the same request changes nothing. */
  settle(requestId: string, chargedNanos: bigint): Soon<void>;
  /** Money that came in: from top-ups, and at start from SQL and the journal. */
  credit(workspaceId: string, nanos: bigint): Promise<void>;
  wallet(workspaceId: string): Promise<WalletState>;
  /** Holds older than `maxAgeMs` are given back; answers how many. */
  sweep(maxAgeMs: number): Promise<number>;
};
