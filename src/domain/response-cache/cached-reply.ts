import type { UsageRecord } from "../record/record.ts";
import type { LevelState } from "../tenancy/policy.ts";

/** What a provider replied to one request to it. */
export type ProviderExchange = {
  /** Of the address and the canonical body of that request. */
  readonly digest: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** `base64`: the body is not text. */
  readonly encoding: "utf8" | "base64";
};

/** A reply as the provider sent it, which is decoded again for every request that it serves. */
export type CachedReply = {
  /** The request that computed it. */
  readonly requestId: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly endpoint: string;
  readonly level: LevelState;
  /** Where the input may have been processed then. */
  readonly countries: readonly string[];
  readonly usage: UsageRecord;
  /** What it cost in nano-units; null: nothing, because it came from an own key or node. */
  readonly cost: { readonly nanos: string; readonly currency: string } | null;
  readonly exchanges: readonly ProviderExchange[];
};

/** The place of a reply. The key is a keyed digest of everything that must be equal. */
export type CacheSlot = { readonly workspaceId: string; readonly key: string };

export type SealedReply = CacheSlot & {
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly sealed: Uint8Array;
};

export type CacheUsage = { readonly replies: number; readonly bytes: number };

/** Keeps sealed replies beyond the process. */
export type CachedReplyStore = {
  find(slot: CacheSlot, nowMs: number): Promise<SealedReply | undefined>;
  /** In one step. Replaces earlier replies, and removes the oldest ones of each workspace beyond `maxBytes`. */
  save(replies: readonly SealedReply[], maxBytes: number): Promise<void>;
  usage(workspaceId: string, nowMs: number): Promise<CacheUsage>;
  /** Returns the number of removed replies. */
  purge(workspaceId: string): Promise<number>;
  sweep(nowMs: number): Promise<void>;
};
