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
import type { Intended } from "./moving.ts";

/** A worker's exit code where SQL or Redis did not take all that it had: whoever comes into its slot has to. */
export const EXIT_LEFT = 75;

/**
 * What a worker asks the primary process, and what it is answered. JSON knows no numbers that are large enough for
 * money: every amount is the text of a whole number. On the pipe a question is `[number, name, ask]`, an answer
 * `[number, answer]` or `[number, null, why there is none]`; with the number 0 workers are told news, and tell metrics
 * that were asked for.
 */
export type Asks = {
  /** The first thing a worker says; the answer tells it who it is. */
  hello: { ask: { readonly protocol: number }; answer: Welcome };
  /** It could serve; the first of all says what the banner shows. */
  up: { ask: Up; answer: null };
  /** It serves. */
  ready: { ask: null; answer: null };
  /** The metrics of all workers, as one text. */
  metrics: { ask: null; answer: string };

  window: { ask: readonly [keyId: string, workspaceId: string, limit: number]; answer: RateWindowVerdict };
  look: { ask: readonly [keyId: string, workspaceId: string, limit: number]; answer: RateWindowVerdict };
  touch: { ask: string; answer: null };
  hold: { ask: HoldWire; answer: HoldVerdictWire };
  settle: { ask: readonly [requestId: string, workspaceId: string, nanos: string]; answer: null };
  leave: { ask: readonly [requestId: string, workspaceId: string]; answer: null };
  giveBack: { ask: readonly [requestId: string, workspaceId: string]; answer: null };
  credit: { ask: readonly [workspaceId: string, nanos: string, booking: string | null]; answer: null };
  intend: { ask: Intended; answer: null };
  take: { ask: Written<Withdrawal>; answer: string };
  wallet: { ask: string; answer: readonly [balanceNanos: string, heldNanos: string] };
  restoreSpend: { ask: readonly Written<DailySpend>[]; answer: null };
  spending: {
    ask: readonly [spenderId: string, workspaceId: string, atMs: number];
    answer: { readonly day: Written<SpendState>; readonly month: Written<SpendState> };
  };
  claim: { ask: readonly [IdempotencyKeyUse, requestId: string]; answer: ClaimVerdictWire };
  remember: { ask: Written<ChargedKeyUse>; answer: null };
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
export const PROTOCOL = 5;

export type Welcome = {
  readonly slot: number;
  /** For what is its own: the journal, uploads. */
  readonly folder: string;
  /** Folders of processes that do not come back: it reads their journals first. */
  readonly left: readonly string[];
  /** Where others serve already: it listens when it can serve too, and not before. Null for the very first worker. */
  readonly origin: string | null;
};

export type Up = {
  readonly origin: string;
  readonly firstKey: string | null;
  readonly setupLink: string | null;
};

/** What a worker is told without having asked. */
export type News =
  /** Serve no more: finish what runs, and end. `lingering`: others serve on, so idle connections may stay a while. */
  | { readonly is: "drain"; readonly lingering: "no" | "yes" }
  | { readonly is: "told"; readonly topic: string; readonly message: string }
  /** Say what your metrics are. */
  | { readonly is: "measure"; readonly number: number };

/** The same with every amount as text. */
type Written<T> = { readonly [Name in keyof T]: T[Name] extends bigint ? string : T[Name] };

export type HoldWire = readonly [
  requestId: string,
  workspaceId: string,
  keyId: string,
  memberId: string | null,
  nanos: string,
  atMs: number,
  limits: readonly Written<SpendLimit>[],
];

type HoldVerdictWire = Distributed<HoldVerdict>;
type ClaimVerdictWire =
  | Exclude<ClaimVerdict, { is: "remembered" }>
  | { readonly is: "remembered"; readonly first: Written<ChargedKeyUse> };

type Distributed<T> = T extends { readonly limit: SpendLimit }
  ? Written<Omit<T, "limit">> & { readonly limit: Written<SpendLimit> }
  : Written<T>;

export function holdWire(request: HoldRequest): HoldWire {
  const { requestId, workspaceId, keyId, memberId, nanos, atMs, limits } = request;
  const written = limits.map((limit) => ({ ...limit, nanos: String(limit.nanos) }));
  return [requestId, workspaceId, keyId, memberId, String(nanos), atMs, written];
}

export function holdRequest([requestId, workspaceId, keyId, memberId, nanos, atMs, limits]: HoldWire): HoldRequest {
  const read = limits.map((limit) => ({ ...limit, nanos: BigInt(limit.nanos) }));
  return { requestId, workspaceId, keyId, memberId, nanos: BigInt(nanos), atMs, limits: read };
}

export function holdVerdictWire(verdict: HoldVerdict): HoldVerdictWire {
  if (verdict.is === "held") return verdict;
  const neededNanos = String(verdict.neededNanos);
  if (verdict.is === "insufficient_credits")
    return { is: verdict.is, availableNanos: String(verdict.availableNanos), neededNanos };
  const { is, limit, resetsAtMs } = verdict;
  const spend = { spentNanos: String(verdict.spentNanos), heldNanos: String(verdict.heldNanos) };
  return { is, limit: { ...limit, nanos: String(limit.nanos) }, neededNanos, resetsAtMs, ...spend };
}

export function holdVerdict(verdict: HoldVerdictWire): HoldVerdict {
  if (verdict.is === "held") return verdict;
  const neededNanos = BigInt(verdict.neededNanos);
  if (verdict.is === "insufficient_credits")
    return { is: verdict.is, availableNanos: BigInt(verdict.availableNanos), neededNanos };
  const { is, limit, resetsAtMs } = verdict;
  const spend = { spentNanos: BigInt(verdict.spentNanos), heldNanos: BigInt(verdict.heldNanos) };
  return { is, limit: { ...limit, nanos: BigInt(limit.nanos) }, neededNanos, resetsAtMs, ...spend };
}

export function spendWire({ spentNanos, heldNanos }: SpendState): Written<SpendState> {
  return { spentNanos: String(spentNanos), heldNanos: String(heldNanos) };
}

export function spendState({ spentNanos, heldNanos }: Written<SpendState>): SpendState {
  return { spentNanos: BigInt(spentNanos), heldNanos: BigInt(heldNanos) };
}

export function keyOf([id, workspaceId]: Asks["window"]["ask"]): KeyRef {
  return { id, workspaceId };
}
