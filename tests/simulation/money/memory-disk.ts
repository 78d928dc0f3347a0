import path from "node:path";
import type { Disk } from "../../../src/io/journal/disk.ts";
import type { World } from "./world.ts";

type File = { bytes: Buffer; length: number };

/** A call to a process that has ended. */
class Dead extends Error {
  constructor() {
    super("the process is dead");
    this.name = "Dead";
  }
}

/**
 * A disk that outlives the processes on it. As with kill -9, what was written stays and what was not is gone. It can be
 * full, accept only a part of a write, and fail at a sync; a process can crash in the middle of a write.
 */
export class MemoryDisk {
  readonly #world: World;
  readonly #files = new Map<string, File>();
  /** Free bytes; undefined: unlimited. */
  space: number | undefined;
  /** The process crashes after this many more bytes. */
  diesAfterBytes: number | undefined;

  constructor(world: World) {
    this.#world = world;
  }

  /** The files of a folder with this prefix, and their contents. */
  contents(start: string): Buffer[] {
    return [...this.#files]
      .filter(([name]) => path.basename(name).startsWith(start))
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([, { bytes, length }]) => Buffer.from(bytes.subarray(0, length)));
  }

  /** The disk as one incarnation of a process sees it. */
  for(isAlive: () => boolean, die: () => void): Disk {
    const open = new Map<number, File>();
    let next = 3;
    const alive = () => {
      if (!isAlive()) throw new Dead();
    };
    const fileOf = (fd: number): File => {
      const file = open.get(fd);
      if (file === undefined) throw new Error(`no file is open as ${fd}`);
      return file;
    };
    const found = (name: string): File => {
      alive();
      const file = this.#files.get(name);
      if (file === undefined) throw new Error(`there is no ${name}`);
      return file;
    };
    return {
      makeFolder: alive,
      list: (folder) =>
        [...this.#files.keys()].filter((name) => path.dirname(name) === folder).map((name) => path.basename(name)),
      read: (name) => {
        const { bytes, length } = found(name);
        return Buffer.from(bytes.subarray(0, length));
      },
      open: (name) => {
        open.set(next, found(name));
        next += 1;
        return next - 1;
      },
      readAt: (fd, into, offset, length, position) => {
        const file = fileOf(fd);
        return file.bytes.copy(into, offset, position, Math.min(file.length, position + length));
      },
      create: (name) => {
        alive();
        if (this.#files.has(name)) throw new Error(`${name} is there already`);
        const file = { bytes: Buffer.alloc(4096), length: 0 };
        this.#files.set(name, file);
        open.set(next, file);
        next += 1;
        return next - 1;
      },
      write: (fd, bytes, offset, length, position) => {
        alive();
        const taken = this.#take(length, die);
        put(fileOf(fd), bytes.subarray(offset, offset + taken.bytes), position);
        if (taken.life === "ends") throw new Dead();
        return taken.bytes;
      },
      truncate: (name, bytes) => {
        found(name).length = bytes;
      },
      sync: () => this.#later(isAlive, "a sync failed"),
      syncFolder: () => this.#later(isAlive, undefined),
      close: (fd) => void open.delete(fd),
      remove: async (name) => {
        alive();
        this.#files.delete(name);
      },
      rename: (from, to) => {
        this.#files.set(to, found(from));
        this.#files.delete(from);
      },
      append: async (name, text) => {
        alive();
        const file = this.#files.get(name) ?? { bytes: Buffer.alloc(0), length: 0 };
        this.#files.set(name, file);
        put(file, Buffer.from(text), file.length);
      },
    };
  }

  #take(wanted: number, die: () => void): { bytes: number; life: "goes on" | "ends" } {
    if (this.diesAfterBytes !== undefined) {
      this.diesAfterBytes -= wanted;
      if (this.diesAfterBytes < 0) {
        // Often the write is complete, but not acknowledged.
        const { chance, shape } = this.#world;
        const bytes = chance.is(shape.longDown ? 0.9 : 0.5) ? wanted : wanted + this.diesAfterBytes;
        this.diesAfterBytes = undefined;
        die();
        return { bytes, life: "ends" };
      }
    }
    if (this.space === undefined) return { bytes: wanted, life: "goes on" };
    const bytes = Math.min(wanted, this.space);
    if (bytes === 0) throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
    this.space -= bytes;
    return { bytes, life: "goes on" };
  }

  #later(isAlive: () => boolean, failure: string | undefined): Promise<void> {
    const { scheduler, chance, shape } = this.#world;
    const fails = failure !== undefined && !shape.isCalm && chance.is(shape.syncFails);
    return new Promise((resolve, reject) => {
      scheduler.after(chance.between(0, 4), () => {
        if (!isAlive() || fails) reject(new Error(failure));
        else resolve();
      });
    });
  }
}

function put(file: File, bytes: Buffer, position: number): void {
  const end = position + bytes.length;
  if (end > file.bytes.length) {
    const larger = Buffer.alloc(Math.max(end, 2 * file.bytes.length));
    file.bytes.copy(larger, 0, 0, file.length);
    file.bytes = larger;
  }
  bytes.copy(file.bytes, position);
  file.length = Math.max(file.length, end);
}
