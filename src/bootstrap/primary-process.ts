import { setTimeout as sleep } from "node:timers/promises";
import { chargedNanosOf } from "../domain/billing/charge.ts";
import { walletNanosOf } from "../domain/billing/ledger.ts";
import type { RecordSink } from "../domain/record/record-batch.ts";
import { Directory } from "../domain/tenancy/directory.ts";
import { replayAbandonedJournal } from "../io/journal/ingest-pipeline.ts";
import { memoryState } from "../io/state/memory-state.ts";
import type { Store } from "../io/store/sql/store.ts";
import { createLogger, type Logger } from "../io/telemetry/logger.ts";
import { DatabaseLock } from "../io/workers/database-lock.ts";
import { memoryCoordinationStore } from "../io/workers/memory-coordination-store.ts";
import type { StartupInfo } from "../io/workers/rpc-protocol.ts";
import type { RecordedOutcomes, WorkerRpcServer } from "../io/workers/rpc-server.ts";
import { ReservationRegistry, type SharedResources, versionedState } from "../io/workers/shared-resources.ts";
import { OrphanedFolders, workerFolder, workerFolders } from "../io/workers/worker-folders.ts";
import { WorkerSpawner } from "../io/workers/worker-spawner.ts";
import { type RecoveryResult, type WorkerProcess, WorkerSupervisor } from "../io/workers/worker-supervisor.ts";
import { systemClock } from "../kit/clock.ts";
import { randomToken } from "../kit/secret.ts";
import { systemTimers } from "../kit/timers.ts";
import type { Config } from "../settings/config.ts";
import { replaySink } from "./log-export.ts";
import { fillState, loadTenants, logRetainedFromMs, openSql } from "./store.ts";

/** Added to the drain timeout before a worker is killed. */
const EXIT_GRACE_MS = 30_000;
const RECOVERY_RETRY_MS_MIN = 250;
const RECOVERY_RETRY_MS_MAX = 10_000;
const VERSION_BYTES = 12;

/**
 * The primary process of `gateway serve --workers N`: supervises the workers and, without Redis, keeps their shared
 * state and recovers crashed ones. With Redis each worker is an instance of its own and recovers its own folder.
 */
export class PrimaryProcess {
  readonly #store: Store;
  readonly #supervisor: WorkerSupervisor;
  readonly #recovery: WorkerRecovery;
  /** Where the first worker listens; the others join it there. */
  #origin: string | null = null;

  private constructor(config: Config, count: number, deps: PrimaryProcessDeps) {
    const { DATA_DIR: dataDir, GATEWAY_DRAIN_DELAY_MS: delayMs, GATEWAY_DRAIN_TIMEOUT_MS: drainMs } = config;
    const { store, sink, log, shared, databaseLock, orphans, ownsState } = deps;
    const spawner = new WorkerSpawner({
      shared,
      databaseLock,
      assign: (slot) => ({
        slot,
        folder: workerFolder(dataDir, slot),
        orphanedFolders: orphans.assignedTo(slot),
        origin: this.#origin,
      }),
    });
    this.#store = store;
    this.#recovery = new WorkerRecovery({
      spawner,
      store,
      sink,
      log,
      folderOf: (slot) => (ownsState ? workerFolder(dataDir, slot) : null),
    });
    this.#supervisor = new WorkerSupervisor({
      count,
      spawn(slot) {
        const worker = spawner.spawn(slot);
        orphans.workerSpawned(worker, workerFolder(dataDir, slot));
        return worker;
      },
      isSlotReserved: (slot) => orphans.isBeingRecovered(workerFolder(dataDir, slot)),
      recover: (worker) => this.#recovery.recover(worker),
      clock: systemClock,
      log,
      // A replaced worker keeps idle connections until their clients close them or the idle timeout does.
      exitTimeoutMs: Math.max(config.GATEWAY_CONNECTION_IDLE_MS, delayMs) + drainMs + EXIT_GRACE_MS,
    });
  }

  /** Opens the store and, without Redis, replays all journals before a worker starts. */
  static async open(config: Config, count: number): Promise<PrimaryProcess> {
    const { DATA_DIR: dataDir } = config;
    const ownsState = config.REDIS_URL === null;
    const log = createLogger(config.LOG_LEVEL);
    const databaseLock = new DatabaseLock();
    const store = await openSql(config, {
      log,
      fleet: { isSingleInstance: ownsState },
      directory: "acquire",
      onLockChange: (isHeld) => databaseLock.set(isHeld),
    });
    try {
      const folders = [dataDir, ...workerFolders(dataDir)];
      const sink = replaySink(config, store, log);
      const replay = { store: sink, log, logRetainedFromMs: logRetainedFromMs(config) };
      if (ownsState) for (const folder of folders) await replayAbandonedJournal(folder, replay);
      const inUse = new Set(Array.from({ length: count }, (_, index) => workerFolder(dataDir, index + 1)));
      const orphans = new OrphanedFolders(ownsState ? [] : folders.filter((folder) => !inUse.has(folder)));
      const shared = await openSharedResources(config, store, { ownsState });
      return new PrimaryProcess(config, count, { store, sink, log, shared, databaseLock, orphans, ownsState });
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  /** Resolves when all workers are ready. */
  start(onFirstReady: (info: StartupInfo) => void): Promise<void> {
    return this.#supervisor.start((info) => {
      this.#origin = info.origin;
      onFirstReady(info);
    });
  }

  restart(): Promise<void> {
    return this.#supervisor.restart();
  }

  async stop(): Promise<void> {
    this.#recovery.stopRetrying();
    await this.#supervisor.stop();
    await this.#store.close();
  }
}

