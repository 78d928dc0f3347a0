import { type FileHandle, mkdir, open, readdir, unlink } from "node:fs/promises";
import path from "node:path";
import type { Clock } from "../../kit/clock.ts";

export type LogFilesSettings = {
  readonly folder: string;
  /** In the names of the files, so that processes do not write into each other's. */
  readonly writer: string;
  readonly fileMaxBytes: number;
  readonly fileMaxAgeMs: number;
  /** How long files are kept; null: for ever. */
  readonly keepMs: number | null;
  readonly clock: Clock;
};

const FILE = /^requests-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z-[0-9a-z]+\.jsonl$/;

type Current = { readonly handle: FileHandle; readonly beganMs: number; bytes: number };

/**
 * Lines in files of a folder, oldest first by name. Each file belongs to one process: what a crash cuts off is the last
 * line of its file, and comes again whole in the next one.
 */
export class LogFiles {
  readonly #settings: LogFilesSettings;
  #current: Current | undefined;

  constructor(settings: LogFilesSettings) {
    this.#settings = settings;
  }

  /** Resolves once the lines are on the disk. */
  async append(text: string): Promise<void> {
    const bytes = Buffer.byteLength(text);
    const current = await this.#fileFor(bytes);
    try {
      await current.handle.appendFile(text);
      await current.handle.datasync();
      current.bytes += bytes;
    } catch (error) {
      // Half a line may be there: nothing is written behind it.
      await this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    const { handle } = this.#current ?? {};
    this.#current = undefined;
    await handle?.close();
  }

  async #fileFor(bytes: number): Promise<Current> {
    const { fileMaxBytes, fileMaxAgeMs, clock } = this.#settings;
    const known = this.#current;
    const nowMs = clock.nowMs();
    if (known !== undefined) {
      const isFull = known.bytes > 0 && known.bytes + bytes > fileMaxBytes;
      if (!isFull && nowMs - known.beganMs < fileMaxAgeMs) return known;
      await this.close();
    }
    this.#current = await this.#begin(nowMs);
    await this.#sweep(nowMs);
    return this.#current;
  }

  async #begin(nowMs: number): Promise<Current> {
    const { folder, writer } = this.#settings;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const time = new Date(nowMs).toISOString().replace(/[-:.]/g, "");
    const handle = await open(path.join(folder, `requests-${time}-${writer}.jsonl`), "a", 0o600);
    const { size } = await handle.stat();
    return { handle, beganMs: nowMs, bytes: size };
  }

  /** By the time in their names: files that somebody else put there are left alone. */
  async #sweep(nowMs: number): Promise<void> {
    const { folder, keepMs } = this.#settings;
    if (keepMs === null) return;
    for (const name of await readdir(folder)) {
      const [, ...parts] = FILE.exec(name) ?? [];
      const [year = 0, month = 0, day = 0, ...time] = parts.map(Number);
      if (parts.length === 0 || nowMs - Date.UTC(year, month - 1, day, ...time) <= keepMs) continue;
      await unlink(path.join(folder, name)).catch(() => undefined);
    }
  }
}
