import { exponentialBackoffMs } from "../../kit/backoff.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { Up } from "./protocol.ts";

/** One worker process, from its start to its end. */
export type Hand = {
  readonly slot: number;
  readonly pid: number | undefined;
  /** Resolves when it serves; rejects when it ended before. */
  readonly ready: Promise<Up>;
  /** How it ended, once nothing of it is left. */
  readonly gone: Promise<string>;
  drain(lingering: "no" | "yes"): void;
  kill(): void;
};

export type Buried = "booked" | "left";

export type CrewDeps = {
  readonly count: number;
  /** Starts a process. */
  readonly hire: (slot: number) => Hand;
  /**
   * Books what a worker that has ended left behind; again and again, until it succeeds. `left`: whoever comes next into its
   * slot does.
   */
  readonly bury: (hand: Hand) => Promise<Buried>;
  readonly clock: Clock;
  readonly log: Log;
  /** Nobody comes into this slot now, although no worker is there. */
  readonly isTaken?: (slot: number) => boolean;
  /** A worker that takes longer than this to end is killed. */
  readonly endsWithinMs: number;
  readonly backoffFirstMs?: number;
};

/** How a worker ends that has finished all that it had begun, and that left nothing. */
const WELL = "exit code 0";
const NO_PROCESS = "no process";
/** How one ends by itself that could not start: it had begun nothing. Below zero its program could not be run. */
const NOT_STARTED = new RegExp(`^(?:exit code (?:1|-\\d+)|${NO_PROCESS})$`);
const BACKOFF_MS_MAX = 30_000;
/** Whoever lived for so long was well: the next one is started at once again. */
const WELL_AFTER_MS = 60_000;
/** How long a rolling restart waits for one old worker before it goes on with the next. */
const ONE_AT_A_TIME_MS = 10_000;

/** The workers: as many as there shall be, whatever becomes of single ones. */
export class Crew {
  readonly #deps: Required<CrewDeps>;
  /** In the order they came. */
  readonly #hands = new Map<Hand, "on trial" | "serving" | "leaving">();
  /** Of workers that run, and of those whose journals are still being read. */
  readonly #slots = new Set<number>();
  /** Of workers that ended and whose replacements wait for their turn: they end what was left there. */
  readonly #kept = new Set<number>();
  readonly #ends = new Map<Hand, Promise<void>>();
  readonly #stopped = Promise.withResolvers<void>();
  #stopping = false;
  #rolling: Promise<void> | undefined;
  #rollAgain = false;
  /** Workers in a row that ended soon after their start. */
  #quickEnds = 0;

  constructor(deps: CrewDeps) {
    this.#deps = { backoffFirstMs: 250, isTaken: () => false, ...deps };
  }

  /** The first worker alone, which says where the gateway is; then all others. */
  async start(first: (up: Up) => void): Promise<void> {
    const up = await this.#hire().ready.catch((error: unknown) => {
      if (!this.#stopping) throw error;
    });
    if (up === undefined) return;
    first(up);
    const { count, log } = this.#deps;
    await Promise.all(Array.from({ length: count - 1 }, () => this.#fill(0)));
    if (!this.#stopping) log.info({ workers: count }, "all workers serve");
  }

  /** A new worker serves before an old one ends, one after the other. Asked again meanwhile, it is done once more. */
  restart(): Promise<void> {
    if (this.#rolling !== undefined) this.#rollAgain = true;
    this.#rolling ??= this.#roll().finally(() => {
      this.#rolling = undefined;
    });
    return this.#rolling;
  }

  /** All of them finish what they have begun, and end. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#stopped.resolve();
    for (const hand of this.#hands.keys()) this.#leave(hand, "no");
    while (this.#ends.size > 0) await Promise.all(this.#ends.values());
  }

  /** `failures`: heirs before this one that did not end what was left in the slot. */
  #hire(own?: number, failures = 0): Hand {
    const isTaken = (slot: number) =>
      this.#slots.has(slot) || this.#deps.isTaken(slot) || (slot !== own && this.#kept.has(slot));
    let slot = own ?? 1;
    while (isTaken(slot)) slot += 1;
    this.#slots.add(slot);
    const startedMs = this.#deps.clock.monotonicMs();
    const hand = this.#begun(slot);
    this.#hands.set(hand, "serving");
    // Who asked hears of it; a replacement is tried again below.
    hand.ready.catch(() => undefined);
    const end = this.#watch(hand, startedMs, failures).finally(() => this.#ends.delete(hand));
    this.#ends.set(hand, end);
    return hand;
  }

