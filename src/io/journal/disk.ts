import {
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
  truncateSync,
  writeSync,
} from "node:fs";
import { appendFile, rm } from "node:fs/promises";
import { promisify } from "node:util";

const fdatasyncAsync = promisify(fdatasync);
const fsyncAsync = promisify(fsync);

/** The file system as the journal uses it. Tests inject failures here. */
export type Disk = {
  makeFolder(folder: string): void;
  list(folder: string): string[];
  read(file: string): Buffer;
  /** Fills `into` from a position on; returns how many bytes there were. */
  readPart(file: string, position: number, into: Buffer): number;
  /** Opens a new file for writing; fails when it exists. */
  create(file: string): number;
  /** Returns how many bytes were written, which may be fewer. */
  write(fd: number, bytes: Buffer, position: number): number;
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
    mkdirSync(folder, { recursive: true });
  },
  list: (folder) => readdirSync(folder),
  read: (file) => readFileSync(file),
  // Synchronous: recent writes are in the page cache, and a thread-pool round trip costs more.
  readPart: (file, position, into) => {
    const fd = openSync(file, constants.O_RDONLY);
    try {
      let bytesRead = 0;
      for (;;) {
        const count = readSync(fd, into, bytesRead, into.length - bytesRead, position + bytesRead);
        bytesRead += count;
        if (count === 0 || bytesRead === into.length) return bytesRead;
      }
    } finally {
      closeSync(fd);
    }
  },
  create: (file) => openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600),
  // Synchronous: the call returns once the page cache has the bytes, and a thread-pool round trip costs several times more.
  write: (fd, bytes, position) => writeSync(fd, bytes, 0, bytes.length, position),
  truncate: (file, bytes) => truncateSync(file, bytes),
  sync: (fd) => fdatasyncAsync(fd),
  syncFolder: async (folder) => {
    const fd = openSync(folder, constants.O_RDONLY);
    try {
      await fsyncAsync(fd);
    } finally {
      closeSync(fd);
    }
  },
  close: (fd) => closeSync(fd),
  // Asynchronous: freeing the pages of a large file takes milliseconds, and longer on a busy disk.
  remove: (file) => rm(file, { force: true }),
  rename: (from, to) => renameSync(from, to),
  append: (file, text) => appendFile(file, text, { mode: 0o600, flush: true }),
};
