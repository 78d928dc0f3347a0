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
  /** Capacity of the shared state. */
  readonly keysMax: number;
};

/** Loads charged keys from SQL into a new shared state. */
export async function loadRememberedKeys({ store, state, clock, keysMax }: RememberedKeysDeps): Promise<void> {
  // One more than fits, so that the state knows that it is incomplete.
  const newest = await store.newest(clock.nowMs(), keysMax + 1);
  for (const use of newest.reverse()) await state.recordKeyUse(use);
}

/** Looks up charged keys that do not fit into the shared state. */
export function idempotencyLookup(deps: IdempotencyLookupDeps): IdempotencyLookup {
  const { store, clock } = deps;
  return {
    ttlMs: deps.ttlMs,
    async find(key) {
      const known = await store.find(key, clock.nowMs());
      if (known !== undefined) return known;
      // A request that might have been charged is refused, because a second charge would be worse.
      await requireIngested(
        deps,
        "The ledger is behind, so it is unknown whether this Idempotency-Key was already charged. Try again shortly.",
      );
      return store.find(key, clock.nowMs());
    },
    storedReply: async () => undefined,
    servedCall: (requestId) => findServedCall(deps, requestId),
    async sweep() {
      try {
        await store.sweep(clock.nowMs(), SWEPT_ROWS_MAX);
      } catch (error) {
        deps.warn({ err: error }, "idempotency: sweep of expired keys failed");
      }
    },
  };
}

/** The provider headers are optional, so an unavailable SQL store delays a replay only this long. */
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
