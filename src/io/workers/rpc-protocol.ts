import type { ChargedKeyUse, ClaimVerdict, IdempotencyKeyUse } from "../../domain/admission/idempotency.ts";
import type {
  DailySpend,
  HoldRequest,
  HoldVerdict,
  KeyRef,
  RateWindowVerdict,
  SpendState,
  Withdrawal,
} from "../../domain/admission/shared-state.ts";
import type { LockOptions } from "../../domain/fleet/coordination-store.ts";
import type { SpendLimit } from "../../domain/tenancy/limits.ts";
import type { IntendedTransaction } from "./in-flight-transfers.ts";

/** A worker's exit code where SQL or Redis did not take all that it had: whoever comes into its slot has to. */
export const EXIT_UNFLUSHED = 75;

/**
 * What a worker asks the primary process, and what it is answered. JSON knows no numbers that are large enough for
 * money: every amount is the text of a whole number. On the pipe a question is `[number, name, ask]`, an answer
 * `[number, answer]` or `[number, null, why there is none]`; with the number 0 workers are told news, and tell metrics
 * that were asked for.
 */
export type RpcMethods = {
  /** The first thing a worker says; the answer tells it who it is. */
  hello: { ask: { readonly protocol: number }; answer: WorkerAssignment };
  /** It could serve; the first of all says what the banner shows. */
  up: { ask: StartupInfo; answer: null };
  /** It serves. */
  ready: { ask: null; answer: null };
  /** The metrics of all workers, as one text. */
  metrics: { ask: null; answer: string };

  window: { ask: readonly [keyId: string, workspaceId: string, limit: number]; answer: RateWindowVerdict };
  look: { ask: readonly [keyId: string, workspaceId: string, limit: number]; answer: RateWindowVerdict };
  touch: { ask: string; answer: null };
  hold: { ask: HoldParams; answer: HoldVerdictResult };
  settle: { ask: readonly [requestId: string, workspaceId: string, nanos: string]; answer: null };
  leave: { ask: readonly [requestId: string, workspaceId: string]; answer: null };
  giveBack: { ask: readonly [requestId: string, workspaceId: string]; answer: null };
  credit: { ask: readonly [workspaceId: string, nanos: string, booking: string | null]; answer: null };
  intend: { ask: IntendedTransaction; answer: null };
  take: { ask: Stringified<Withdrawal>; answer: string };
  wallet: { ask: string; answer: readonly [balanceNanos: string, heldNanos: string] };
  restoreSpend: { ask: readonly Stringified<DailySpend>[]; answer: null };
  spending: {
    ask: readonly [spenderId: string, workspaceId: string, atMs: number];
    answer: { readonly day: Stringified<SpendState>; readonly month: Stringified<SpendState> };
  };
  claim: { ask: readonly [IdempotencyKeyUse, requestId: string]; answer: ClaimVerdictResult };
  remember: { ask: Stringified<ChargedKeyUse>; answer: null };
  release: { ask: readonly [key: string, requestId: string]; answer: null };
  sweep: { ask: number; answer: number };

  put: { ask: readonly [name: string, value: string, ttlMs: number]; answer: null };
  read: { ask: string; answer: string | null };
  drop: { ask: string; answer: null };
  list: { ask: string; answer: readonly (readonly [name: string, value: string])[] };
  /** Answers the number that the lock is let go of by; null where another has it. */
  lock: { ask: readonly [name: string, LockOptions]; answer: number | null };
  unlock: { ask: number; answer: null };
  tell: { ask: readonly [topic: string, message: string]; answer: null };
};

/** Workers of another version of this would misread what they are told. Raised with every change of `Asks` or `News`. */
export const RPC_PROTOCOL_VERSION = 5;

export type WorkerAssignment = {
  readonly slot: number;
  /** For what is its own: the journal, uploads. */
  readonly folder: string;
  /** Folders of processes that do not come back: it reads their journals first. */
  readonly orphanedFolders: readonly string[];
  /** Where others serve already: it listens when it can serve too, and not before. Null for the very first worker. */
  readonly origin: string | null;
};

