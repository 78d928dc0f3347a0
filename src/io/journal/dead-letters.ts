import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";

export const REJECTED_FILE = "rejected.jsonl";
/** An operator renames the file to this when its records are to be ingested again at the next start. */
export const RETRY_FILE = "again.jsonl";
const DAMAGED_SEGMENT = /\.journal\.damaged$/;
const NEWLINE = 10;

/** What an operator must look at: records that the store rejected, and segments that could not be read to their end. */
export type DeadLetterCount = {
  readonly records: number;
  readonly segments: number;
  readonly files: readonly string[];
};

/** Counts on demand: an operator, or another process, may change the files at any time. */
export class DeadLetterScanner {
  readonly #folders: () => readonly string[];
  readonly #counts = new Map<string, { readonly version: string; readonly records: number }>();

  constructor(folders: () => readonly string[]) {
    this.#folders = folders;
  }

  count(): DeadLetterCount {
    const all = this.#folders().flatMap((folder) => namesIn(folder).map((name) => path.join(folder, name)));
    const rejected = all.filter((file) => path.basename(file) === REJECTED_FILE);
    const damaged = all.filter((file) => DAMAGED_SEGMENT.test(file));
    const records = rejected.reduce((sum, file) => sum + this.#recordsIn(file), 0);
    return { records, segments: damaged.length, files: [...rejected, ...damaged] };
  }

  /** One record per line; cached until the file changes. */
  #recordsIn(file: string): number {
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat === undefined) return 0;
    const version = `${stat.size} ${stat.mtimeMs}`;
    const known = this.#counts.get(file);
    if (known?.version === version) return known.records;
    const records = readFileSync(file).reduce((sum, byte) => (byte === NEWLINE ? sum + 1 : sum), 0);
    this.#counts.set(file, { version, records });
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
