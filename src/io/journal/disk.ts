import {
  chmodSync,
  closeSync,
  constants,
  fdatasync,
  fsync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { appendFile, rm } from "node:fs/promises";
import { promisify } from "node:util";

const fsyncAsync = promisify(fsync);

const PRIVATE_FOLDER = 0o700;

/** A folder of an earlier version may be readable for others. One of another user stays as its owner set it. */
function closeToOthers(folder: string): void {
  try {
    if ((statSync(folder).mode & 0o077) !== 0) chmodSync(folder, PRIVATE_FOLDER);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EPERM")) throw error;
  }
}

/** The file system as the journal uses it. Tests inject failures here. */
export type Disk = {
  makeFolder(folder: string): void;
  list(folder: string): string[];
  read(file: string): Buffer;
  /** Opens a new file for writing; fails when it exists. */
  create(file: string): number;
  /** Opens a file that exists. */
  open(file: string, flags: number): number;
  /** Reads up to `length` bytes from a position of the file to an offset in `into`; returns how many there were. */
  readAt(fd: number, into: Buffer, offset: number, length: number, position: number): number;
  /** Writes `length` bytes from an offset on to a position of the file; returns how many were written, which may be fewer. */
  write(fd: number, bytes: Buffer, offset: number, length: number, position: number): number;
  truncate(file: string, bytes: number): void;
  sync(fd: number): Promise<void>;
  syncFolder(folder: string): Promise<void>;
  close(fd: number): void;
  remove(file: string): Promise<void>;
  rename(from: string, to: string): void;
  /** Appends and syncs. */
  append(file: string, text: string): Promise<void>;
};

export const realDisk: Disk = {
  makeFolder: (folder) => {
    mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
    closeToOthers(folder);
  },
  list: (folder) => readdirSync(folder),
  read: (file) => readFileSync(file),
  create: (file) => openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600),
  open: openSync,
  readAt: readSync,
  // Synchronous: the call returns once the page cache has the bytes, and a thread-pool round trip costs several times more.
  write: writeSync,
  truncate: (file, bytes) => truncateSync(file, bytes),
  sync: promisify(fdatasync),
  syncFolder: async (folder) => {
    const fd = openSync(folder, constants.O_RDONLY);
    try {
      await fsyncAsync(fd);
    } finally {
      closeSync(fd);
    }
  },
  close: closeSync,
  // Asynchronous: freeing the pages of a large file takes milliseconds, and longer on a busy disk.
  remove: (file) => rm(file, { force: true }),
  rename: (from, to) => renameSync(from, to),
  append: (file, text) => appendFile(file, text, { mode: 0o600, flush: true }),
};
