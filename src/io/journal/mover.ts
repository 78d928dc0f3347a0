import path from "node:path";
import { batchOf, type RecordBatch, RecordRejected, type RecordSink, textsOf } from "../../domain/record/ingest.ts";
import type { Disk } from "./disk.ts";
import { REJECTED_FILE } from "./set-aside.ts";
import type { JournalLog } from "./types.ts";

const TEXTS_MAX = 500;

/** Sends records to SQL and sets those aside that it can never take, so that one of them does not hold up the rest. */
export class Mover {
  readonly #sink: RecordSink;
  readonly #dir: string;
  readonly #disk: Disk;
  readonly #log: JournalLog;

  constructor(sink: RecordSink, dir: string, disk: Disk, log: JournalLog) {
    this.#sink = sink;
    this.#dir = dir;
    this.#disk = disk;
    this.#log = log;
  }

  async moveTexts(records: readonly string[]): Promise<void> {
    for (let at = 0; at < records.length; at += TEXTS_MAX) await this.move(batchOf(records.slice(at, at + TEXTS_MAX)));
  }

  async move(batch: RecordBatch): Promise<void> {
    try {
      await this.#sink.ingestBatch(batch);
    } catch (error) {
      if (!(error instanceof RecordRejected)) throw error;
      const { bytes, bounds } = batch;
      if (bounds.length === 2) return this.#moveLast(batch);
      const half = 2 * Math.ceil(bounds.length / 4);
      await this.move({ bytes, bounds: bounds.slice(0, half) });
      await this.move({ bytes, bounds: bounds.slice(half) });
    }
  }

  /** Setting a record aside is for good: the store is asked once more. */
  async #moveLast(batch: RecordBatch): Promise<void> {
    try {
      await this.#sink.ingestBatch(batch);
    } catch (error) {
      if (!(error instanceof RecordRejected)) throw error;
      for (const text of textsOf(batch)) await this.setAside(text, error.message);
    }
  }

  /** Kept in a file of its own for a person to look at: nothing of money is thrown away. */
  async setAside(text: string, why: string): Promise<void> {
    const file = path.join(this.#dir, REJECTED_FILE);
    await this.#disk.append(file, `${JSON.stringify({ why, text })}\n`);
    this.#log.error({ why, file }, "a record cannot be stored and was set aside");
  }
}
