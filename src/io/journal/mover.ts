import path from "node:path";
import { RecordRejected, type RecordSink } from "../../domain/record/ingest.ts";
import type { Disk } from "./disk.ts";
import type { JournalLog } from "./types.ts";

export const REJECTED_FILE = "rejected.jsonl";

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

  async move(records: readonly string[]): Promise<void> {
    try {
      await this.#sink.ingestJson(records);
    } catch (error) {
      if (!(error instanceof RecordRejected)) throw error;
      const [first, ...others] = records;
      if (first !== undefined && others.length === 0) return this.setAside(first, error.message);
      const half = Math.ceil(records.length / 2);
      await this.move(records.slice(0, half));
      await this.move(records.slice(half));
    }
  }

  /** Kept in a file of its own for a person to look at: nothing of money is thrown away. */
  async setAside(text: string, why: string): Promise<void> {
    const file = path.join(this.#dir, REJECTED_FILE);
    await this.#disk.append(file, `${JSON.stringify({ why, text })}\n`);
    this.#log.error({ why, file }, "a record cannot be stored and was set aside");
  }
}
