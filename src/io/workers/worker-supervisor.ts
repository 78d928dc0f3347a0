import { exponentialBackoffMs } from "../../kit/backoff.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { StartupInfo } from "./rpc-protocol.ts";

/** One worker process, from its spawn to its exit. */
export type WorkerProcess = {
  readonly slot: number;
  readonly pid: number | undefined;
  /** Resolves when it accepts connections; rejects when it exits before that. */
  readonly ready: Promise<StartupInfo>;
  /** Resolves with the signal or exit code after its last call was processed. */
  readonly exited: Promise<string>;
  drain(options: { readonly keepIdleConnections: boolean }): void;
  kill(): void;
};

/** `deferred`: the next worker in the slot has to recover what is left. */
export type RecoveryResult = "recovered" | "deferred";

export type WorkerSupervisorDeps = {
  /** Number of workers to keep running. */
  readonly count: number;
  readonly spawn: (slot: number) => WorkerProcess;
  /** Replays the journal and settles the reservations of an exited worker; retries until that succeeds. */
  readonly recover: (worker: WorkerProcess) => Promise<RecoveryResult>;
  readonly clock: Clock;
  readonly log: Log;
  /** Slots that must stay empty for now. */
  readonly isSlotReserved?: (slot: number) => boolean;
  /** A draining worker that is still running after this is killed. */
  readonly exitTimeoutMs: number;
  readonly backoffBaseMs?: number;
};

/** The worker finished its requests and flushed everything. */
const CLEAN_EXIT = "exit code 0";
const NO_PROCESS = "no process";
/** The worker could not start, so it has no unfinished work. A negative code means that its program could not be run. */
const FAILED_TO_START = new RegExp(`^(?:exit code (?:1|-\\d+)|${NO_PROCESS})$`);
const BACKOFF_MS_MAX = 30_000;
/** The exit of a worker that ran this long does not count towards the backoff of its replacement. */
const STABLE_AFTER_MS = 60_000;
/** How long a rolling restart waits for one draining worker before it replaces the next. */
const REPLACEMENT_WAIT_MS = 10_000;

type WorkerRole = "candidate" | "serving" | "draining";

/** Keeps `count` workers running: replaces those that exit, restarts them one by one, and drains them on shutdown. */
export class WorkerSupervisor {
  readonly #deps: Required<WorkerSupervisorDeps>;
  /** In spawn order. */
  readonly #workers = new Map<WorkerProcess, WorkerRole>();
  /** Slots of running workers, and of exited ones that are still being recovered. */
  readonly #slots = new Set<number>();
  /** Slots whose replacement waits for its backoff: only that replacement may use them, because it recovers them. */
  readonly #reservedSlots = new Set<number>();
  readonly #watchers = new Map<WorkerProcess, Promise<void>>();
  readonly #stopSignal = Promise.withResolvers<void>();
  #isStopping = false;
  #rollingRestart: Promise<void> | undefined;
  #restartRequested = false;
  /** Consecutive workers that exited before they were stable. */
  #earlyExits = 0;

  constructor(deps: WorkerSupervisorDeps) {
    this.#deps = { backoffBaseMs: 250, isSlotReserved: () => false, ...deps };
  }

  /** Starts the first worker alone, reports its address, then starts the others. */
  async start(onFirstReady: (info: StartupInfo) => void): Promise<void> {
    const info = await this.#spawn().ready.catch((error: unknown) => {
      if (!this.#isStopping) throw error;
    });
    if (info === undefined) return;
    onFirstReady(info);
    const { count, log } = this.#deps;
    await Promise.all(Array.from({ length: count - 1 }, () => this.#spawnUntilReady(0)));
    if (!this.#isStopping) log.info({ workers: count }, "workers: all ready");
  }

  /** Rolling restart: each new worker is ready before an old one drains. A call during a restart queues another one. */
  restart(): Promise<void> {
    if (this.#rollingRestart !== undefined) this.#restartRequested = true;
    this.#rollingRestart ??= this.#runRollingRestart().finally(() => {
      this.#rollingRestart = undefined;
    });
    return this.#rollingRestart;
  }

  /** Drains all workers and resolves when they have exited. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#stopSignal.resolve();
    for (const worker of this.#workers.keys()) this.#drain(worker, { keepIdleConnections: false });
    while (this.#watchers.size > 0) await Promise.all(this.#watchers.values());
  }

  /** `failedRecoveries`: earlier workers in this slot that exited before they had recovered it. */
  #spawn(reservedSlot?: number, failedRecoveries = 0): WorkerProcess {
    const isUsed = (slot: number) =>
      this.#slots.has(slot) ||
      this.#deps.isSlotReserved(slot) ||
      (slot !== reservedSlot && this.#reservedSlots.has(slot));
    let slot = reservedSlot ?? 1;
    while (isUsed(slot)) slot += 1;
    this.#slots.add(slot);
    const spawnedAtMs = this.#deps.clock.monotonicMs();
    const worker = this.#trySpawn(slot);
    this.#workers.set(worker, "serving");
    // The caller of #spawn handles the failure.
    worker.ready.catch(() => undefined);
    const watcher = this.#watch(worker, spawnedAtMs, failedRecoveries).finally(() => this.#watchers.delete(worker));
    this.#watchers.set(worker, watcher);
    return worker;
  }

  /** An already exited worker when the system cannot create a process. */
  #trySpawn(slot: number): WorkerProcess {
    try {
      return this.#deps.spawn(slot);
    } catch (error) {
      this.#deps.log.error({ worker: slot, err: error }, "workers: process creation failed");
      const [ready, exited] = [Promise.reject(error), Promise.resolve(NO_PROCESS)];
      return { slot, pid: undefined, ready, exited, drain: () => undefined, kill: () => undefined };
    }
  }

