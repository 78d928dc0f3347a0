import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";

export const REJECTED_FILE = "rejected.jsonl";
/** A person gives the file this name when its records are to be sent once more. */
export const RETRY_FILE = "again.jsonl";
const DAMAGED = /\.journal\.damaged$/;
const NEWLINE = 10;

/** What waits for a person: records that the store did not take, and segments that could not be read to their end. */
export type DeadLetterCount = {
  readonly records: number;
  readonly segments: number;
  readonly files: readonly string[];
};

/** Looks for it whenever somebody asks: it is there until it is taken away, by whichever process it was set aside. */
export class DeadLetterScanner {
  readonly #folders: () => readonly string[];
  readonly #counted = new Map<string, { readonly version: string; readonly records: number }>();

  constructor(folders: () => readonly string[]) {
    this.#folders = folders;
  }

  count(): DeadLetterCount {
    const all = this.#folders().flatMap((folder) => namesIn(folder).map((name) => path.join(folder, name)));
    const rejected = all.filter((file) => path.basename(file) === REJECTED_FILE);
    const damaged = all.filter((file) => DAMAGED.test(file));
    const records = rejected.reduce((sum, file) => sum + this.#recordsIn(file), 0);
    return { records, segments: damaged.length, files: [...rejected, ...damaged] };
  }

  /** One in each line, counted anew when the file has changed. */
  #recordsIn(file: string): number {
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat === undefined) return 0;
    const version = `${stat.size} ${stat.mtimeMs}`;
    const known = this.#counted.get(file);
    if (known?.version === version) return known.records;
    const records = readFileSync(file).reduce((sum, byte) => (byte === NEWLINE ? sum + 1 : sum), 0);
    this.#counted.set(file, { version, records });
    return records;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
