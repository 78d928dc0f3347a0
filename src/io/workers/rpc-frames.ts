import type { IdempotencyKeyUse } from "../../domain/admission/idempotency.ts";
import type { LockOptions } from "../../domain/fleet/coordination-store.ts";
import { isJsonObject } from "../../kit/json.ts";
import type { HoldParams, PrimaryNotification, RpcMethod, RpcMethods, RpcParams, RpcResult } from "./rpc-protocol.ts";

/** Checks the shape of one value that arrived through the pipe. */
type Guard<T> = (value: unknown) => value is T;

const isText: Guard<string> = (value) => typeof value === "string";
const isNumber: Guard<number> = (value) => typeof value === "number";
const isNull: Guard<null> = (value) => value === null;
const nullOr =
  <T>(guard: Guard<T>): Guard<T | null> =>
  (value): value is T | null =>
    value === null || guard(value);

/** Elements are checked in order; further ones are ignored. */
function tuple<T extends readonly unknown[]>(...guards: { [Index in keyof T]: Guard<T[Index]> }): Guard<T> {
  return (value): value is T => Array.isArray(value) && guards.every((guard, index) => guard(value[index]));
}

function arrayOf<T>(guard: Guard<T>): Guard<readonly T[]> {
  return (value): value is readonly T[] => Array.isArray(value) && value.every((item) => guard(item));
}

/** An object that has these members. Both ends run the same version, so their values are not checked again. */
function withMembers<T extends object>(...names: readonly (keyof T & string)[]): Guard<T> {
  return (value): value is T => isJsonObject(value) && names.every((name) => Object.hasOwn(value, name));
}

const PARAMS: { readonly [Method in RpcMethod]: Guard<RpcParams<Method>> } = {
  join: withMembers("protocol"),
  reportStarted: withMembers("origin", "firstKey", "setupLink"),
  reportReady: isNull,
  collectMetrics: isNull,
  consumeRateWindow: tuple(isText, isText, isNumber),
  peekRateWindow: tuple(isText, isText, isNumber),
  bumpVersion: isText,
  hold: tuple(
    isText,
    isText,
    isText,
    nullOr(isText),
    isText,
    isNumber,
    arrayOf(withMembers<HoldParams[6][number]>("nanos")),
  ),
  settle: tuple(isText, isText, isText),
  handOver: tuple(isText, isText),
  releaseHold: tuple(isText, isText),
  credit: tuple(isText, isText, nullOr(isText)),
  announceBooking: withMembers("id", "workspaceId", "createdAtMs"),
  withdraw: withMembers("workspaceId", "nanos", "reserveNanos"),
  wallet: isText,
  restoreSpend: arrayOf(withMembers("workspaceId", "nanos", "day")),
  spending: tuple(isText, isText, isNumber),
  claimIdempotencyKey: tuple(withMembers<IdempotencyKeyUse>("key", "body"), isText),
  recordKeyUse: withMembers("key", "requestId", "nanos"),
  releaseClaim: tuple(isText, isText),
  sweepHolds: isNumber,
  put: tuple(isText, isText, isNumber),
  get: isText,
  delete: isText,
  list: isText,
  acquireLock: tuple(isText, withMembers<LockOptions>("ttlMs", "waitMs")),
  releaseLock: isNumber,
  publish: tuple(isText, isText),
};

const RESULTS: { readonly [Method in RpcMethod]: Guard<RpcResult<Method>> } = {
  join: withMembers("slot", "folder", "orphanedFolders", "origin"),
  reportStarted: isNull,
  reportReady: isNull,
  collectMetrics: isText,
  consumeRateWindow: withMembers("isAllowed"),
  peekRateWindow: withMembers("isAllowed"),
  bumpVersion: isNull,
  hold: withMembers("is"),
  settle: isNull,
  handOver: isNull,
  releaseHold: isNull,
  credit: isNull,
  announceBooking: isNull,
  withdraw: isText,
  wallet: tuple(isText, isText),
  restoreSpend: isNull,
  spending: withMembers("day", "month"),
  claimIdempotencyKey: withMembers("is"),
  recordKeyUse: isNull,
  releaseClaim: isNull,
  sweepHolds: isNumber,
  put: isNull,
  get: nullOr(isText),
  delete: isNull,
  list: arrayOf(tuple(isText, isText)),
  acquireLock: nullOr(isNumber),
  releaseLock: isNull,
  publish: isNull,
};

export type RequestFrame =
  | { readonly is: "request"; readonly id: number; readonly method: RpcMethod; readonly params: unknown }
  | { readonly is: "metrics"; readonly requestId: number; readonly text: string };

/** A frame from a worker; undefined when it is not one. */
export function parseRequestFrame(frame: unknown): RequestFrame | undefined {
  if (!Array.isArray(frame)) return undefined;
  const [id, method, params]: readonly unknown[] = frame;
  if (id === 0) {
    if (method !== "metrics" || !isMetricsReport(params)) return undefined;
    const [requestId, text] = params;
    return { is: "metrics", requestId, text };
  }
  return isNumber(id) && isMethod(method) ? { is: "request", id, method, params } : undefined;
}

const isMetricsReport: Guard<readonly [requestId: number, text: string]> = tuple(isNumber, isText);

const isMethod: Guard<RpcMethod> = (value): value is RpcMethod => isText(value) && Object.hasOwn(PARAMS, value);

export type ResponseFrame =
  | { readonly is: "result"; readonly id: number; readonly result: unknown }
  | { readonly is: "error"; readonly id: number; readonly message: string }
  | { readonly is: "notification"; readonly notification: PrimaryNotification };

/** A frame from the primary; undefined when it is not one. */
export function parseResponseFrame(frame: unknown): ResponseFrame | undefined {
  if (!Array.isArray(frame)) return undefined;
  const [id, result, message]: readonly unknown[] = frame;
  if (!isNumber(id)) return undefined;
  if (id === 0) return isNotification(result) ? { is: "notification", notification: result } : undefined;
  return isText(message) ? { is: "error", id, message } : { is: "result", id, result };
}

const NOTIFICATIONS: { readonly [Kind in PrimaryNotification["is"]]: readonly string[] } = {
  drain: ["keepIdleConnections"],
  published: ["topic", "message"],
  metrics_requested: ["requestId"],
  database_lock: ["isHeld"],
};

const isNotification: Guard<PrimaryNotification> = (value): value is PrimaryNotification =>
  isJsonObject(value) &&
  Object.entries(NOTIFICATIONS).some(
    ([kind, members]) => value["is"] === kind && members.every((name) => Object.hasOwn(value, name)),
  );

/** Throws when the parameters do not fit the method. */
export function callHandler<Method extends RpcMethod, Result>(
  handlers: { readonly [Name in RpcMethod]: (params: RpcMethods[Name]["params"]) => Result },
  method: Method,
  params: unknown,
): Result {
  const isValid: Guard<RpcMethods[Method]["params"]> = PARAMS[method];
  if (!isValid(params)) throw new Error(`invalid parameters for ${method}`);
  return handlers[method](params);
}

export function isResultOf<Method extends RpcMethod>(method: Method, result: unknown): result is RpcResult<Method> {
  return RESULTS[method](result);
}