  /** Recovers and replaces the worker after it exits. */
  async #watch(worker: WorkerProcess, spawnedAtMs: number, failedRecoveries: number): Promise<void> {
    const { slot, pid } = worker;
    const exitStatus = await worker.exited;
    const role = this.#workers.get(worker);
    const wasReady = await isFulfilled(worker.ready);
    this.#workers.delete(worker);
    const recovery = await this.#deps.recover(worker);
    const hasUnfinishedWork = role === "draining" || (role === "candidate" && !FAILED_TO_START.test(exitStatus));
    const needsRecoveryWorker =
      hasUnfinishedWork && recovery === "deferred" && exitStatus !== CLEAN_EXIT && !this.#isStopping;
    if (needsRecoveryWorker) {
      this.#deps.log.error({ worker: slot, pid, exitStatus }, "workers: exited with unflushed work, starting recovery");
      if (failedRecoveries > 0) await this.#backOff(failedRecoveries);
    }
    this.#slots.delete(slot);
    if (needsRecoveryWorker) this.#spawnRecoveryWorker(slot, failedRecoveries);
    // A worker that never became ready is retried by the caller that spawned it.
    if (role === "serving" && wasReady && !this.#isStopping) {
      this.#deps.log.error({ worker: slot, pid, exitStatus }, "workers: exited unexpectedly, replacing");
      const uptimeMs = this.#deps.clock.monotonicMs() - spawnedAtMs;
      this.#earlyExits = uptimeMs > STABLE_AFTER_MS ? 0 : this.#earlyExits + 1;
      await this.#spawnUntilReady(this.#earlyExits - 1, slot);
    }
  }

  /** Spawns one more worker and retries with backoff until it is ready; earlier `failures` delay the first try. */
  async #spawnUntilReady(failures: number, reservedSlot?: number): Promise<void> {
    if (reservedSlot !== undefined) this.#reservedSlots.add(reservedSlot);
    for (let [failed, slot] = [failures, reservedSlot]; ; failed += 1) {
      if (failed > 0) await this.#backOff(failed);
      if (this.#isStopping) return;
      const worker = this.#spawn(slot);
      this.#reservedSlots.delete(worker.slot);
      const isReady = await isFulfilled(worker.ready);
      if (isReady || this.#isStopping) return;
      this.#deps.log.error({ worker: worker.slot }, "workers: start failed, retrying");
      // The retry uses the same slot, to recover it; the slot is free once this worker has exited.
      slot = worker.slot;
      this.#reservedSlots.add(slot);
      await this.#watchers.get(worker);
    }
  }

  /** An extra worker that recovers the slot during its startup, and drains when that is done. */
  #spawnRecoveryWorker(slot: number, failedRecoveries: number): void {
    if (this.#isStopping) return;
    const worker = this.#spawn(slot, failedRecoveries + 1);
    this.#workers.set(worker, "draining");
    worker.ready.then(
      () => this.#drain(worker, { keepIdleConnections: true }),
      () => undefined,
    );
  }

  async #backOff(failures: number): Promise<void> {
    const delayMs = exponentialBackoffMs(failures - 1, this.#deps.backoffBaseMs, BACKOFF_MS_MAX);
    await Promise.race([this.#stopSignal.promise, new Promise((resolve) => setTimeout(resolve, delayMs).unref())]);
  }

  async #runRollingRestart(): Promise<void> {
    const { log } = this.#deps;
    do {
      this.#restartRequested = false;
      const outdated = [...this.#workers].filter(([, role]) => role === "serving").map(([worker]) => worker);
      log.info({ workers: outdated.length }, "workers: rolling restart started");
      for (const worker of outdated) {
        await worker.ready.catch(() => this.#watchers.get(worker));
        if (this.#isStopping) return;
        // It crashed meanwhile, so it has a replacement already.
        if (!this.#workers.has(worker)) continue;
        const replacement = this.#spawn();
        this.#workers.set(replacement, "candidate");
        try {
          await replacement.ready;
        } catch {
          log.error({ worker: replacement.slot }, "workers: rolling restart aborted, a new worker did not start");
          return;
        }
        if (this.#isStopping) return;
        this.#workers.set(replacement, "serving");
        // If the old worker crashed meanwhile and was replaced, the new one is one too many.
        const surplus = this.#workers.has(worker) ? worker : replacement;
        this.#drain(surplus, { keepIdleConnections: true });
        await Promise.race([
          surplus.exited,
          new Promise((resolve) => setTimeout(resolve, REPLACEMENT_WAIT_MS).unref()),
        ]);
      }
      log.info({ workers: outdated.length }, "workers: rolling restart finished");
    } while (this.#restartRequested && !this.#isStopping);
  }

  #drain(worker: WorkerProcess, options: Parameters<WorkerProcess["drain"]>[0]): void {
    this.#workers.set(worker, "draining");
    worker.drain(options);
    const { exitTimeoutMs, log } = this.#deps;
    const timeout = setTimeout(() => {
      log.error({ worker: worker.slot, pid: worker.pid }, "workers: exit timeout, killing");
      worker.kill();
    }, exitTimeoutMs);
    void worker.exited.then(() => clearTimeout(timeout));
  }
}

function isFulfilled(promise: Promise<unknown>): Promise<boolean> {
  return promise.then(
    () => true,
    () => false,
  );
}