type PrimaryProcessDeps = {
  readonly store: Store;
  readonly sink: RecordSink;
  readonly log: Logger;
  readonly shared: SharedResources<WorkerRpcServer>;
  readonly databaseLock: DatabaseLock;
  readonly orphans: OrphanedFolders;
  /** Without Redis the shared state is in this process. */
  readonly ownsState: boolean;
};

type WorkerRecoveryDeps = {
  readonly spawner: WorkerSpawner;
  readonly store: Store;
  readonly sink: RecordSink;
  readonly log: Logger;
  /** Null when the next worker in the slot replays the folder itself. */
  readonly folderOf: (slot: number) => string | null;
};

/** Replays the journals of exited workers and settles what they had reserved. */
class WorkerRecovery {
  readonly #deps: WorkerRecoveryDeps;
  #isRetrying = true;

  constructor(deps: WorkerRecoveryDeps) {
    this.#deps = deps;
  }

  /** A recovery that fails from now on is left to the next start. */
  stopRetrying(): void {
    this.#isRetrying = false;
  }

  async recover(worker: WorkerProcess): Promise<RecoveryResult> {
    const { spawner, store, sink, log, folderOf } = this.#deps;
    const folder = folderOf(worker.slot);
    for (let retryMs = RECOVERY_RETRY_MS_MIN; ; retryMs = Math.min(RECOVERY_RETRY_MS_MAX, 2 * retryMs)) {
      try {
        if (folder !== null) await replayAbandonedJournal(folder, { store: sink, log });
        await spawner.settleReservations(worker, recordedOutcomes(store));
        return folder === null ? "deferred" : "recovered";
      } catch (error) {
        log.warn({ err: error, worker: worker.slot }, "workers: journal recovery failed, retrying");
        if (!this.#isRetrying) return "deferred";
        await sleep(retryMs);
      }
    }
  }
}

async function openSharedResources(
  config: Config,
  store: Store,
  { ownsState }: { readonly ownsState: boolean },
): Promise<SharedResources<WorkerRpcServer>> {
  const memory = memoryState(systemClock, { keyUsesMax: config.GATEWAY_IDEMPOTENCY_KEYS_MAX });
  const state = versionedState(memory, () => randomToken(VERSION_BYTES));
  if (ownsState) {
    const directory = new Directory();
    await loadTenants(store, directory);
    await fillState(config, store, directory, state);
  }
  const coordination = memoryCoordinationStore(systemClock, systemTimers);
  return { state, coordination, reservations: new ReservationRegistry() };
}

/** Outcomes of requests from SQL, which is complete once the journal was replayed. */
function recordedOutcomes(store: Store): RecordedOutcomes {
  return {
    async chargedNanos(requestId) {
      const record = await store.log.find(requestId);
      return record === undefined ? 0n : chargedNanosOf(record);
    },
    keyUse: (key) => store.idempotency.find(key, systemClock.nowMs()),
    async ledgerAmount({ id, createdAtMs }) {
      await store.awaitPendingChanges();
      const transaction = await store.ledger.find(id);
      return transaction?.createdAtMs === createdAtMs ? walletNanosOf(transaction) : 0n;
    },
  };
}
