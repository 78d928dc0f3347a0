import type { Lock } from "../fleet/coordination-store.ts";
import type { CacheSlot } from "./cached-reply.ts";

/** `unkept`: the reply was complete and is not kept, so waiting for another one is in vain. */
export type LeaderEnd = "kept" | "unkept" | "failed";

/** A process that stops leaves its lead to others after this. */
const LOCK_TTL_MS = 10_000;

type AcquireLock = (
  name: string,
  wait: { readonly ttlMs: number; readonly waitMs: number },
) => Promise<Lock | undefined>;

/** Which of several identical requests runs, while the others wait for its reply. */
export class SlotLeaders {
  readonly #ends = new Map<string, Promise<LeaderEnd>>();
  readonly #acquireLock: AcquireLock | undefined;

  /** Without locks there is one process. */
  constructor(acquireLock: AcquireLock | undefined) {
    this.#acquireLock = acquireLock;
  }

  /** How the leader in this process ends; undefined: there is none. */
  current(slot: CacheSlot): Promise<LeaderEnd> | undefined {
    return this.#ends.get(nameOf(slot));
  }

  /** Leads in this process until the returned function is called. */
  lead(slot: CacheSlot): (end: LeaderEnd) => void {
    const name = nameOf(slot);
    const { promise, resolve } = Promise.withResolvers<LeaderEnd>();
    this.#ends.set(name, promise);
    return (end) => {
      if (this.#ends.get(name) === promise) this.#ends.delete(name);
      resolve(end);
    };
  }

  /** Among all processes; undefined: there is one only, or the lead did not become free in time. */
  async leadAll(slot: CacheSlot, waitMs: number): Promise<Lock | undefined> {
    // Without the lock a request is computed twice, which is no error.
    return this.#acquireLock?.(`cache:${nameOf(slot)}`, { ttlMs: LOCK_TTL_MS, waitMs }).catch(() => undefined);
  }

  get hasPeers(): boolean {
    return this.#acquireLock !== undefined;
  }
}

const nameOf = ({ workspaceId, key }: CacheSlot) => `${workspaceId} ${key}`;
