import { exponentialBackoffMs } from "../../kit/backoff.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { BatchIngest } from "./batch-ingest.ts";
import type { IngestableJournal } from "./segmented-journal.ts";

export type IngesterSettings = {
  readonly journal: IngestableJournal;
  readonly ingest: BatchIngest;
  readonly clock: Clock;
  readonly log: Log;
  readonly batchMax?: number;
  readonly everyMs?: number;
  readonly backoffFirstMs?: number;
  readonly backoffMaxMs?: number;
};

/**
 * Moves finished records from the journal to SQL, in batches, one at a time. While SQL is away it tries again, ever
 * more slowly, and the journal keeps everything; what was moved twice counts once.
 */
export class Ingester {
  readonly #settings: Required<IngesterSettings>;
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** What is waited for: each says whether it is in SQL. */
  readonly #awaited = new Set<() => boolean>();
  #failures = 0;
  #stopped = false;

  constructor(settings: IngesterSettings) {
    this.#settings = { batchMax: 2000, everyMs: 250, backoffFirstMs: 100, backoffMaxMs: 10_000, ...settings };
  }

  /** Begins to follow the journal. */
  start(): void {
    const { journal, batchMax, everyMs } = this.#settings;
    journal.onRecordsFinished(() => {
      // A full batch does not wait for the clock, unless SQL is known to be away.
      this.#arm(journal.pending >= batchMax && this.#failures === 0 ? 0 : everyMs);
    });
  }

  /** Resolves when everything that was finished before the call is in SQL; rejects when SQL does not take it now. */
  async flush(): Promise<void> {
    const { journal } = this.#settings;
    await journal.whenWritten();
    await this.#moveUntil(journal.ingestWatermark());
  }

  async #moveUntil(isMoved: () => boolean): Promise<void> {
    this.#awaited.add(isMoved);
    try {
      // A run that is under way may have taken its last look before the newest record came.
      await this.#running?.catch(() => {});
      await this.#run();
    } finally {
      this.#awaited.delete(isMoved);
    }
  }

  /** Moves what can be moved and stops; what SQL does not take stays in the journal for the next start: `left`. */
  async stop(): Promise<"done" | "left"> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    const { log, journal } = this.#settings;
    try {
      await journal.whenWritten();
      // Nothing is enough: it ends when there is nothing left.
      await this.#moveUntil(() => false);
      return "done";
    } catch (error) {
      log.error({ err: error, records: journal.pending }, "SQL took no records at the end: they stay in the journal");
      return "left";
    }
  }

  #arm(afterMs: number): void {
    if (this.#stopped || this.#running !== undefined) return;
    if (this.#timer !== undefined) {
      if (afterMs > 0) return;
      clearTimeout(this.#timer);
    }
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#run().catch(() => {});
    }, afterMs);
  }

  #run(): Promise<void> {
    this.#running ??= this.#moveAll().then(
      () => this.#succeeded(),
      (error) => this.#failed(error),
    );
    return this.#running;
  }

  #succeeded(): void {
    this.#running = undefined;
    this.#failures = 0;
    if (this.#settings.journal.pending > 0) this.#arm(this.#settings.everyMs);
  }

  #failed(error: unknown): never {
    this.#running = undefined;
    const { journal, log, clock, backoffFirstMs, backoffMaxMs } = this.#settings;
    const fullMs = exponentialBackoffMs(this.#failures, backoffFirstMs, backoffMaxMs);
    this.#failures += 1;
    // Between half and all of it, so that instances that failed together do not come back together.
    const waitMs = fullMs * (0.5 + 0.5 * (clock.monotonicMs() % 1));
    log.warn(
      { err: error, records: journal.pending, waitMs },
      "the store does not take records now: the journal keeps them",
    );
    this.#arm(waitMs);
    throw error;
  }

  async #moveAll(): Promise<void> {
    const { journal, ingest, batchMax } = this.#settings;
    for (;;) {
      const load = journal.nextBatch(batchMax);
      if (load === undefined) return;
      await ingest.ingest(load.batch);
      journal.markIngested(load);
      // What came meanwhile is few: it waits for more of its kind, because a commit costs as much for one as for many.
      if (this.#awaited.values().every((isMoved) => isMoved()) && journal.pending < batchMax) return;
    }
  }
}
