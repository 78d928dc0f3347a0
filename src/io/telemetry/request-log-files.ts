import { type FileHandle, mkdir, open, readdir, stat, unlink } from "node:fs/promises";
import path from "node:path";
import type { Clock } from "../../kit/clock.ts";

export type RequestLogFilesOptions = {
  readonly folder: string;
  /** In the names of the files, so that processes do not write into each other's. */
  readonly writer: string;
  readonly fileMaxBytes: number;
  readonly fileMaxAgeMs: number;
  /** How long files are kept; null: for ever. */
  readonly retentionMs: number | null;
  readonly clock: Clock;
};

const FILE_NAME = /^requests-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z-[0-9a-z]+\.jsonl$/;

type OpenLogFile = {
  readonly file: string;
  readonly handle: FileHandle;
  readonly inode: number;
  readonly openedAtMs: number;
  bytes: number;
};

/**
 * Lines in files of a folder, oldest first by name. Each file belongs to one process: what a crash cuts off is the last
 * line of its file, and comes again whole in the next one.
 */
export class RequestLogFiles {
  readonly #options: RequestLogFilesOptions;
  #current: OpenLogFile | undefined;

  constructor(settings: RequestLogFilesOptions) {
    this.#options = settings;
  }

  /** Resolves once the lines are on the disk, in a file of the folder: whoever takes that away meanwhile gets another. */
  async append(text: string): Promise<void> {
    if (await this.#appendOnce(text)) return;
    if (!(await this.#appendOnce(text))) throw new Error("the file of the request log goes away while it is written");
  }

  /** False when the file is not in its place any more: what was written to it may never be seen by anybody. */
  async #appendOnce(text: string): Promise<boolean> {
    const bytes = Buffer.byteLength(text);
    const current = await this.#fileWithRoomFor(bytes);
    try {
      await current.handle.appendFile(text);
      await current.handle.datasync();
      current.bytes += bytes;
    } catch (error) {
      // Half a line may be there: nothing is written behind it.
      await this.close();
      throw error;
    }
    const found = await stat(current.file).catch(() => undefined);
    if (found?.ino === current.inode) return true;
    await this.close();
    return false;
  }

  async close(): Promise<void> {
    const { handle } = this.#current ?? {};
    this.#current = undefined;
    await handle?.close();
  }

  async #fileWithRoomFor(bytes: number): Promise<OpenLogFile> {
    const { fileMaxBytes, fileMaxAgeMs, clock } = this.#options;
    const known = this.#current;
    const nowMs = clock.nowMs();
    if (known !== undefined) {
      const isFull = known.bytes > 0 && known.bytes + bytes > fileMaxBytes;
      if (!isFull && nowMs - known.openedAtMs < fileMaxAgeMs) return known;
      await this.close();
    }
    this.#current = await this.#openNext(nowMs);
    await this.#deleteExpired(nowMs);
    return this.#current;
  }

  async #openNext(nowMs: number): Promise<OpenLogFile> {
    const { folder, writer } = this.#options;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const time = new Date(nowMs).toISOString().replace(/[-:.]/g, "");
    const file = path.join(folder, `requests-${time}-${writer}.jsonl`);
    const handle = await open(file, "a", 0o600);
    const { size, ino } = await handle.stat();
    return { file, handle, inode: ino, openedAtMs: nowMs, bytes: size };
  }

  /** By the time in their names: files that somebody else put there are left alone. */
  async #deleteExpired(nowMs: number): Promise<void> {
    const { folder, retentionMs } = this.#options;
    if (retentionMs === null) return;
    for (const name of await readdir(folder)) {
      const [, ...parts] = FILE_NAME.exec(name) ?? [];
      const [year = 0, month = 0, day = 0, ...time] = parts.map(Number);
      if (parts.length === 0 || nowMs - Date.UTC(year, month - 1, day, ...time) <= retentionMs) continue;
      await unlink(path.join(folder, name)).catch(() => undefined);
    }
  }
}