  /** Where the machine has no process to give, a worker that has ended already. */
  #begun(slot: number): Hand {
    try {
      return this.#deps.hire(slot);
    } catch (error) {
      this.#deps.log.error({ worker: slot, err: error }, "a process of a worker could not be made");
      const [ready, gone] = [Promise.reject(error), Promise.resolve(NO_PROCESS)];
      return { slot, pid: undefined, ready, gone, drain: () => undefined, kill: () => undefined };
    }
  }

  async #watch(hand: Hand, startedMs: number, failures: number): Promise<void> {
    const { slot, pid } = hand;
    const how = await hand.gone;
    const did = this.#hands.get(hand);
    const wasReady = await hand.ready.then(
      () => true,
      () => false,
    );
    this.#hands.delete(hand);
    const buried = await this.#deps.bury(hand);
    const hasBegun = did === "leaving" || (did === "on trial" && !NOT_STARTED.test(how));
    const isFollowed = hasBegun && buried === "left" && how !== WELL && !this.#stopping;
    if (isFollowed) {
      this.#deps.log.error(
        { worker: slot, pid, how },
        "what a worker left is not booked yet: another one comes for it",
      );
      if (failures > 0) await this.#pause(failures);
    }
    this.#slots.delete(slot);
    if (isFollowed) this.#follow(slot, failures);
    // One that never served is the business of whoever asked for it.
    if (did === "serving" && wasReady && !this.#stopping) {
      this.#deps.log.error({ worker: slot, pid, how }, "a worker ended and is replaced");
      const livedMs = this.#deps.clock.monotonicMs() - startedMs;
      this.#quickEnds = livedMs > WELL_AFTER_MS ? 0 : this.#quickEnds + 1;
      await this.#fill(this.#quickEnds - 1, slot);
    }
  }

  /** One more worker, however often it takes; `failures` before this one make it wait. */
  async #fill(failures: number, left?: number): Promise<void> {
    if (left !== undefined) this.#kept.add(left);
    for (let [failed, slot] = [failures, left]; ; failed += 1) {
      if (failed > 0) await this.#pause(failed);
      if (this.#stopping) return;
      const hand = this.#hire(slot);
      this.#kept.delete(hand.slot);
      const isReady = await hand.ready.then(
        () => true,
        () => false,
      );
      if (isReady || this.#stopping) return;
      this.#deps.log.error({ worker: hand.slot }, "a new worker did not start: it is tried again");
      // In the same slot, where somebody has to end what was left: it is free once this one is gone.
      slot = hand.slot;
      this.#kept.add(slot);
      await this.#ends.get(hand);
    }
  }

  /** Nobody is missing, but somebody has to end what was left in the slot, and leaves then. */
  #follow(slot: number, failures: number): void {
    if (this.#stopping) return;
    const heir = this.#hire(slot, failures + 1);
    this.#hands.set(heir, "leaving");
    heir.ready.then(
      () => this.#leave(heir, "yes"),
      () => undefined,
    );
  }

  async #pause(failures: number): Promise<void> {
    const waitMs = exponentialBackoffMs(failures - 1, this.#deps.backoffFirstMs, BACKOFF_MS_MAX);
    await Promise.race([this.#stopped.promise, new Promise((resolve) => setTimeout(resolve, waitMs).unref())]);
  }

  async #roll(): Promise<void> {
    const { log } = this.#deps;
    do {
      this.#rollAgain = false;
      const old = [...this.#hands].filter(([, does]) => does === "serving").map(([hand]) => hand);
      log.info({ workers: old.length }, "the workers are restarted, one after the other");
      for (const hand of old) {
        // One that still starts is awaited by whoever asked for it.
        await hand.ready.catch(() => this.#ends.get(hand));
        if (this.#stopping) return;
        // One that died meanwhile has its successor already.
        if (!this.#hands.has(hand)) continue;
        const fresh = this.#hire();
        this.#hands.set(fresh, "on trial");
        try {
          await fresh.ready;
        } catch {
          log.error({ worker: fresh.slot }, "a new worker did not start: the old ones go on, and nothing is restarted");
          return;
        }
        if (this.#stopping) return;
        this.#hands.set(fresh, "serving");
        // The old one may have died meanwhile: then it has its successor, and there is one too many.
        const last = this.#hands.has(hand) ? hand : fresh;
        this.#leave(last, "yes");
        await Promise.race([last.gone, new Promise((resolve) => setTimeout(resolve, ONE_AT_A_TIME_MS).unref())]);
      }
      log.info({ workers: old.length }, "the workers were restarted");
    } while (this.#rollAgain && !this.#stopping);
  }

  #leave(hand: Hand, lingering: "no" | "yes"): void {
    this.#hands.set(hand, "leaving");
    hand.drain(lingering);
    const { endsWithinMs, log } = this.#deps;
    const late = setTimeout(() => {
      log.error({ worker: hand.slot, pid: hand.pid }, "a worker did not end in time and is killed");
      hand.kill();
    }, endsWithinMs);
    void hand.gone.then(() => clearTimeout(late));
  }
}
