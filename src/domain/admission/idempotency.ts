import { hmacSha256Hex, sha256Hex } from "../../kit/secret.ts";

/** One use of an `Idempotency-Key`: digests of the key and of the call, from which neither can be read back. */
export type IdempotencyKeyUse = { readonly key: string; readonly body: string };

/** The endpoint that served a call, as response headers name it. Stored in Redis as JSON. */
export type ServedCall = {
  readonly model: string;
  readonly provider: string;
  readonly level: string;
  readonly countries: readonly string[];
};

/** A use whose call was charged. */
export type ChargedKeyUse = IdempotencyKeyUse & {
  readonly workspaceId: string;
  readonly requestId: string;
  readonly status: number;
  readonly nanos: bigint;
  readonly currency: string;
  readonly expiresAtMs: number;
  /** Absent when it comes from SQL, which stores only the charge; the log has the rest. */
  readonly served?: ServedCall | undefined;
};

/** The fields of a request record that describe the use of a key. */
type KeyUseRecord = Pick<ChargedKeyUse, "workspaceId" | "status"> & {
  readonly id: string;
  readonly charge?: { readonly nanos: string; readonly currency: string } | null | undefined;
  readonly idempotency?: (IdempotencyKeyUse & { readonly untilMs: number }) | undefined;
} & ServingFields;

type ServingFields = { readonly countries?: readonly string[] | null | undefined } & {
  readonly [Name in "model" | "provider" | "level"]?: string | null | undefined;
};

/** Undefined without a key or without a charge. */
export function chargedKeyUseOf(record: KeyUseRecord): ChargedKeyUse | undefined {
  const { id, workspaceId, status, charge, idempotency } = record;
  if (idempotency === undefined || charge === null || charge === undefined) return undefined;
  const { key, body, untilMs: expiresAtMs } = idempotency;
  const { currency } = charge;
  const use = { key, body, workspaceId, requestId: id, status, nanos: BigInt(charge.nanos), currency, expiresAtMs };
  const served = servedCall(record);
  return served === undefined ? use : { ...use, served };
}

/** Undefined when no endpoint served the call. */
export function servedCall({ model, provider, level, countries }: ServingFields): ServedCall | undefined {
  if (!model || !provider || !level) return undefined;
  return { model, provider, level, countries: countries ?? [] };
}

export type ClaimVerdict =
  /** `known`: whether all charged uses were checked, or only the newest, so that SQL must be asked. */
  | { readonly is: "claimed"; readonly coverage: "all" | "newest" }
  | { readonly is: "running"; readonly requestId: string }
  | { readonly is: "remembered"; readonly charged: ChargedKeyUse }
  | { readonly is: "other_body"; readonly requestId: string };

/** Charged uses in SQL: written in the transaction of the charge. */
export type IdempotencyStore = {
  /** Unexpired uses, latest expiry first. */
  newest(nowMs: number, limit: number): Promise<ChargedKeyUse[]>;
  find(key: string, nowMs: number): Promise<ChargedKeyUse | undefined>;
  /** Removes at most `rowsMax` expired uses; returns how many. */
  sweep(nowMs: number, rowsMax: number): Promise<number>;
};

/** The JSON body of a reply, and the headers that name its endpoint. */
export type StoredReply = { readonly text: string; readonly headers: Readonly<Record<string, string>> };

/** What the request path needs for calls with an `Idempotency-Key`. */
export type IdempotencyLookup = {
  /** How long a charged call answers its key. */
  readonly ttlMs: number;
  /** A charged use that is no longer in shared state, by the digest of its key. */
  find(key: string): Promise<ChargedKeyUse | undefined>;
  /** The reply of a request, if the caller had it stored. */
  storedReply(workspaceId: string, requestId: string): Promise<StoredReply | undefined>;
  /** From the request log; undefined when the row is not available. */
  servedCall(requestId: string): Promise<ServedCall | undefined>;
  /** Removes expired uses from SQL. */
  sweep(): Promise<void>;
};

/** What identifies a call, besides the bytes of its body. */
export type CallIdentity = {
  readonly workspaceId: string;
  /** The owner of a personal key: a reply to one member must not reach another. */
  readonly memberId: string | undefined;
  /** A test call must not answer for a live one. */
  readonly environment: "live" | "test";
  readonly key: string;
  readonly route: string;
  /** Headers that change the reply. */
  readonly headers: readonly (string | null)[];
};

/**
 * The key is scoped to the workspace. The digest of the body is an HMAC under the key itself, which is stored nowhere, so
 * that a reader of the store cannot guess bodies.
 */
export function keyUseOf(call: CallIdentity, body: Uint8Array): IdempotencyKeyUse {
  const { workspaceId, memberId, environment, key, route, headers } = call;
  const scoped = JSON.stringify(["idempotency-key", workspaceId, memberId ?? null, environment, key]);
  return { key: sha256Hex(scoped), body: hmacSha256Hex(scoped, `${JSON.stringify([route, ...headers])}\n`, body) };
}
