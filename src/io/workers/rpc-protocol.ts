import type { ChargedKeyUse, ClaimVerdict, IdempotencyKeyUse } from "../../domain/admission/idempotency.ts";
import type {
  DailySpend,
  HoldRequest,
  HoldVerdict,
  RateWindowVerdict,
  SpendState,
  Withdrawal,
} from "../../domain/admission/shared-state.ts";
import type { LockOptions } from "../../domain/fleet/coordination-store.ts";
import type { SpendLimit } from "../../domain/tenancy/limits.ts";
import type { IntendedTransaction } from "./in-flight-transfers.ts";

/** Exit code of a worker that could not flush everything to SQL or Redis: the next worker in its slot has to. */
export const EXIT_UNFLUSHED = 75;

/** Raised with every change of `RpcMethods` or `PrimaryNotification`: a worker of another version is rejected. */
export const RPC_PROTOCOL_VERSION = 7;

/**
 * The calls of a worker to the primary process. Methods of `SharedState` and `CoordinationStore` keep their names.
 * JSON numbers cannot hold every amount, so amounts travel as decimal strings.
 *
 * Frames: request `[id, method, params]`; response `[id, result]` or `[id, null, error message]`; id 0 is a
 * notification (`PrimaryNotification`) or, from a worker, `[0, "metrics", [requestId, text]]`.
 */
export type RpcMethods = {
  /** First call of a worker: exchanges the protocol version for an assignment. */
  join: { params: { readonly protocol: number }; result: WorkerAssignment };
  /** Startup finished; the first worker's values are printed in the banner. */
  reportStarted: { params: StartupInfo; result: null };
  /** The worker accepts connections. */
  reportReady: { params: null; result: null };
  /** Merged Prometheus text of all workers. */
  collectMetrics: { params: null; result: string };

  consumeRateWindow: { params: RateWindowParams; result: RateWindowVerdict };
  peekRateWindow: { params: RateWindowParams; result: RateWindowVerdict };
  bumpVersion: { params: string; result: null };
  hold: { params: HoldParams; result: HoldVerdictResult };
  settle: { params: readonly [requestId: string, workspaceId: string, nanos: string]; result: null };
  handOver: { params: readonly [requestId: string, workspaceId: string]; result: null };
  releaseHold: { params: readonly [requestId: string, workspaceId: string]; result: null };
  credit: { params: readonly [workspaceId: string, nanos: string, booking: string | null]; result: null };
  announceBooking: { params: IntendedTransaction; result: null };
  withdraw: { params: Stringified<Withdrawal>; result: string };
  wallet: { params: string; result: readonly [balanceNanos: string, heldNanos: string] };
  restoreSpend: { params: readonly Stringified<DailySpend>[]; result: null };
  spending: {
    params: readonly [spenderId: string, workspaceId: string, atMs: number];
    result: { readonly day: Stringified<SpendState>; readonly month: Stringified<SpendState> };
  };
  claimIdempotencyKey: { params: readonly [use: IdempotencyKeyUse, requestId: string]; result: ClaimVerdictResult };
  recordKeyUse: { params: Stringified<ChargedKeyUse>; result: null };
  releaseClaim: { params: readonly [key: string, requestId: string]; result: null };
  sweepHolds: { params: number; result: number };

  put: { params: readonly [name: string, value: string, ttlMs: number]; result: null };
  get: { params: string; result: string | null };
  delete: { params: string; result: null };
  list: { params: string; result: readonly (readonly [name: string, value: string])[] };
  /** The result identifies the lock for `releaseLock`; null when another worker holds it. */
  acquireLock: { params: readonly [name: string, options: LockOptions]; result: number | null };
  releaseLock: { params: number; result: null };
  publish: { params: readonly [topic: string, message: string]; result: null };
};

export type RpcMethod = keyof RpcMethods;
export type RpcParams<Method extends RpcMethod> = RpcMethods[Method]["params"];
export type RpcResult<Method extends RpcMethod> = RpcMethods[Method]["result"];

