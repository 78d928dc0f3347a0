import { exponentialBackoffMs } from "../../kit/backoff.ts";
import { cancelTimer, type Timer, type Timers } from "../../kit/timers.ts";
import type { Posting } from "./posting.ts";

export type OutgoingParts<T> = {
  /** More than these are not kept: what comes then is dropped, and counted. */
  readonly itemsMax: number;
  readonly batchMax: number;
  readonly everyMs: number;
  readonly timers: Timers;
  post(batch: readonly T[], abort: AbortSignal): Promise<Posting>;
  /** Told of every try to post. */
  posted(result: Posting): void;
  dropped(count: number): void;
};

const WAIT_FIRST_MS = 1_000;
const WAIT_MAX_MS = 30_000;

/** A bounded queue that is sent in batches in the background, one at a time. Adding to it never waits. */
export class Outgoing<T> {
  readonly #parts: OutgoingParts<T>;
  readonly #stopping = new AbortController();
  #items: T[] = [];
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #failures = 0;
  #isStopped = false;

  constructor(parts: OutgoingParts<T>) {
    this.#parts = parts;
  }

  add(item: T): void {
    if (this.#isStopped || this.#items.length >= this.#parts.itemsMax) {
      this.#parts.dropped(1);
      return;
    }
    this.#items.push(item);
    if (this.#items.length === this.#parts.batchMax && this.#failures === 0) this.#run();
    else this.#arm(this.#parts.everyMs);
  }

  /** Sends what is there, for at most so long; the rest is dropped. */
  async stop(withinMs: number): Promise<void> {
    this.#isStopped = true;
    cancelTimer(this.#timer);
    const deadline = this.#parts.timers.after(withinMs, () => this.#stopping.abort());
    await this.#running;
    if (this.#failures === 0) await this.#sendAll();
    cancelTimer(deadline);
    if (this.#items.length > 0) this.#parts.dropped(this.#items.length);
    this.#items = [];
  }

  #arm(afterMs: number): void {
    if (this.#timer !== undefined || this.#running !== undefined || this.#isStopped) return;
    this.#timer = this.#parts.timers.after(afterMs, () => this.#run());
  }

  #run(): void {
    cancelTimer(this.#timer);
    this.#timer = undefined;
    if (this.#running !== undefined) return;
    this.#running = this.#sendAll().finally(() => {
      this.#running = undefined;
      if (this.#items.length > 0) this.#arm(this.#waitMs());
    });
  }

  #waitMs(): number {
    return this.#failures === 0
      ? this.#parts.everyMs
      : exponentialBackoffMs(this.#failures - 1, WAIT_FIRST_MS, WAIT_MAX_MS);
  }

  /** Until nothing is left, or somebody has to be waited for. */
  async #sendAll(): Promise<void> {
    const { batchMax, post, posted, dropped } = this.#parts;
    while (this.#items.length > 0 && !this.#stopping.signal.aborted) {
      const batch = this.#items.slice(0, batchMax);
      const result = await post(batch, this.#stopping.signal).catch(() => "refused" as const);
      posted(result);
      if (result === "later") {
        this.#failures += 1;
        return;
      }
      this.#failures = 0;
      this.#items.splice(0, batch.length);
      if (result === "refused") dropped(batch.length);
    }
  }
}
