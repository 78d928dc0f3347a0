import type { CoordinationStore, Lock } from "../../domain/fleet/coordination-store.ts";
import type { Clock } from "../../kit/clock.ts";
import { cancelTimer, type Timers } from "../../kit/timers.ts";

type StoredEntry = { readonly value: string; readonly expiresAtMs: number };
type LockWaiter = (lock: Lock) => void;

/** Below this many entries, expired ones are not swept on `put`. */
const SWEEP_SIZE_MIN = 256;

/** A coordination store in one process. Locks never expire: the RPC server releases those of a crashed worker. */
export function memoryCoordinationStore(clock: Clock, timers: Timers): CoordinationStore {
  const entries = new Map<string, StoredEntry>();
  const listeners = new Map<string, Set<(message: string) => void>>();
  /** Waiters by the name of a held lock. */
  const locks = new Map<string, Set<LockWaiter>>();
  let sweepAt = SWEEP_SIZE_MIN;

  const getUnexpired = (name: string): string | undefined => {
    const entry = entries.get(name);
    if (entry === undefined || entry.expiresAtMs > clock.monotonicMs()) return entry?.value;
    entries.delete(name);
    return undefined;
  };
  const sweep = () => {
    for (const name of entries.keys()) getUnexpired(name);
    sweepAt = Math.max(SWEEP_SIZE_MIN, 2 * entries.size);
  };
  const passOn = (name: string) => {
    const waiters = locks.get(name);
    const next = waiters?.values().next().value;
    if (next === undefined) locks.delete(name);
    else next(createLock(name));
  };
  const createLock = (name: string): Lock => {
    let isHeld = true;
    return {
      get isHeld() {
        return isHeld;
      },
      async release() {
        if (!isHeld) return;
        isHeld = false;
        passOn(name);
      },
    };
  };

  return {
    async put(name, value, ttlMs) {
      if (entries.size >= sweepAt) sweep();
      entries.set(name, { value, expiresAtMs: clock.monotonicMs() + ttlMs });
    },
    get: async (name) => getUnexpired(name),
    async delete(name) {
      entries.delete(name);
    },
    async list(prefix) {
      sweep();
      const found = new Map<string, string>();
      for (const [name, { value }] of entries) if (name.startsWith(prefix)) found.set(name.slice(prefix.length), value);
      return found;
    },
    async acquireLock(name, { waitMs }) {
      const waiters = locks.get(name);
      if (waiters === undefined) {
        locks.set(name, new Set());
        return createLock(name);
      }
      if (waitMs <= 0) return undefined;
      const { promise, resolve } = Promise.withResolvers<Lock | undefined>();
      const timer = timers.after(waitMs, () => {
        waiters.delete(waiter);
        resolve(undefined);
      });
      const waiter: LockWaiter = (lock) => {
        cancelTimer(timer);
        waiters.delete(waiter);
        resolve(lock);
      };
      waiters.add(waiter);
      return promise;
    },
    async publish(topic, message) {
      for (const listener of listeners.get(topic) ?? []) listener(message);
    },
    subscribe(topic, listener) {
      const subscribers = listeners.get(topic) ?? new Set();
      listeners.set(topic, subscribers.add(listener));
      return () => {
        subscribers.delete(listener);
      };
    },
    async close() {
      entries.clear();
      listeners.clear();
    },
  };
}
