import { doubled } from "../../kit/backoff.ts";
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

export type CrewDeps = {
  readonly count: number;
  /** Starts a process. */
  readonly hire: (slot: number) => Hand;
  /** Books what a worker that has ended left behind; again and again, until it succeeds. */
  readonly bury: (hand: Hand) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  /** A worker that takes longer than this to end is killed. */
  readonly endsWithinMs: number;
  readonly backoffFirstMs?: number;
};

const BACKOFF_MS_MAX = 30_000;
/** Whoever lived for so long was well: the next one is started at once again. */
const WELL_AFTER_MS = 60_000;
/** How long a rolling restart waits for one old worker before it goes on with the next. */
const ONE_AT_A_TIME_MS = 10_000;

/** The workers: as many as there shall be, whatever becomes of single ones. */
export class Crew {
  readonly #deps: Required<CrewDeps>;
  /** In the order they came. */
  readonly #hands = new Map<Hand, "serving" | "leaving">();
  /** Of workers that run, and of those whose journals are still being read. */
  readonly #slots = new Set<number>();
  readonly #ends = new Set<Promise<void>>();
  readonly #stopped = Promise.withResolvers<void>();
  #stopping = false;
  #rolling: Promise<void> | undefined;
  #rollAgain = false;
  /** Workers in a row that ended soon after their start. */
  #quickEnds = 0;

  constructor(deps: CrewDeps) {
    this.#deps = { backoffFirstMs: 250, ...deps };
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
    while (this.#ends.size > 0) await Promise.all(this.#ends);
  }

  #hire(preferred = 1): Hand {
    let slot = preferred;
    while (this.#slots.has(slot)) slot += 1;
    this.#slots.add(slot);
    const startedMs = this.#deps.clock.elapsedMs();
    const hand = this.#deps.hire(slot);
    this.#hands.set(hand, "serving");
    // Who asked hears of it; a replacement is tried again below.
    hand.ready.catch(() => undefined);
    const end = this.#watch(hand, startedMs).finally(() => this.#ends.delete(end));
    this.#ends.add(end);
    return hand;
  }

  async #watch(hand: Hand, startedMs: number): Promise<void> {
    const { slot, pid } = hand;
    const how = await hand.gone;
    const wasServing = this.#hands.get(hand) === "serving";
    const wasReady = await hand.ready.then(
      () => true,
      () => false,
    );
    this.#hands.delete(hand);
    await this.#deps.bury(hand);
    this.#slots.delete(slot);
    // One that never served is the business of whoever asked for it.
    if (wasServing && wasReady && !this.#stopping) {
      this.#deps.log.error({ worker: slot, pid, how }, "a worker ended and is replaced");
      const livedMs = this.#deps.clock.elapsedMs() - startedMs;
      this.#quickEnds = livedMs > WELL_AFTER_MS ? 0 : this.#quickEnds + 1;
      await this.#fill(this.#quickEnds - 1, slot);
    }
  }

  /** One more worker, however often it takes; `failures` before this one make it wait. */
  async #fill(failures: number, slot?: number): Promise<void> {
    for (let failed = failures; ; failed += 1) {
      if (failed > 0) await this.#pause(failed);
      if (this.#stopping) return;
      const hand = this.#hire(slot);
      const isReady = await hand.ready.then(
        () => true,
        () => false,
      );
      if (isReady || this.#stopping) return;
      this.#deps.log.error({ worker: hand.slot }, "a new worker did not start: it is tried again");
    }
  }

  async #pause(failures: number): Promise<void> {
    const waitMs = doubled(failures - 1, this.#deps.backoffFirstMs, BACKOFF_MS_MAX);
    await Promise.race([this.#stopped.promise, new Promise((resolve) => setTimeout(resolve, waitMs).unref())]);
  }

  async #roll(): Promise<void> {
    const { log } = this.#deps;
    do {
      this.#rollAgain = false;
      const old = [...this.#hands].filter(([, does]) => does === "serving").map(([hand]) => hand);
      log.info({ workers: old.length }, "the workers are restarted, one after the other");
      for (const hand of old) {
        if (this.#stopping) return;
        // One that died meanwhile has its successor already.
        if (!this.#hands.has(hand)) continue;
        const fresh = this.#hire();
        try {
          await fresh.ready;
        } catch {
          log.error({ worker: fresh.slot }, "a new worker did not start: the old ones go on, and nothing is restarted");
          return;
        }
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
