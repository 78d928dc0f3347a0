import { exponentialBackoffMs } from "../../kit/backoff.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { StartupInfo } from "./rpc-protocol.ts";

/** One worker process, from its start to its end. */
export type WorkerProcess = {
  readonly slot: number;
  readonly pid: number | undefined;
  /** Resolves when it serves; rejects when it ended before. */
  readonly ready: Promise<StartupInfo>;
  /** How it ended, once nothing of it is left. */
  readonly exited: Promise<string>;
  drain(lingering: "no" | "yes"): void;
  kill(): void;
};

export type RecoveryResult = "booked" | "left";

export type WorkerSupervisorDeps = {
  readonly count: number;
  /** Starts a process. */
  readonly spawn: (slot: number) => WorkerProcess;
  /**
   * Books what a worker that has ended left behind; again and again, until it succeeds. `left`: whoever comes next into its
   * slot does.
   */
  readonly recover: (hand: WorkerProcess) => Promise<RecoveryResult>;
  readonly clock: Clock;
  readonly log: Log;
  /** Nobody comes into this slot now, although no worker is there. */
  readonly isSlotReserved?: (slot: number) => boolean;
  /** A worker that takes longer than this to end is killed. */
  readonly exitTimeoutMs: number;
  readonly backoffBaseMs?: number;
};

/** How a worker ends that has finished all that it had begun, and that left nothing. */
const CLEAN_EXIT = "exit code 0";
const NO_PROCESS = "no process";
/** How one ends by itself that could not start: it had begun nothing. Below zero its program could not be run. */
const FAILED_TO_START = new RegExp(`^(?:exit code (?:1|-\\d+)|${NO_PROCESS})$`);
const BACKOFF_MS_MAX = 30_000;
/** Whoever lived for so long was well: the next one is started at once again. */
const STABLE_AFTER_MS = 60_000;
/** How long a rolling restart waits for one old worker before it goes on with the next. */
const REPLACEMENT_WAIT_MS = 10_000;

/** The workers: as many as there shall be, whatever becomes of single ones. */
export class WorkerSupervisor {
  readonly #deps: Required<WorkerSupervisorDeps>;
  /** In the order they came. */
  readonly #workers = new Map<WorkerProcess, "on trial" | "serving" | "leaving">();
  /** Of workers that run, and of those whose journals are still being read. */
  readonly #slots = new Set<number>();
  /** Of workers that ended and whose replacements wait for their turn: they end what was left there. */
  readonly #reservedSlots = new Set<number>();
  readonly #watchers = new Map<WorkerProcess, Promise<void>>();
  readonly #stopSignal = Promise.withResolvers<void>();
  #isStopping = false;
  #rollingRestart: Promise<void> | undefined;
  #restartRequested = false;
  /** Workers in a row that ended soon after their start. */
  #earlyExits = 0;

  constructor(deps: WorkerSupervisorDeps) {
    this.#deps = { backoffBaseMs: 250, isSlotReserved: () => false, ...deps };
  }

  /** The first worker alone, which says where the gateway is; then all others. */
  async start(first: (up: StartupInfo) => void): Promise<void> {
    const up = await this.#spawn().ready.catch((error: unknown) => {
      if (!this.#isStopping) throw error;
    });
    if (up === undefined) return;
    first(up);
    const { count, log } = this.#deps;
    await Promise.all(Array.from({ length: count - 1 }, () => this.#spawnUntilReady(0)));
    if (!this.#isStopping) log.info({ workers: count }, "all workers serve");
  }

  /** A new worker serves before an old one ends, one after the other. Asked again meanwhile, it is done once more. */
  restart(): Promise<void> {
    if (this.#rollingRestart !== undefined) this.#restartRequested = true;
    this.#rollingRestart ??= this.#runRollingRestart().finally(() => {
      this.#rollingRestart = undefined;
    });
    return this.#rollingRestart;
  }

  /** All of them finish what they have begun, and end. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#stopSignal.resolve();
    for (const hand of this.#workers.keys()) this.#drain(hand, "no");
    while (this.#watchers.size > 0) await Promise.all(this.#watchers.values());
  }

  /** `failures`: heirs before this one that did not end what was left in the slot. */
  #spawn(own?: number, failures = 0): WorkerProcess {
    const isTaken = (slot: number) =>
      this.#slots.has(slot) || this.#deps.isSlotReserved(slot) || (slot !== own && this.#reservedSlots.has(slot));
    let slot = own ?? 1;
    while (isTaken(slot)) slot += 1;
    this.#slots.add(slot);
    const startedMs = this.#deps.clock.monotonicMs();
    const hand = this.#trySpawn(slot);
    this.#workers.set(hand, "serving");
    // Who asked hears of it; a replacement is tried again below.
    hand.ready.catch(() => undefined);
    const end = this.#watch(hand, startedMs, failures).finally(() => this.#watchers.delete(hand));
    this.#watchers.set(hand, end);
    return hand;
  }

