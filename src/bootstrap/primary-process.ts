import { setTimeout as sleep } from "node:timers/promises";
import { chargedNanosOf, walletNanosOf } from "../domain/billing/ledger.ts";
import type { RecordSink } from "../domain/record/record-batch.ts";
import { Directory } from "../domain/tenancy/directory.ts";
import { replayAbandonedJournal } from "../io/journal/ingest-pipeline.ts";
import { memoryState } from "../io/state/memory-state.ts";
import type { Store } from "../io/store/sql/store.ts";
import { createLogger, type Logger } from "../io/telemetry/logger.ts";
import { memoryCoordinationStore } from "../io/workers/memory-coordination-store.ts";
import { OrphanedFolders } from "../io/workers/orphaned-folders.ts";
import { ReservationRegistry } from "../io/workers/reservation-registry.ts";
import type { StartupInfo } from "../io/workers/rpc-protocol.ts";
import type { RecordedOutcomes, SharedResources } from "../io/workers/rpc-server.ts";
import { versionedState } from "../io/workers/versioned-state.ts";
import { workerFolder, workerFolders } from "../io/workers/worker-folders.ts";
import { WorkerSpawner } from "../io/workers/worker-spawner.ts";
import { type RecoveryResult, type WorkerProcess, WorkerSupervisor } from "../io/workers/worker-supervisor.ts";
import { systemClock } from "../kit/clock.ts";
import { randomToken } from "../kit/secret.ts";
import { systemTimers } from "../kit/timers.ts";
import type { Config } from "../settings/config.ts";
import { queueingSink } from "./observe.ts";
import { fillState, loadTenants, loggedFromMs, openSql } from "./store.ts";

export type Workers = {
  /** Resolves when all of them serve; told once the first does. */
  start(first: (up: StartupInfo) => void): Promise<void>;
  /** One after the other is replaced, without a gap. */
  restart(): Promise<void>;
  stop(): Promise<void>;
};

/** Beyond what a worker may take to finish its requests. */
const END_GRACE_MS = 30_000;
const AGAIN_MS_MIN = 250;
const AGAIN_MS_MAX = 10_000;

/**
 * What the primary process does: it keeps limits and money for its workers, and does the books of those that died. With
 * Redis they are instances like any others: each finds in its folder what the one before it left.
 */
export async function openWorkers(config: Config, count: number): Promise<Workers> {
  const { DATA_DIR: dataDir, GATEWAY_DRAIN_DELAY_MS: delayMs, GATEWAY_DRAIN_TIMEOUT_MS: drainMs } = config;
  // A worker that is replaced waits for clients that keep a connection.
  const idleMs = config.GATEWAY_CONNECTION_IDLE_MS;
  const isKeeper = config.REDIS_URL === null;
  const log = createLogger(config.LOG_LEVEL);
  const store = await openSql(config, { log, fleet: { isSingleInstance: isKeeper }, directory: "take" });
  try {
    const folders = [dataDir, ...workerFolders(dataDir)];
    const sink = queueingSink(config, store, log);
    const way = { store: sink, log, loggedFromMs: loggedFromMs(config) };
    if (isKeeper) for (const folder of folders) await replayAbandonedJournal(folder, way);
    const home = new Set(Array.from({ length: count }, (_, n) => workerFolder(dataDir, n + 1)));
    const left = new OrphanedFolders(isKeeper ? [] : folders.filter((folder) => !home.has(folder)));
    let origin: string | null = null;
    const hands = new WorkerSpawner({
      shared: await openShared(config, store, isKeeper),
      assign: (slot) => ({ slot, folder: workerFolder(dataDir, slot), orphanedFolders: left.assignedTo(slot), origin }),
    });
    const burial = new Burial({
      hands,
      store,
      sink,
      log,
      folderOf: (slot) => (isKeeper ? workerFolder(dataDir, slot) : null),
    });
    const crew = new WorkerSupervisor({
      count,
      spawn(slot) {
        const hand = hands.spawn(slot);
        left.workerSpawned(hand, workerFolder(dataDir, slot));
        return hand;
      },
      isSlotReserved: (slot) => left.isBeingRecovered(workerFolder(dataDir, slot)),
      recover: (hand) => burial.of(hand),
      clock: systemClock,
      log,
      exitTimeoutMs: Math.max(idleMs, delayMs) + drainMs + END_GRACE_MS,
    });
    return {
      start: (first) =>
        crew.start((up) => {
          origin = up.origin;
          first(up);
        }),
      restart: () => crew.restart(),
      async stop() {
        burial.hurry();
        await crew.stop();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

type BurialParts = {
  readonly hands: WorkerSpawner;
  readonly store: Store;
  readonly sink: RecordSink;
  readonly log: Logger;
  /** Null: whoever comes next into the folder does it. */
  readonly folderOf: (slot: number) => string | null;
};

/** The books of workers that have ended. */
class Burial {
  readonly #parts: BurialParts;
  #isHurried = false;

  constructor(parts: BurialParts) {
    this.#parts = parts;
  }

  /** What cannot be done at once is left to the next start. */
  hurry(): void {
    this.#isHurried = true;
  }

  async of(hand: WorkerProcess): Promise<RecoveryResult> {
    const { hands, store, sink, log, folderOf } = this.#parts;
    const folder = folderOf(hand.slot);
    for (let againMs = AGAIN_MS_MIN; ; againMs = Math.min(AGAIN_MS_MAX, 2 * againMs)) {
      try {
        if (folder !== null) await replayAbandonedJournal(folder, { store: sink, log });
        await hands.settleReservations(hand, bookedIn(store));
        return folder === null ? "left" : "booked";
      } catch (error) {
        const detail = { err: error, worker: hand.slot };
        log.warn(detail, "the journal of a worker that ended could not be read into the store yet");
        if (this.#isHurried) return "left";
        await sleep(againMs);
      }
    }
  }
}

async function openShared(config: Config, store: Store, isKeeper: boolean): Promise<SharedResources> {
  const memory = memoryState(systemClock, { keyUsesMax: config.GATEWAY_IDEMPOTENCY_KEYS_MAX });
  const state = versionedState(memory, () => randomToken(12));
  if (isKeeper) {
    const directory = new Directory();
    await loadTenants(store, directory);
    await fillState(config, store, directory, state);
  }
  return { state, board: memoryCoordinationStore(systemClock, systemTimers), reservations: new ReservationRegistry() };
}

/** What became of a request is in SQL by now, whatever its worker could still say. */
function bookedIn(store: Store): RecordedOutcomes {
  return {
    async chargedNanos(requestId) {
      const record = await store.log.find(requestId);
      return record === undefined ? 0n : chargedNanosOf(record);
    },
    keyUse: (key) => store.idempotency.find(key, systemClock.nowMs()),
    async bookedNanos({ id, createdAtMs }) {
      await store.changesOver();
      const transaction = await store.ledger.find(id);
      return transaction?.createdAtMs === createdAtMs ? walletNanosOf(transaction) : 0n;
    },
  };
}
