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

const fdatasyncLater = promisify(fdatasync);
const fsyncLater = promisify(fsync);

/** What the journal asks of the file system. Tests hand in one that fails on purpose. */
export type Disk = {
  makeFolder(folder: string): void;
  list(folder: string): string[];
  read(file: string): Buffer;
  /** Fills `into` from this place of the file on, and says how many bytes there were. */
  readPart(file: string, position: number, into: Buffer): number;
  /** A new file for writing; it must not exist. */
  create(file: string): number;
  /** How many bytes were taken, which may be fewer than were given. */
  write(fd: number, bytes: Buffer, position: number): number;
  truncate(file: string, bytes: number): void;
  sync(fd: number): Promise<void>;
  syncFolder(folder: string): Promise<void>;
  close(fd: number): void;
  remove(file: string): Promise<void>;
  rename(from: string, to: string): void;
  /** Adds to a file and makes sure it is on the disk. */
  append(file: string, text: string): Promise<void>;
};

export const realDisk: Disk = {
  makeFolder: (folder) => {
    mkdirSync(folder, { recursive: true });
  },
  list: (folder) => readdirSync(folder),
  read: (file) => readFileSync(file),
  // What was just written is in the page cache: waiting for it costs less than a thread that waits instead.
  readPart: (file, position, into) => {
    const fd = openSync(file, constants.O_RDONLY);
    try {
      let taken = 0;
      for (;;) {
        const count = readSync(fd, into, taken, into.length - taken, position + taken);
        taken += count;
        if (count === 0 || taken === into.length) return taken;
      }
    } finally {
      closeSync(fd);
    }
  },
  create: (file) => openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600),
  // The call returns when the bytes are in the page cache. Handing it to another thread would cost several times more.
  write: (fd, bytes, position) => writeSync(fd, bytes, 0, bytes.length, position),
  truncate: (file, bytes) => truncateSync(file, bytes),
  sync: (fd) => fdatasyncLater(fd),
  syncFolder: async (folder) => {
    const fd = openSync(folder, constants.O_RDONLY);
    try {
      await fsyncLater(fd);
    } finally {
      closeSync(fd);
    }
  },
  close: (fd) => closeSync(fd),
  // Giving the pages of a large file back takes milliseconds, and longer where the disk is busy: no request waits for that.
  remove: (file) => rm(file, { force: true }),
  rename: (from, to) => renameSync(from, to),
  append: (file, text) => appendFile(file, text, { mode: 0o600, flush: true }),
};