export type WorkerAssignment = {
  readonly slot: number;
  /** Holds the worker's own journal and uploads. */
  readonly folder: string;
  /** Folders of workers that are not started any more: this worker replays their journals first. */
  readonly orphanedFolders: readonly string[];
  /** Address that other workers already serve, where this one listens once it is ready; null for the first worker. */
  readonly origin: string | null;
};

export type StartupInfo = {
  readonly origin: string;
  readonly firstKey: string | null;
  readonly setupLink: string | null;
};

/** Messages from the primary that are not responses. */
export type PrimaryNotification =
  /** Finish running requests and exit. `keepIdleConnections`: other workers keep serving, so idle clients may stay. */
  | { readonly is: "drain"; readonly keepIdleConnections: boolean }
  | { readonly is: "published"; readonly topic: string; readonly message: string }
  /** Sent before the result of `join`, and with every change: without the lock no process writes to the database. */
  | { readonly is: "database_lock"; readonly isHeld: boolean }
  /** The worker sends its metrics under this request id. */
  | { readonly is: "metrics_requested"; readonly requestId: number };

/** `T` with every amount as a decimal string. */
export type Stringified<T> = { readonly [Name in keyof T]: T[Name] extends bigint ? string : T[Name] };

export type RateWindowParams = readonly [keyId: string, workspaceId: string, limit: number];

/** A tuple instead of an object: it is sent with every request. */
export type HoldParams = readonly [
  requestId: string,
  workspaceId: string,
  keyId: string,
  memberId: string | null,
  nanos: string,
  atMs: number,
  limits: readonly Stringified<SpendLimit>[],
];

export type HoldVerdictResult = StringifiedVerdict<HoldVerdict>;
export type ClaimVerdictResult =
  | Exclude<ClaimVerdict, { is: "remembered" }>
  | { readonly is: "remembered"; readonly first: Stringified<ChargedKeyUse> };

type StringifiedVerdict<T> = T extends { readonly limit: SpendLimit }
  ? Stringified<Omit<T, "limit">> & { readonly limit: Stringified<SpendLimit> }
  : Stringified<T>;

export function encodeHold(request: HoldRequest): HoldParams {
  const { requestId, workspaceId, keyId, memberId, nanos, atMs, limits } = request;
  const encoded = limits.map((limit) => ({ ...limit, nanos: String(limit.nanos) }));
  return [requestId, workspaceId, keyId, memberId, String(nanos), atMs, encoded];
}

export function decodeHold([requestId, workspaceId, keyId, memberId, nanos, atMs, limits]: HoldParams): HoldRequest {
  const decoded = limits.map((limit) => ({ ...limit, nanos: BigInt(limit.nanos) }));
  return { requestId, workspaceId, keyId, memberId, nanos: BigInt(nanos), atMs, limits: decoded };
}

export function encodeHoldVerdict(verdict: HoldVerdict): HoldVerdictResult {
  if (verdict.is === "held") return verdict;
  const neededNanos = String(verdict.neededNanos);
  if (verdict.is === "insufficient_credits")
    return { is: verdict.is, availableNanos: String(verdict.availableNanos), neededNanos };
  const { is, limit, resetsAtMs } = verdict;
  return { is, limit: { ...limit, nanos: String(limit.nanos) }, neededNanos, resetsAtMs, ...encodeSpend(verdict) };
}

export function decodeHoldVerdict(verdict: HoldVerdictResult): HoldVerdict {
  if (verdict.is === "held") return verdict;
  const neededNanos = BigInt(verdict.neededNanos);
  if (verdict.is === "insufficient_credits")
    return { is: verdict.is, availableNanos: BigInt(verdict.availableNanos), neededNanos };
  const { is, limit, resetsAtMs } = verdict;
  return { is, limit: { ...limit, nanos: BigInt(limit.nanos) }, neededNanos, resetsAtMs, ...decodeSpend(verdict) };
}

export function encodeSpend({ spentNanos, heldNanos }: SpendState): Stringified<SpendState> {
  return { spentNanos: String(spentNanos), heldNanos: String(heldNanos) };
}

export function decodeSpend({ spentNanos, heldNanos }: Stringified<SpendState>): SpendState {
  return { spentNanos: BigInt(spentNanos), heldNanos: BigInt(heldNanos) };
}
