import type { Clock } from "../../kit/clock.ts";
import type { Finished, JournalFile } from "./journal.ts";
import type { Mover } from "./mover.ts";
import { moveInBatches, readSegment } from "./replay.ts";
import type { JournalLog } from "./types.ts";

export type IngesterSettings = {
  readonly journal: JournalFile;
  readonly mover: Mover;
  readonly clock: Clock;
  readonly log: JournalLog;
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
  /** Taken from the journal and not in SQL yet. */
  #inHand: Finished[] = [];
  #failures = 0;
  #stopped = false;

  constructor(settings: IngesterSettings) {
    this.#settings = { batchMax: 500, everyMs: 200, backoffFirstMs: 100, backoffMaxMs: 10_000, ...settings };
  }

  /** Begins to follow the journal. */
  start(): void {
    const { journal, batchMax, everyMs } = this.#settings;
    journal.onFinished((waiting) => {
      // A full batch does not wait for the clock, unless SQL is known to be away.
      this.#arm(waiting >= batchMax && this.#failures === 0 ? 0 : everyMs);
    });
  }

  /** Resolves when everything that was finished before the call is in SQL; rejects when SQL does not take it now. */
  async flush(): Promise<void> {
    await this.#settings.journal.written();
    // A run that is under way may have taken its last look before the newest record came.
    await this.#running?.catch(() => {});
    await this.#run();
  }

  /** Moves what can be moved and stops; what SQL does not take stays in the journal for the next start. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    try {
      await this.flush();
    } catch (error) {
      const { log, journal } = this.#settings;
      log.error({ err: error, records: journal.pending }, "SQL took no records at the end: they stay in the journal");
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
  }

  #failed(error: unknown): never {
    this.#running = undefined;
    const { journal, log, clock, backoffFirstMs, backoffMaxMs } = this.#settings;
    const fullMs = Math.min(backoffMaxMs, backoffFirstMs * 2 ** this.#failures);
    this.#failures += 1;
    // Between half and all of it, so that instances that failed together do not come back together.
    const waitMs = fullMs * (0.5 + 0.5 * (clock.elapsedMs() % 1));
    log.warn({ err: error, records: journal.pending, waitMs }, "SQL does not take records: the journal keeps them");
    this.#arm(waitMs);
    throw error;
  }

  async #moveAll(): Promise<void> {
    const { journal, mover, batchMax } = this.#settings;
    for (;;) {
      if (this.#inHand.length === 0) this.#inHand = journal.take(batchMax);
      const batch = this.#inHand;
      if (batch.length > 0) {
        await mover.move(batch.map(({ recordJson }) => recordJson));
        journal.ingested(batch);
        this.#inHand = [];
      }
      // One of each in turn: under a load that never lets memory run empty, the files are read all the same.
      const segment = journal.segmentToRead();
      if (segment !== undefined) {
        const { done } = readSegment(journal.disk.read(segment.file));
        await moveInBatches(
          mover,
          done.map(({ recordJson }) => recordJson),
        );
        journal.ingestedWhole(segment);
      } else if (batch.length === 0) return;
    }
  }
}