export type StartupInfo = {
  readonly origin: string;
  readonly firstKey: string | null;
  readonly setupLink: string | null;
};

/** What a worker is told without having asked. */
export type PrimaryNotification =
  /** Serve no more: finish what runs, and end. `lingering`: others serve on, so idle connections may stay a while. */
  | { readonly is: "drain"; readonly lingering: "no" | "yes" }
  | { readonly is: "told"; readonly topic: string; readonly message: string }
  /** Say what your metrics are. */
  | { readonly is: "measure"; readonly number: number };

/** The same with every amount as text. */
type Stringified<T> = { readonly [Name in keyof T]: T[Name] extends bigint ? string : T[Name] };

export type HoldParams = readonly [
  requestId: string,
  workspaceId: string,
  keyId: string,
  memberId: string | null,
  nanos: string,
  atMs: number,
  limits: readonly Stringified<SpendLimit>[],
];

type HoldVerdictResult = StringifiedVerdict<HoldVerdict>;
type ClaimVerdictResult =
  | Exclude<ClaimVerdict, { is: "remembered" }>
  | { readonly is: "remembered"; readonly first: Stringified<ChargedKeyUse> };

type StringifiedVerdict<T> = T extends { readonly limit: SpendLimit }
  ? Stringified<Omit<T, "limit">> & { readonly limit: Stringified<SpendLimit> }
  : Stringified<T>;

export function encodeHold(request: HoldRequest): HoldParams {
  const { requestId, workspaceId, keyId, memberId, nanos, atMs, limits } = request;
  const written = limits.map((limit) => ({ ...limit, nanos: String(limit.nanos) }));
  return [requestId, workspaceId, keyId, memberId, String(nanos), atMs, written];
}

export function decodeHold([requestId, workspaceId, keyId, memberId, nanos, atMs, limits]: HoldParams): HoldRequest {
  const read = limits.map((limit) => ({ ...limit, nanos: BigInt(limit.nanos) }));
  return { requestId, workspaceId, keyId, memberId, nanos: BigInt(nanos), atMs, limits: read };
}

export function encodeHoldVerdict(verdict: HoldVerdict): HoldVerdictResult {
  if (verdict.is === "held") return verdict;
  const neededNanos = String(verdict.neededNanos);
  if (verdict.is === "insufficient_credits")
    return { is: verdict.is, availableNanos: String(verdict.availableNanos), neededNanos };
  const { is, limit, resetsAtMs } = verdict;
  const spend = { spentNanos: String(verdict.spentNanos), heldNanos: String(verdict.heldNanos) };
  return { is, limit: { ...limit, nanos: String(limit.nanos) }, neededNanos, resetsAtMs, ...spend };
}

export function decodeHoldVerdict(verdict: HoldVerdictResult): HoldVerdict {
  if (verdict.is === "held") return verdict;
  const neededNanos = BigInt(verdict.neededNanos);
  if (verdict.is === "insufficient_credits")
    return { is: verdict.is, availableNanos: BigInt(verdict.availableNanos), neededNanos };
  const { is, limit, resetsAtMs } = verdict;
  const spend = { spentNanos: BigInt(verdict.spentNanos), heldNanos: BigInt(verdict.heldNanos) };
  return { is, limit: { ...limit, nanos: BigInt(limit.nanos) }, neededNanos, resetsAtMs, ...spend };
}

export function encodeSpend({ spentNanos, heldNanos }: SpendState): Stringified<SpendState> {
  return { spentNanos: String(spentNanos), heldNanos: String(heldNanos) };
}

export function decodeSpend({ spentNanos, heldNanos }: Stringified<SpendState>): SpendState {
  return { spentNanos: BigInt(spentNanos), heldNanos: BigInt(heldNanos) };
}

export function keyRef([id, workspaceId]: RpcMethods["window"]["ask"]): KeyRef {
  return { id, workspaceId };
}
