import { hmacSha256Hex, sha256Hex } from "../../kit/secret.ts";

/** What one `Idempotency-Key` was sent with. Digests only: neither the key nor the body can be read back from them. */
export type IdempotencyKeyUse = { readonly key: string; readonly body: string };

/** Who served a call, at which level and where. */
export type ServedCall = {
  readonly model: string;
  readonly provider: string;
  readonly level: string;
  readonly countries: readonly string[];
};

/** A call under a key that was charged. */
export type ChargedKeyUse = IdempotencyKeyUse & {
  readonly workspaceId: string;
  readonly requestId: string;
  readonly status: number;
  readonly nanos: bigint;
  readonly currency: string;
  readonly expiresAtMs: number;
  /** Absent where SQL tells of the use: it keeps no more than what was charged, and the log has the rest. */
  readonly served?: ServedCall | undefined;
};

/** What the record of a request tells of the use of a key. */
type KeyUseRecord = Pick<ChargedKeyUse, "workspaceId" | "status"> & {
  readonly id: string;
  readonly charge?: { readonly nanos: string; readonly currency: string } | null | undefined;
  readonly idempotency?: (IdempotencyKeyUse & { readonly untilMs: number }) | undefined;
} & ServingFields;

/** What it tells of who served. */
type ServingFields = { readonly countries?: readonly string[] | null | undefined } & {
  readonly [Name in "model" | "provider" | "level"]?: string | null | undefined;
};

/** The use of a key that a record tells of; undefined for one that nothing was charged for. */
export function chargedKeyUseOf(record: KeyUseRecord): ChargedKeyUse | undefined {
  const { id, workspaceId, status, charge, idempotency } = record;
  if (idempotency === undefined || charge === null || charge === undefined) return undefined;
  const { key, body, untilMs: expiresAtMs } = idempotency;
  const { currency } = charge;
  const use = { key, body, workspaceId, requestId: id, status, nanos: BigInt(charge.nanos), currency, expiresAtMs };
  const served = servedCall(record);
  return served === undefined ? use : { ...use, served };
}

/** Undefined where nobody served it. */
export function servedCall({ model, provider, level, countries }: ServingFields): ServedCall | undefined {
  if (!model || !provider || !level) return undefined;
  return { model, provider, level, countries: countries ?? [] };
}

export type ClaimVerdict =
  /** The caller is the first. `known`: whether all charged uses are in memory, or older ones only in SQL. */
  | { readonly is: "claimed"; readonly known: "all" | "newest" }
  | { readonly is: "running"; readonly requestId: string }
  | { readonly is: "remembered"; readonly first: ChargedKeyUse }
  | { readonly is: "other_body"; readonly requestId: string };

/** Charged uses as SQL has them: written with the charge, in its transaction. */
export type IdempotencyStore = {
  /** Those that are in force, the ones that last longest first. */
  newest(nowMs: number, limit: number): Promise<ChargedKeyUse[]>;
  find(key: string, nowMs: number): Promise<ChargedKeyUse | undefined>;
  /** Removes what has had its time, at most so many; how many it were. */
  sweep(nowMs: number, rowsMax: number): Promise<number>;
};

/** JSON text, and the headers that say who served it. */
export type StoredReply = { readonly text: string; readonly headers: Readonly<Record<string, string>> };

/** What the request path is given for calls with an `Idempotency-Key`. */
export type IdempotencyLookup = {
  /** How long a charged call is remembered. */
  readonly ttlMs: number;
  /** A charged use that is not in memory any more, by the digest of its key. */
  find(key: string): Promise<ChargedKeyUse | undefined>;
  /** The answer of a request, where it is kept for its callers anyway. */
  storedReply(workspaceId: string, requestId: string): Promise<StoredReply | undefined>;
  /** Who served a request, as its row in the log tells; undefined where that is not to be had. */
  servedCall(requestId: string): Promise<ServedCall | undefined>;
  /** Forgets in SQL what has had its time. */
  sweep(): Promise<void>;
};

/** What makes a call the same call, beside the bytes of its body. */
export type CallIdentity = {
  readonly workspaceId: string;
  /** Whose personal key it is: what one member was answered is nothing that another may be told. */
  readonly memberId: string | undefined;
  /** Test traffic is a world of its own: a rehearsal must not answer for the real call. */
  readonly environment: "live" | "test";
  readonly key: string;
  readonly route: string;
  /** Headers that change the answer. */
  readonly headers: readonly (string | null)[];
};

/**
 * Two workspaces that send the same key have nothing in common here. The body's digest is keyed by the key itself,
 * which is kept nowhere: who reads the store cannot try out what a body may have said.
 */
export function keyUseOf(call: CallIdentity, body: Uint8Array): IdempotencyKeyUse {
  const { workspaceId, memberId, environment, key, route, headers } = call;
  const scoped = JSON.stringify(["idempotency-key", workspaceId, memberId ?? null, environment, key]);
  return { key: sha256Hex(scoped), body: hmacSha256Hex(scoped, `${JSON.stringify([route, ...headers])}\n`, body) };
}
