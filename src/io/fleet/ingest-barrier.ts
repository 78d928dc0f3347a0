import type { CoordinationStore } from "../../domain/fleet/coordination-store.ts";
import type { IdGenerator } from "../../kit/id-generator.ts";
import { cancelTimer, type Timers } from "../../kit/timers.ts";
import type { ClusteredFleet } from "./clustered-fleet.ts";

export type IngestBarrierDeps = {
  readonly fleet: Pick<ClusteredFleet, "id" | "knownInstanceIds">;
  readonly store: CoordinationStore;
  readonly ids: IdGenerator;
  readonly timers: Timers;
  /** Flushes the journal of this instance. */
  flush(): Promise<void>;
};

const TOPIC = "flush";
const POLL_MS = 20;
const WAIT_MS_MAX = 3_000;
/** The request is repeated for an instance that was disconnected when it was published. */
const PUBLISH_EVERY_POLLS = 25;
/** An instance that did not reply in time may have crashed: `soon` does not wait for it meanwhile. */
const SKIP_MS = 10_000;
const REPLY_TTL_MS = 10_000;

/**
 * Waits until every record that any instance has finished is in SQL. `all` rejects when an instance does not reply in
 * time; `soon` continues without it.
 */
export function createIngestBarrier({ fleet, store, ids, timers, flush }: IngestBarrierDeps) {
  const skipped = new Set<string>();
  const unsubscribe = store.subscribe(TOPIC, (message) => {
    const [requester, token = ""] = message.split(" ");
    if (requester === fleet.id) return;
    void flush()
      .then(() => store.put(`${TOPIC}:${token}:${fleet.id}`, "", REPLY_TTL_MS))
      .catch(() => undefined);
  });
  const pollDelay = () => new Promise<void>((resolve) => void timers.after(POLL_MS, resolve));
  const awaitReplies = async (instanceIds: readonly string[]) => {
    if (instanceIds.length === 0) return;
    const token = ids.next("");
    let isOver = false;
    const timer = timers.after(WAIT_MS_MAX, () => {
      isOver = true;
    });
    try {
      for (let polls = 0; ; polls += 1) {
        if (polls % PUBLISH_EVERY_POLLS === 0) await store.publish(TOPIC, `${fleet.id} ${token}`);
        const replies = await store.list(`${TOPIC}:${token}:`);
        const missing = instanceIds.filter((id) => !replies.has(id));
        if (missing.length === 0) return;
        if (isOver) throw new InstancesBehind(missing);
        await pollDelay();
      }
    } finally {
      cancelTimer(timer);
    }
  };
  const others = async () => (await fleet.knownInstanceIds()).filter((id) => id !== fleet.id);
  const skipForAWhile = (error: unknown) => {
    for (const id of error instanceof InstancesBehind ? error.instanceIds : []) {
      skipped.add(id);
      timers.after(SKIP_MS, () => skipped.delete(id));
    }
  };
  return {
    all: async () => {
      await Promise.all([flush(), others().then(awaitReplies)]);
    },
    soon: async () => {
      const replies = others().then((instanceIds) => awaitReplies(instanceIds.filter((id) => !skipped.has(id))));
      await Promise.all([flush(), replies.catch(skipForAWhile)]);
    },
    stop: unsubscribe,
  };
}

class InstancesBehind extends Error {
  readonly instanceIds: readonly string[];

  constructor(instanceIds: readonly string[]) {
    super("the journal of another instance is not ingested yet");
    this.instanceIds = instanceIds;
  }
}
