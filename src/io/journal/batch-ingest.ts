import path from "node:path";
import {
  decodeBatch,
  encodeBatch,
  type RecordBatch,
  RecordRejectedError,
  type RecordSink,
} from "../../domain/record/record-batch.ts";
import type { Log } from "../../kit/log.ts";
import { REJECTED_FILE } from "./dead-letters.ts";
import type { Disk } from "./disk.ts";

const TEXTS_MAX = 500;

/** What can never be stored. */
export type DeadLetter = { readonly text: string; readonly why: string };

/** Sends records to SQL and sets those aside that it can never take, so that one of them does not hold up the rest. */
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

  /** Gives back those that SQL can never take: they are set aside when everything else is where it belongs. */
  async ingestTexts(records: readonly string[]): Promise<DeadLetter[]> {
    const refused: DeadLetter[] = [];
    for (let at = 0; at < records.length; at += TEXTS_MAX)
      refused.push(...(await this.#rejectedIn(encodeBatch(records.slice(at, at + TEXTS_MAX)))));
    return refused;
  }

  async ingest(batch: RecordBatch): Promise<void> {
    await this.appendDeadLetters(await this.#rejectedIn(batch));
  }

  async #rejectedIn(batch: RecordBatch): Promise<DeadLetter[]> {
    try {
      await this.#sink.ingestBatch(batch);
      return [];
    } catch (error) {
      if (!(error instanceof RecordRejectedError)) throw error;
      const { bytes, bounds } = batch;
      if (bounds.length === 2) return this.#confirmRejection(batch);
      const half = 2 * Math.ceil(bounds.length / 4);
      const first = await this.#rejectedIn({ bytes, bounds: bounds.slice(0, half) });
      return [...first, ...(await this.#rejectedIn({ bytes, bounds: bounds.slice(half) }))];
    }
  }

  /** Setting a record aside is for good: the store is asked once more. */
  async #confirmRejection(batch: RecordBatch): Promise<DeadLetter[]> {
    try {
      await this.#sink.ingestBatch(batch);
      return [];
    } catch (error) {
      if (!(error instanceof RecordRejectedError)) throw error;
      return decodeBatch(batch).map((text) => ({ text, why: error.message }));
    }
  }

  /** Kept in a file of its own for a person to look at: nothing of money is thrown away. */
  async appendDeadLetters(refused: readonly DeadLetter[]): Promise<void> {
    const file = path.join(this.#dir, REJECTED_FILE);
    for (const { text, why } of refused) {
      await this.#disk.append(file, `${JSON.stringify({ why, text })}\n`);
      this.#log.error({ why, file }, "a record cannot be stored and was set aside");
    }
  }
}
