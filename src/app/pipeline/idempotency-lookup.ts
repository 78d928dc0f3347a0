import {
  type IdempotencyLookup,
  type IdempotencyStore,
  type ServedCall,
  servedCall,
} from "../../domain/admission/idempotency.ts";
import type { SharedState } from "../../domain/admission/shared-state.ts";
import type { LogStore } from "../../domain/record/record.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import { cancelTimer } from "../../kit/timers.ts";
import { type IngestBarrier, requireIngested } from "../ingest-barrier.ts";

export type IdempotencyLookupDeps = IngestBarrier & {
  readonly store: IdempotencyStore;
  readonly log: Pick<LogStore, "find">;
  readonly clock: Clock;
  readonly ttlMs: number;
  readonly warn: Log["warn"];
};

const SWEPT_ROWS_MAX = 10_000;

type RememberedKeysDeps = Pick<IdempotencyLookupDeps, "store" | "clock"> & {
  readonly state: Pick<SharedState, "recordKeyUse">;
  /** As many as the state keeps. */
  readonly keysMax: number;
};

/** Puts what SQL remembers into a shared state that is new. */
export async function loadRememberedKeys({ store, state, clock, keysMax }: RememberedKeysDeps): Promise<void> {
  // One more than there is room for: with it the state knows that it does not have all.
  const newest = await store.newest(clock.nowMs(), keysMax + 1);
  for (const use of newest.reverse()) await state.recordKeyUse(use);
}

/** Finds what has no place in the shared state. */
export function idempotencyLookup(deps: IdempotencyLookupDeps): IdempotencyLookup {
  const { store, clock } = deps;
  return {
    ttlMs: deps.ttlMs,
    async find(key) {
      const known = await store.find(key, clock.nowMs());
      if (known !== undefined) return known;
      // Who cannot be told apart from a charged call is refused: a second charge would be worse.
      await requireIngested(
        deps,
        "The books are behind at the moment, so it is not known whether this Idempotency-Key was charged before. Try again shortly.",
      );
      return store.find(key, clock.nowMs());
    },
    storedReply: async () => undefined,
    servedCall: (requestId) => findServedCall(deps, requestId),
    async sweep() {
      try {
        await store.sweep(clock.nowMs(), SWEPT_ROWS_MAX);
      } catch (error) {
        deps.warn({ err: error }, "idempotency keys that have had their time could not be removed yet");
      }
    },
  };
}

/** What is known of a call can be said without who served it: while SQL is away nobody waits longer for that. */
const LOG_WAIT_MS_MAX = 10_000;

async function findServedCall(
  { log, timers }: IdempotencyLookupDeps,
  requestId: string,
): Promise<ServedCall | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = timers.after(LOG_WAIT_MS_MAX, () => resolve(undefined));
  const found = log.find(requestId).catch(() => undefined);
  const row = await Promise.race([found, late]);
  cancelTimer(timer);
  return row === undefined ? undefined : servedCall(row);
}
