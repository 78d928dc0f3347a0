import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { decodeBatch, RecordRejectedError, type RecordSink } from "../../src/domain/record/record-batch.ts";
import { type Disk, realDisk } from "../../src/io/journal/disk.ts";
import type { Log } from "../../src/kit/log.ts";

/** A folder that is removed after its test. */
export function tempFolder(prefix: string): { readonly path: string; remove(): void } {
  const folder = mkdtempSync(path.join(tmpdir(), prefix));
  return { path: folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Collects log lines for assertions. */
export function listeningLog(): Log & { readonly lines: { level: string; detail: object; message: string }[] } {
  const lines: { level: string; detail: object; message: string }[] = [];
  const at = (level: string) => (detail: object, message: string) => {
    lines.push({ level, detail, message });
  };
  return { lines, info: at("info"), warn: at("warn"), error: at("error") };
}

export type SinkMode =
  | { is: "takes" }
  | { is: "away" }
  | { is: "rejects"; ids: readonly string[] }
  | { is: "rejects once"; id: string };

/** A record sink in memory: idempotent like a store, and unavailable or selective on demand. */
export function memorySink(): RecordSink & {
  mode: SinkMode;
  readonly calls: number[];
  readonly records: Map<string, { id: string; errorCode: string | null; charge: unknown }>;
} {
  return {
    mode: { is: "takes" },
    calls: [],
    records: new Map(),
    async ingestBatch(batch) {
      const texts = decodeBatch(batch);
      this.calls.push(texts.length);
      const { mode } = this;
      if (mode.is === "away") throw new Error("SQL is away");
      const parsed = texts.map((text) => JSON.parse(text));
      if (mode.is === "rejects" && parsed.some(({ id }) => mode.ids.includes(id)))
        throw new RecordRejectedError("a bad record");
      if (mode.is === "rejects once" && parsed.some(({ id }) => mode.id === id)) {
        this.mode = { is: "takes" };
        throw new RecordRejectedError("a bad moment");
      }
      for (const record of parsed) if (!this.records.has(record.id)) this.records.set(record.id, record);
    },
  };
}

/** A real disk whose writes and syncs can fail or be partial. */
export function faultyDisk(): Disk & {
  writes: "whole" | "full" | number;
  syncs: "work" | "fail";
  readonly sizes: number[];
} {
  return {
    ...realDisk,
    writes: "whole",
    syncs: "work",
    sizes: [],
    write(fd, bytes, offset, length, position) {
      if (this.writes === "full") throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
      // A number is the remaining space: the write takes that much, and the next one fails.
      const space = typeof this.writes === "number" ? Math.min(this.writes, length) : length;
      if (typeof this.writes === "number") this.writes = "full";
      this.sizes.push(space);
      return realDisk.write(fd, bytes, offset, space, position);
    },
    sync(fd) {
      return this.syncs === "work" ? realDisk.sync(fd) : Promise.reject(new Error("the disk failed"));
    },
  };
}
