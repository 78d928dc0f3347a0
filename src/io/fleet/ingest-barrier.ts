import type { CoordinationStore } from "../../domain/fleet/coordination-store.ts";
import type { IdGenerator } from "../../kit/id-generator.ts";
import { cancelTimer, type Timers } from "../../kit/timers.ts";
import type { ClusteredFleet } from "./clustered-fleet.ts";

export type IngestBarrierDeps = {
  readonly fleet: Pick<ClusteredFleet, "id" | "knownInstanceIds">;
  readonly store: CoordinationStore;
  readonly ids: IdGenerator;
  readonly timers: Timers;
  /** Of this instance alone. */
  flush(): Promise<void>;
};

const FLUSH = "flush";
const ASK_EVERY_MS = 20;
const WAIT_MS_MAX = 3_000;
/** Whoever had lost its connection when it was asked hears it then. */
const TELL_EVERY_ASKS = 25;
/** Who did not answer in time may have died: those who only look do not wait for it for so long. */
const LATE_MS = 10_000;
const ANSWER_KEPT_MS = 10_000;

/**
 * What was finished anywhere is in SQL then: who reads, or ends credit, reads the whole. `all` rejects where an
 * instance does not say so in time; `soon` goes on without it.
 */
export function createIngestBarrier({ fleet, store, ids, timers, flush }: IngestBarrierDeps) {
  const late = new Set<string>();
  const deaf = store.subscribe(FLUSH, (message) => {
    const [asker, token = ""] = message.split(" ");
    if (asker === fleet.id) return;
    void flush()
      .then(() => store.put(`${FLUSH}:${token}:${fleet.id}`, "", ANSWER_KEPT_MS))
      .catch(() => undefined);
  });
  const pause = () => new Promise<void>((resolve) => void timers.after(ASK_EVERY_MS, resolve));
  const wait = async (waiting: readonly string[]) => {
    if (waiting.length === 0) return;
    const token = ids.next("");
    let isOver = false;
    const timer = timers.after(WAIT_MS_MAX, () => {
      isOver = true;
    });
    try {
      for (let asks = 0; ; asks += 1) {
        if (asks % TELL_EVERY_ASKS === 0) await store.publish(FLUSH, `${fleet.id} ${token}`);
        const there = await store.list(`${FLUSH}:${token}:`);
        const missing = waiting.filter((id) => !there.has(id));
        if (missing.length === 0) return;
        if (isOver) throw new Behind(missing);
        await pause();
      }
    } finally {
      cancelTimer(timer);
    }
  };
  const others = async () => (await fleet.knownInstanceIds()).filter((id) => id !== fleet.id);
  const forgive = (error: unknown) => {
    for (const id of error instanceof Behind ? error.ids : []) {
      late.add(id);
      timers.after(LATE_MS, () => late.delete(id));
    }
  };
  return {
    all: async () => {
      await Promise.all([flush(), others().then(wait)]);
    },
    soon: async () => {
      const asked = others().then((all) => wait(all.filter((id) => !late.has(id))));
      await Promise.all([flush(), asked.catch(forgive)]);
    },
    stop: deaf,
  };
}

class Behind extends Error {
  readonly ids: readonly string[];

  constructor(ids: readonly string[]) {
    super("another instance is behind with its books");
    this.ids = ids;
  }
}
