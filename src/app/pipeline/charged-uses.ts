import { fault } from "../../contract/faults.ts";
import type { SharedState } from "../../domain/admission/admission.ts";
import type { Idempotency, IdempotencyStore } from "../../domain/admission/idempotency.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import { stop, type Timers } from "../../kit/timers.ts";

export type ChargedUsesDeps = {
  readonly store: IdempotencyStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ttlMs: number;
  /** Resolves when everything the journal held at the call can be read from SQL. */
  caughtUp(): Promise<void>;
  readonly warn: Log["warn"];
};

/** A charge of a moment ago is on its way into SQL. */
const WAIT_MS_MAX = 2_000;
const SWEPT_ROWS_MAX = 10_000;

type Remembering = Pick<ChargedUsesDeps, "store" | "clock"> & {
  readonly state: Pick<SharedState, "remember">;
  /** As many as the state keeps. */
  readonly keysMax: number;
};

/** Puts what SQL remembers into a shared state that is new. */
export async function rememberUses({ store, state, clock, keysMax }: Remembering): Promise<void> {
  // One more than there is room for: with it the state knows that it does not have all.
  const newest = await store.newest(clock.nowMs(), keysMax + 1);
  for (const use of newest.reverse()) await state.remember(use);
}

/** Finds what has no place in the shared state. */
export function chargedUses(deps: ChargedUsesDeps): Idempotency {
  const { store, clock } = deps;
  return {
    ttlMs: deps.ttlMs,
    async find(key) {
      const known = await store.find(key, clock.nowMs());
      if (known !== undefined) return known;
      await caughtUpSoon(deps);
      return store.find(key, clock.nowMs());
    },
    kept: async () => undefined,
    async sweep() {
      try {
        await store.sweep(clock.nowMs(), SWEPT_ROWS_MAX);
      } catch (error) {
        deps.warn({ err: error }, "idempotency keys that have had their time could not be removed yet");
      }
    },
  };
}

/** Who cannot be told apart from a charged call is refused: a second charge would be worse. */
async function caughtUpSoon({ caughtUp, timers }: ChargedUsesDeps): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<"late">();
  const timer = timers.after(WAIT_MS_MAX, () => resolve("late"));
  const flushed = caughtUp().then(
    () => "caught up" as const,
    () => "late" as const,
  );
  const end = await Promise.race([flushed, promise]);
  stop(timer);
  if (end === "late")
    throw fault("service_unavailable", {
      message:
        "The books are behind at the moment, so it is not known whether this Idempotency-Key was charged before. Try again shortly.",
      headers: { "retry-after": "5" },
    });
}
