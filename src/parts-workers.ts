import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "./config.ts";
import { chargedNanosOf } from "./domain/billing/ledger.ts";
import { Directory } from "./domain/tenancy/directory.ts";
import { replayLeft } from "./io/journal/open.ts";
import { memoryState } from "./io/state/memory.ts";
import type { Store } from "./io/store/sql/store.ts";
import { openLog } from "./io/telemetry/log.ts";
import { Crew, type Hand } from "./io/workers/crew.ts";
import type { Booked, Shared } from "./io/workers/desk.ts";
import { workerFolder, workerFolders } from "./io/workers/folders.ts";
import { Hands } from "./io/workers/hands.ts";
import { memoryBoard } from "./io/workers/memory-board.ts";
import type { Up } from "./io/workers/protocol.ts";
import { withVersions } from "./io/workers/versions.ts";
import { systemClock } from "./kit/clock.ts";
import { randomToken } from "./kit/secret.ts";
import { systemTimers } from "./kit/timers.ts";
import { fillState, loadTenants, openSql } from "./parts.ts";

export type Workers = {
  /** Resolves when all of them serve; told once the first does. */
  start(first: (up: Up) => void): Promise<void>;
  /** One after the other is replaced, without a gap. */
  restart(): Promise<void>;
  stop(): Promise<void>;
};

/** How long a worker that is replaced may wait for clients that keep a connection. */
const KEEP_ALIVE_MS = 65_000;
/** Beyond what a worker may take to finish its requests. */
const END_GRACE_MS = 30_000;
const AGAIN_MS_MAX = 10_000;

/** What the primary process does: it keeps limits and money for its workers, and does the books of those that died. */
export async function openWorkers(config: Config, count: number): Promise<Workers> {
  const { DATA_DIR: dataDir } = config;
  const log = openLog(config.LOG_LEVEL);
  const store = await openSql(config, { log, fleet: { isAlone: true }, directory: "take" });
  try {
    for (const folder of [dataDir, ...workerFolders(dataDir)]) await replayLeft(folder, { store, log });
    const shared = await openShared(config, store);
    let origin: string | null = null;
    const hands = new Hands({
      shared,
      welcome: (slot) => ({ folder: workerFolder(dataDir, slot), instanceId: `worker-${slot}`, origin }),
    });
    let stopping = false;
    const bury = async (hand: Hand) => {
      for (let againMs = 250; ; againMs = Math.min(AGAIN_MS_MAX, 2 * againMs)) {
        try {
          await replayLeft(workerFolder(dataDir, hand.slot), { store, log });
          await hands.release(hand, bookedIn(store));
          return;
        } catch (error) {
          const detail = { err: error, worker: hand.slot };
          log.warn(detail, "the journal of a worker that ended could not be read into the store yet");
          // It is read at the next start.
          if (stopping) return;
          await sleep(againMs);
        }
      }
    };
    const endsWithinMs = KEEP_ALIVE_MS + config.GATEWAY_DRAIN_TIMEOUT_MS + END_GRACE_MS;
    const crew = new Crew({ count, hire: (slot) => hands.hire(slot), bury, clock: systemClock, log, endsWithinMs });
    return {
      start: (first) =>
        crew.start((up) => {
          origin = up.origin;
          first(up);
        }),
      restart: () => crew.restart(),
      async stop() {
        stopping = true;
        await crew.stop();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function openShared(config: Config, store: Store): Promise<Shared> {
  const memory = memoryState(systemClock, { claimsMax: config.GATEWAY_IDEMPOTENCY_KEYS_MAX });
  const state = withVersions(memory, () => randomToken(12));
  const directory = new Directory();
  await loadTenants(store, directory);
  await fillState(config, store, directory, state);
  return { state, board: memoryBoard(systemClock, systemTimers) };
}

/** What became of a request is in SQL by now, whatever its worker could still say. */
function bookedIn(store: Store): Booked {
  return {
    async chargedNanos(requestId) {
      const record = await store.log.find(requestId);
      return record === undefined ? 0n : chargedNanosOf(record);
    },
    used: (key) => store.idempotency.find(key, systemClock.nowMs()),
  };
}
