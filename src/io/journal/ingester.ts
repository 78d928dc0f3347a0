import { FULL_BATCH_RECORDS, type RecordBatch, RecordRejectedError } from "../../domain/record/record-batch.ts";
import { jitteredBackoffMs } from "../../kit/backoff.ts";
import type { IngesterSettings } from "./ingester-settings.ts";

/**
 * Moves finished records from the journal to SQL, one batch at a time. While SQL is unavailable it retries with backoff,
 * and the journal keeps everything. Ingest is idempotent: a batch that is sent twice counts once.
 */
export class Ingester {
  readonly #settings: Required<IngesterSettings>;
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Watermarks that callers wait for. */
  readonly #watermarks = new Set<() => boolean>();
  #failures = 0;
  #isStopped = false;

  constructor(settings: IngesterSettings) {
    this.#settings = {
      batchMax: FULL_BATCH_RECORDS,
      everyMs: 250,
      backoffFirstMs: 100,
      backoffMaxMs: 10_000,
      ...settings,
    };
  }

  start(): void {
    const { journal, batchMax, everyMs } = this.#settings;
    journal.onRecordsFinished(() => {
      // A full batch is sent at once, unless SQL is failing.
      this.#schedule(journal.pending >= batchMax && this.#failures === 0 ? 0 : everyMs);
    });
  }

  /** Resolves when everything that was finished before the call is in SQL; rejects when SQL fails. */
  async flush(): Promise<void> {
    const { journal } = this.#settings;
    await journal.whenWritten();
    await this.#ingestUntil(journal.ingestWatermark());
  }

  async #ingestUntil(isIngested: () => boolean): Promise<void> {
    this.#watermarks.add(isIngested);
    try {
      // The current run may have read its last batch before the newest record was written.
      await this.#running?.catch(() => {});
      await this.#run();
    } finally {
      this.#watermarks.delete(isIngested);
    }
  }

  /** `left`: SQL failed, and records stay in the journal for the next start. */
  async stop(): Promise<"done" | "left"> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    const { log, journal } = this.#settings;
    try {
      await journal.whenWritten();
      // No watermark: the run ends when nothing is left.
      await this.#ingestUntil(() => false);
      return "done";
    } catch (error) {
      log.error({ err: error, records: journal.pending }, "journal: final ingest failed, records stay in the journal");
      return "left";
    }
  }

  #schedule(afterMs: number): void {
    if (this.#isStopped || this.#running !== undefined) return;
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
    this.#running ??= this.#ingestAll().then(
      () => this.#succeeded(),
      (error) => this.#failed(error),
    );
    return this.#running;
  }

  #succeeded(): void {
    this.#running = undefined;
    this.#failures = 0;
    if (this.#settings.journal.pending > 0) this.#schedule(this.#settings.everyMs);
  }

  #failed(error: unknown): never {
    this.#running = undefined;
    const { journal, log, random, backoffFirstMs, backoffMaxMs } = this.#settings;
    this.#failures += 1;
    journal.isIngestFailing = true;
    const delays = { baseDelayMs: backoffFirstMs, maxDelayMs: backoffMaxMs };
    const waitMs = jitteredBackoffMs(this.#failures, delays, random);
    log.warn({ err: error, records: journal.pending, waitMs }, "journal: ingest failed, retrying");
    this.#schedule(waitMs);
    throw error;
  }

  async #ingestAll(): Promise<void> {
    const { journal, batchMax } = this.#settings;
    for (;;) {
      const next = journal.nextBatch(batchMax);
      if (next === undefined) return;
      await this.#ingest(next.batch);
      journal.markIngested(next);
      journal.isIngestFailing = false;
      // A partial batch waits for more records, because a commit costs the same for one as for many.
      if (this.#watermarks.values().every((isIngested) => isIngested()) && journal.pending < batchMax) return;
    }
  }
  async #ingest(batch: RecordBatch): Promise<void> {
    const { store, ingest } = this.#settings;
    try {
      await store.ingestBatch(batch);
    } catch (error) {
      if (!(error instanceof RecordRejectedError)) throw error;
      await ingest.ingestRejected(batch);
    }
  }
}
