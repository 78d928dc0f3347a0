import path from "node:path";
import {
  decodeBatch,
  encodeBatch,
  FULL_BATCH_RECORDS,
  type RecordBatch,
  RecordRejectedError,
  type RecordSink,
} from "../../domain/record/record-batch.ts";
import type { Log } from "../../kit/log.ts";
import { REJECTED_FILE } from "./dead-letters.ts";
import type { Disk } from "./disk.ts";

/** A record or journal entry that can never be stored. */
export type DeadLetter = { readonly text: string; readonly why: string };

/** Bisects rejected batches to find their dead letters, so that one record does not block the rest. */
export class BatchIngest {
  readonly #sink: RecordSink;
  readonly #dir: string;
  readonly #disk: Disk;
  readonly #log: Log;

  constructor(sink: RecordSink, dir: string, disk: Disk, log: Log) {
    this.#sink = sink;
    this.#dir = dir;
    this.#disk = disk;
    this.#log = log;
  }

  /** Returns the dead letters: the caller appends them when everything else is in SQL. */
  async ingestTexts(records: readonly string[]): Promise<DeadLetter[]> {
    const rejected: DeadLetter[] = [];
    for (let at = 0; at < records.length; at += FULL_BATCH_RECORDS)
      rejected.push(...(await this.#rejectedIn(encodeBatch(records.slice(at, at + FULL_BATCH_RECORDS)))));
    return rejected;
  }

  /** After the store rejected a batch: ingests its other records, and appends the rejected ones to the dead letters. */
  async ingestRejected(batch: RecordBatch): Promise<void> {
    await this.appendDeadLetters(await this.#bisect(batch));
  }

  async #rejectedIn(batch: RecordBatch): Promise<DeadLetter[]> {
    try {
      await this.#sink.ingestBatch(batch);
      return [];
    } catch (error) {
      if (!(error instanceof RecordRejectedError)) throw error;
      return this.#bisect(batch);
    }
  }

  async #bisect(batch: RecordBatch): Promise<DeadLetter[]> {
    const { bytes, bounds } = batch;
    if (bounds.length === 2) return this.#confirmRejection(batch);
    const half = 2 * Math.ceil(bounds.length / 4);
    const first = await this.#rejectedIn({ bytes, bounds: bounds.slice(0, half) });
    return [...first, ...(await this.#rejectedIn({ bytes, bounds: bounds.slice(half) }))];
  }

  /** A dead letter is final, so the record is sent once more. */
  async #confirmRejection(batch: RecordBatch): Promise<DeadLetter[]> {
    try {
      await this.#sink.ingestBatch(batch);
      return [];
    } catch (error) {
      if (!(error instanceof RecordRejectedError)) throw error;
      return decodeBatch(batch).map((text) => ({ text, why: error.message }));
    }
  }

  /** An operator decides what becomes of them: no charge is thrown away. */
  async appendDeadLetters(rejected: readonly DeadLetter[]): Promise<void> {
    const file = path.join(this.#dir, REJECTED_FILE);
    for (const { text, why } of rejected) {
      await this.#disk.append(file, `${JSON.stringify({ why, text })}\n`);
      this.#log.error({ why, file }, "journal: record rejected, appended to dead letters");
    }
  }
}
