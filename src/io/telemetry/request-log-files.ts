import { type FileHandle, mkdir, open, readdir, stat, unlink } from "node:fs/promises";
import path from "node:path";
import type { Clock } from "../../kit/clock.ts";

export type RequestLogFilesOptions = {
  readonly folder: string;
  /** Part of the file names, so that no two processes write to one file. */
  readonly writer: string;
  readonly fileMaxBytes: number;
  readonly fileMaxAgeMs: number;
  /** Null: files are never deleted. */
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
 * Appends lines to rotating files whose names sort by time. Each file belongs to one process: a crash can truncate only the
 * last line, which is written again to the next file.
 */
export class RequestLogFiles {
  readonly #options: RequestLogFilesOptions;
  #current: OpenLogFile | undefined;

  constructor(settings: RequestLogFilesOptions) {
    this.#options = settings;
  }

  /** Resolves once the lines are synced to a file that is still in the folder; retries once if it was moved or deleted. */
  async append(text: string): Promise<void> {
    if (await this.#appendOnce(text)) return;
    if (!(await this.#appendOnce(text))) throw new Error("the request log file was removed while it was written");
  }

  /** False when the file was moved or deleted meanwhile, so that the lines may be lost. */
  async #appendOnce(text: string): Promise<boolean> {
    const bytes = Buffer.byteLength(text);
    const current = await this.#fileWithRoomFor(bytes);
    try {
      await current.handle.appendFile(text);
      await current.handle.datasync();
      current.bytes += bytes;
    } catch (error) {
      // The last line may be incomplete, so nothing is appended to this file.
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
    const current = this.#current;
    const nowMs = clock.nowMs();
    if (current !== undefined) {
      const isFull = current.bytes > 0 && current.bytes + bytes > fileMaxBytes;
      if (!isFull && nowMs - current.openedAtMs < fileMaxAgeMs) return current;
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

  /** By the time in their names; other files in the folder are not touched. */
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
