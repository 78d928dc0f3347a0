import { exponentialBackoffMs } from "../../kit/backoff.ts";
import { cancelTimer, type Timer, type Timers } from "../../kit/timers.ts";
import type { ExportResult } from "./export-result.ts";

export type BatchExporterDeps<T> = {
  /** Items above this are dropped and counted. */
  readonly queueMax: number;
  readonly batchMax: number;
  readonly intervalMs: number;
  readonly timers: Timers;
  send(batch: readonly T[], abort: AbortSignal): Promise<ExportResult>;
  onExport(result: ExportResult): void;
  onDrop(count: number): void;
};

const BACKOFF_BASE_MS = 1_000;
const BACKOFF_MAX_MS = 30_000;

/** A bounded queue that is sent in batches, one at a time. Adding never blocks. */
export class BatchExporter<T> {
  readonly #deps: BatchExporterDeps<T>;
  readonly #stopping = new AbortController();
  #queue: T[] = [];
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #failures = 0;
  #isStopped = false;

  constructor(parts: BatchExporterDeps<T>) {
    this.#deps = parts;
  }

  add(item: T): void {
    if (this.#isStopped || this.#queue.length >= this.#deps.queueMax) {
      this.#deps.onDrop(1);
      return;
    }
    this.#queue.push(item);
    if (this.#queue.length === this.#deps.batchMax && this.#failures === 0) this.#run();
    else this.#schedule(this.#deps.intervalMs);
  }

  /** Flushes the queue for at most `withinMs`; the rest is dropped. */
  async stop(withinMs: number): Promise<void> {
    this.#isStopped = true;
    cancelTimer(this.#timer);
    const deadline = this.#deps.timers.after(withinMs, () => this.#stopping.abort());
    await this.#running;
    if (this.#failures === 0) await this.#sendAll();
    cancelTimer(deadline);
    if (this.#queue.length > 0) this.#deps.onDrop(this.#queue.length);
    this.#queue = [];
  }

  #schedule(afterMs: number): void {
    if (this.#timer !== undefined || this.#running !== undefined || this.#isStopped) return;
    this.#timer = this.#deps.timers.after(afterMs, () => this.#run());
  }

  #run(): void {
    cancelTimer(this.#timer);
    this.#timer = undefined;
    if (this.#running !== undefined) return;
    this.#running = this.#sendAll().finally(() => {
      this.#running = undefined;
      if (this.#queue.length > 0) this.#schedule(this.#nextDelayMs());
    });
  }

  #nextDelayMs(): number {
    return this.#failures === 0
      ? this.#deps.intervalMs
      : exponentialBackoffMs(this.#failures - 1, BACKOFF_BASE_MS, BACKOFF_MAX_MS);
  }

  /** Until the queue is empty or the receiver asks for a retry. */
  async #sendAll(): Promise<void> {
    const { batchMax, send, onExport, onDrop } = this.#deps;
    while (this.#queue.length > 0 && !this.#stopping.signal.aborted) {
      const batch = this.#queue.slice(0, batchMax);
      const result = await send(batch, this.#stopping.signal).catch(() => "refused" as const);
      onExport(result);
      if (result === "later") {
        this.#failures += 1;
        return;
      }
      this.#failures = 0;
      this.#queue.splice(0, batch.length);
      if (result === "refused") onDrop(batch.length);
    }
  }
}