  /** Where the machine has no process to give, a worker that has ended already. */
  #trySpawn(slot: number): WorkerProcess {
    try {
      return this.#deps.spawn(slot);
    } catch (error) {
      this.#deps.log.error({ worker: slot, err: error }, "a process of a worker could not be made");
      const [ready, exited] = [Promise.reject(error), Promise.resolve(NO_PROCESS)];
      return { slot, pid: undefined, ready, exited, drain: () => undefined, kill: () => undefined };
    }
  }

  async #watch(hand: WorkerProcess, startedMs: number, failures: number): Promise<void> {
    const { slot, pid } = hand;
    const how = await hand.exited;
    const did = this.#workers.get(hand);
    const wasReady = await hand.ready.then(
      () => true,
      () => false,
    );
    this.#workers.delete(hand);
    const buried = await this.#deps.recover(hand);
    const hasBegun = did === "leaving" || (did === "on trial" && !FAILED_TO_START.test(how));
    const isFollowed = hasBegun && buried === "left" && how !== CLEAN_EXIT && !this.#isStopping;
    if (isFollowed) {
      this.#deps.log.error(
        { worker: slot, pid, how },
        "what a worker left is not booked yet: another one comes for it",
      );
      if (failures > 0) await this.#backOff(failures);
    }
    this.#slots.delete(slot);
    if (isFollowed) this.#spawnRecoveryWorker(slot, failures);
    // One that never served is the business of whoever asked for it.
    if (did === "serving" && wasReady && !this.#isStopping) {
      this.#deps.log.error({ worker: slot, pid, how }, "a worker ended and is replaced");
      const livedMs = this.#deps.clock.monotonicMs() - startedMs;
      this.#earlyExits = livedMs > STABLE_AFTER_MS ? 0 : this.#earlyExits + 1;
      await this.#spawnUntilReady(this.#earlyExits - 1, slot);
    }
  }

  /** One more worker, however often it takes; `failures` before this one make it wait. */
  async #spawnUntilReady(failures: number, left?: number): Promise<void> {
    if (left !== undefined) this.#reservedSlots.add(left);
    for (let [failed, slot] = [failures, left]; ; failed += 1) {
      if (failed > 0) await this.#backOff(failed);
      if (this.#isStopping) return;
      const hand = this.#spawn(slot);
      this.#reservedSlots.delete(hand.slot);
      const isReady = await hand.ready.then(
        () => true,
        () => false,
      );
      if (isReady || this.#isStopping) return;
      this.#deps.log.error({ worker: hand.slot }, "a new worker did not start: it is tried again");
      // In the same slot, where somebody has to end what was left: it is free once this one is gone.
      slot = hand.slot;
      this.#reservedSlots.add(slot);
      await this.#watchers.get(hand);
    }
  }

  /** Nobody is missing, but somebody has to end what was left in the slot, and leaves then. */
  #spawnRecoveryWorker(slot: number, failures: number): void {
    if (this.#isStopping) return;
    const heir = this.#spawn(slot, failures + 1);
    this.#workers.set(heir, "leaving");
    heir.ready.then(
      () => this.#drain(heir, "yes"),
      () => undefined,
    );
  }

  async #backOff(failures: number): Promise<void> {
    const waitMs = exponentialBackoffMs(failures - 1, this.#deps.backoffBaseMs, BACKOFF_MS_MAX);
    await Promise.race([this.#stopSignal.promise, new Promise((resolve) => setTimeout(resolve, waitMs).unref())]);
  }

  async #runRollingRestart(): Promise<void> {
    const { log } = this.#deps;
    do {
      this.#restartRequested = false;
      const old = [...this.#workers].filter(([, does]) => does === "serving").map(([hand]) => hand);
      log.info({ workers: old.length }, "the workers are restarted, one after the other");
      for (const hand of old) {
        // One that still starts is awaited by whoever asked for it.
        await hand.ready.catch(() => this.#watchers.get(hand));
        if (this.#isStopping) return;
        // One that died meanwhile has its successor already.
        if (!this.#workers.has(hand)) continue;
        const fresh = this.#spawn();
        this.#workers.set(fresh, "on trial");
        try {
          await fresh.ready;
        } catch {
          log.error({ worker: fresh.slot }, "a new worker did not start: the old ones go on, and nothing is restarted");
          return;
        }
        if (this.#isStopping) return;
        this.#workers.set(fresh, "serving");
        // The old one may have died meanwhile: then it has its successor, and there is one too many.
        const last = this.#workers.has(hand) ? hand : fresh;
        this.#drain(last, "yes");
        await Promise.race([last.exited, new Promise((resolve) => setTimeout(resolve, REPLACEMENT_WAIT_MS).unref())]);
      }
      log.info({ workers: old.length }, "the workers were restarted");
    } while (this.#restartRequested && !this.#isStopping);
  }

  #drain(hand: WorkerProcess, lingering: "no" | "yes"): void {
    this.#workers.set(hand, "leaving");
    hand.drain(lingering);
    const { exitTimeoutMs, log } = this.#deps;
    const late = setTimeout(() => {
      log.error({ worker: hand.slot, pid: hand.pid }, "a worker did not end in time and is killed");
      hand.kill();
    }, exitTimeoutMs);
    void hand.exited.then(() => clearTimeout(late));
  }
}
