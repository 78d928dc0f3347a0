import type { CoordinationStore, Lock } from "../../domain/fleet/coordination-store.ts";
import type { Clock } from "../../kit/clock.ts";
import { cancelTimer, type Timers } from "../../kit/timers.ts";

type StoredEntry = { readonly value: string; readonly untilMs: number };
type LockWaiter = (lock: Lock) => void;

/** Below this many facts it is not worth looking for those that have had their time. */
const SWEEP_SIZE_MIN = 256;

/** A board in one process. What its holders do not let go of stays theirs: whoever hands it to others knows who died. */
export function memoryCoordinationStore(clock: Clock, timers: Timers): CoordinationStore {
  const facts = new Map<string, StoredEntry>();
  const listeners = new Map<string, Set<(message: string) => void>>();
  /** By name, who waits for a lock that somebody has. */
  const locks = new Map<string, Set<LockWaiter>>();
  let sweepAt = SWEEP_SIZE_MIN;

  const alive = (name: string): string | undefined => {
    const fact = facts.get(name);
    if (fact === undefined || fact.untilMs > clock.monotonicMs()) return fact?.value;
    facts.delete(name);
    return undefined;
  };
  const sweep = () => {
    for (const name of facts.keys()) alive(name);
    sweepAt = Math.max(SWEEP_SIZE_MIN, 2 * facts.size);
  };
  const pass = (name: string) => {
    const waiting = locks.get(name);
    const next = waiting?.values().next().value;
    if (next === undefined) locks.delete(name);
    else next(held(name));
  };
  const held = (name: string): Lock => {
    let isHeld = true;
    return {
      get isHeld() {
        return isHeld;
      },
      async release() {
        if (!isHeld) return;
        isHeld = false;
        pass(name);
      },
    };
  };

  return {
    async put(name, value, ttlMs) {
      if (facts.size >= sweepAt) sweep();
      facts.set(name, { value, untilMs: clock.monotonicMs() + ttlMs });
    },
    get: async (name) => alive(name),
    async delete(name) {
      facts.delete(name);
    },
    async list(prefix) {
      sweep();
      const found = new Map<string, string>();
      for (const [name, { value }] of facts) if (name.startsWith(prefix)) found.set(name.slice(prefix.length), value);
      return found;
    },
    async acquireLock(name, { waitMs }) {
      const waiting = locks.get(name);
      if (waiting === undefined) {
        locks.set(name, new Set());
        return held(name);
      }
      if (waitMs <= 0) return undefined;
      const { promise, resolve } = Promise.withResolvers<Lock | undefined>();
      const timer = timers.after(waitMs, () => {
        waiting.delete(turn);
        resolve(undefined);
      });
      const turn: LockWaiter = (lock) => {
        cancelTimer(timer);
        waiting.delete(turn);
        resolve(lock);
      };
      waiting.add(turn);
      return promise;
    },
    async publish(topic, message) {
      for (const listener of listeners.get(topic) ?? []) listener(message);
    },
    subscribe(topic, listener) {
      const all = listeners.get(topic) ?? new Set();
      listeners.set(topic, all.add(listener));
      return () => {
        all.delete(listener);
      };
    },
    async close() {
      facts.clear();
      listeners.clear();
    },
  };
}
