import { createHmac } from "node:crypto";
import { z } from "zod";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import { cancelTimer, type Timers } from "../../kit/timers.ts";
import type { CoordinationStore } from "../fleet/coordination-store.ts";
import type { UsageRecord } from "../record/record.ts";
import { LEVELS } from "../tenancy/policy.ts";
import type { EncryptionContext, Vault } from "../tenancy/vault.ts";
import type { CachedReply, CachedReplyStore, CacheSlot } from "./cached-reply.ts";
import { ReplyMemory } from "./reply-memory.ts";
import { SlotLeaders } from "./slot-leaders.ts";

export type CacheLimits = {
  /** Of replies in the memory of one process, and at most a quarter of it for those that are being recorded. */
  readonly memoryBytes: number;
  /** Of one reply as the provider sends it, and of one request. */
  readonly replyBytes: number;
  /** Of the sealed replies of one workspace. */
  readonly workspaceBytes: number;
  readonly ttlMs: number;
};

type ReplyCacheDeps = {
  readonly store: CachedReplyStore;
  readonly vault: Pick<Vault, "seal" | "open" | "derive">;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly limits: CacheLimits;
  /** False: the disk is nearly full. */
  readonly mayWrite: () => boolean;
  readonly warn: Log["warn"];
  /** Undefined: there is one process. */
  readonly acquireLock?: CoordinationStore["acquireLock"] | undefined;
};

/** A slow store makes a request a miss. */
const LOOKUP_WAIT_MS_MAX = 500;
/** Replies that wait to be written; one beyond them stays in memory only. */
const WRITES_MAX = 64;
const KEY_PURPOSE = "response-cache";

/**
 * Replies that serve identical requests of their workspace: the ones used last in memory, all of them sealed in a store. A
 * lookup or write that fails is a miss, never an error.
 */
export class ReplyCache {
  readonly limits: CacheLimits;
  /** Of identical requests that wait for each other. */
  readonly leaders: SlotLeaders;
  readonly #deps: ReplyCacheDeps;
  readonly #memory: ReplyMemory;
  readonly #pending: { readonly slot: CacheSlot; readonly reply: CachedReply }[] = [];
  #writing = Promise.resolve();
  /** Counts how often the replies of a workspace were dropped: a reply that was begun before is not kept. */
  readonly #drops = new Map<string, number>();
  #recordingBytes = 0;

  constructor(deps: ReplyCacheDeps) {
    this.#deps = deps;
    this.limits = deps.limits;
    this.leaders = new SlotLeaders(deps.acquireLock);
    this.#memory = new ReplyMemory(deps.limits.memoryBytes);
  }

  /** Keyed for the workspace, so that a stolen store does not allow guessing requests. */
  async slotFor(workspaceId: string, identity: string): Promise<CacheSlot> {
    const key = await this.#deps.vault.derive(workspaceId, KEY_PURPOSE);
    return { workspaceId, key: createHmac("sha256", key).update(identity).digest("base64url") };
  }

  async find(slot: CacheSlot): Promise<CachedReply | undefined> {
    const nowMs = this.#deps.clock.nowMs();
    const held = this.#memory.find(slot);
    if (held !== undefined) return held.expiresAtMs > nowMs ? held : undefined;
    if (this.limits.workspaceBytes === 0) return undefined;
    const drops = this.dropsOf(slot.workspaceId);
    const { promise: late, resolve } = Promise.withResolvers<undefined>();
    const timer = this.#deps.timers.after(LOOKUP_WAIT_MS_MAX, () => resolve(undefined));
    const found = await Promise.race([this.#read(slot, nowMs), late]);
    cancelTimer(timer);
    if (found !== undefined && drops === this.dropsOf(slot.workspaceId)) this.#memory.add(slot, found);
    return found;
  }

  dropsOf(workspaceId: string): number {
    return this.#drops.get(workspaceId) ?? 0;
  }

  /** `drops`: as `dropsOf` returned it when the request began. Resolves when the reply is in the store, or will not be. */
  async save(slot: CacheSlot, reply: CachedReply, drops: number): Promise<void> {
    if (drops !== this.dropsOf(slot.workspaceId)) return;
    this.#memory.add(slot, reply);
    if (this.#pending.length >= WRITES_MAX || !this.#deps.mayWrite()) return;
    this.#pending.push({ slot, reply });
    // What arrives during a write is written together after it.
    this.#writing = this.#writing.then(() => this.#flush());
    await this.#writing;
  }

  /** Forgets the replies of a workspace in memory, because the workspace changed or its replies were purged. */
  drop(workspaceId: string): void {
    this.#drops.set(workspaceId, this.dropsOf(workspaceId) + 1);
    this.#memory.drop(workspaceId);
  }

  sweepMemory(): void {
    this.#memory.dropExpired(this.#deps.clock.nowMs());
  }

  async sweepStore(): Promise<void> {
    try {
      await this.#deps.store.sweep(this.#deps.clock.nowMs());
    } catch (error) {
      this.#deps.warn({ err: error }, "response-cache: removal of expired replies failed");
    }
  }

  /** Resolves when the writes in progress have ended. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  /** Memory for a reply in flight; false: it is not recorded. */
  takeRecording(bytes: number): boolean {
    if (4 * (this.#recordingBytes + bytes) > this.limits.memoryBytes) return false;
    this.#recordingBytes += bytes;
    return true;
  }

  giveRecording(bytes: number): void {
    this.#recordingBytes -= bytes;
  }

  async #read(slot: CacheSlot, nowMs: number): Promise<CachedReply | undefined> {
    const { store, vault, warn } = this.#deps;
    try {
      const row = await store.find(slot, nowMs);
      if (row === undefined) return undefined;
      return storedReply.parse(JSON.parse(await vault.open(encryptionContext(slot), row.sealed)));
    } catch (error) {
      warn({ err: error }, "response-cache: lookup failed");
      return undefined;
    }
  }

  async #flush(): Promise<void> {
    const { store, vault, limits, warn } = this.#deps;
    // Of two replies to one request the later one stays.
    const batch = new Map(this.#pending.splice(0).map((one) => [`${one.slot.workspaceId} ${one.slot.key}`, one]));
    if (batch.size === 0) return;
    try {
      const sealed = await Promise.all(
        [...batch.values()].map(async ({ slot, reply }) => {
          const { createdAtMs, expiresAtMs } = reply;
          const text = await vault.seal(encryptionContext(slot), JSON.stringify(reply));
          return { ...slot, createdAtMs, expiresAtMs, sealed: text };
        }),
      );
      await store.save(sealed, limits.workspaceBytes);
    } catch (error) {
      warn({ err: error }, "response-cache: write failed");
    }
  }
}

const encryptionContext = ({ workspaceId, key }: CacheSlot): EncryptionContext => ({
  workspaceId,
  column: "cached_replies.reply",
  row: key,
});

const usage = z.custom<UsageRecord>((value) => typeof value === "object" && value !== null);
const storedReply: z.ZodType<CachedReply> = z.object({
  requestId: z.string(),
  createdAtMs: z.number(),
  expiresAtMs: z.number(),
  endpoint: z.string(),
  level: z.enum([...LEVELS, "UNCLASSIFIED"]),
  countries: z.array(z.string()),
  usage,
  cost: z.object({ nanos: z.string(), currency: z.string() }).nullable(),
  exchanges: z.array(
    z.object({
      digest: z.string(),
      headers: z.record(z.string(), z.string()),
      body: z.string(),
      encoding: z.enum(["utf8", "base64"]),
    }),
  ),
});
