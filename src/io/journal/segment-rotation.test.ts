import { existsSync } from "node:fs";
import { setImmediate as nextTick } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { faultyDisk, listeningLog, memorySink, tempFolder } from "../../../tests/support/journal-fixture.ts";
import { finishedRecord } from "../../../tests/support/records.ts";
import { systemClock } from "../../kit/clock.ts";
import { openIngestPipeline } from "./ingest-pipeline.ts";
import type { JournalEntry } from "./journal.ts";

let folder: ReturnType<typeof tempFolder>;
beforeEach(() => {
  folder = tempFolder("gateway-journal-");
});
afterEach(() => folder.remove());

const LATER_MS = 3_600_000;

/** Syncs every write; timers do nothing within a test. */
function open(disk: ReturnType<typeof faultyDisk>, store: ReturnType<typeof memorySink>, log = listeningLog()) {
  const tuning = { everyMs: LATER_MS, segmentMaxBytes: 3000, probeEveryMs: LATER_MS };
  const settings = { dataDir: folder.path, clock: systemClock, random: () => 0.5, log, syncEveryMs: 0, tuning };
  return openIngestPipeline({ ...settings, store, disk });
}

const done = (id: string): JournalEntry => ({ t: "done", record: finishedRecord(id) });

/** Appends until the first segment rotates; its two syncs are pending. */
async function twoSegments() {
  const [disk, sink] = [faultyDisk(), memorySink()];
  const { journal } = await open(disk, sink);
  const record = finishedRecord("opened");
  await journal.append({ t: "open", id: "opened", workspaceId: record.workspaceId, atMs: record.createdAtMs, record });
  const syncs: PromiseWithResolvers<void>[] = [];
  disk.sync = () => {
    const sync = Promise.withResolvers<void>();
    syncs.push(sync);
    return sync.promise;
  };
  const ends: Promise<{ readonly id: string; readonly end: "durable" | "rejected" }>[] = [];
  while (syncs.length < 2) {
    const id = `e${ends.length}`;
    ends.push(
      journal.append(done(id)).then(
        () => ({ id, end: "durable" }),
        () => ({ id, end: "rejected" }),
      ),
    );
    await nextTick();
    await nextTick();
  }
  disk.sync = () => Promise.resolve();
  const [groupSync, rotationSync] = syncs;
  return { disk, sink, journal, ends, groupSync, rotationSync };
}

test("BILL-07 a rejected entry of a segment that was rotated meanwhile is not replayed", async () => {
  const { disk, sink, ends, groupSync, rotationSync } = await twoSegments();
  groupSync?.resolve();
  rotationSync?.reject(new Error("the disk failed"));
  const rejected = (await Promise.all(ends)).filter(({ end }) => end === "rejected").map(({ id }) => id);
  expect(rejected.length).toBeGreaterThan(1);
  // As after kill -9.
  await (await open(disk, sink)).close();
  expect(rejected.filter((id) => sink.records.has(id))).toEqual([]);
});

test("BILL-07 the name of a segment is synced before its entries are durable, also after a failed sync", async () => {
  const { disk, journal, ends, groupSync, rotationSync } = await twoSegments();
  let folders = 0;
  const { syncFolder } = disk;
  disk.syncFolder = (of) => {
    folders += 1;
    return syncFolder(of);
  };
  groupSync?.reject(new Error("the disk failed"));
  rotationSync?.resolve();
  await Promise.all(ends);
  await journal.append(done("later"));
  expect(folders).toBeGreaterThan(0);
});

test("BILL-07 a slow segment removal delays only the shutdown, and a failed one is logged", async () => {
  const [disk, sink, log] = [faultyDisk(), memorySink(), listeningLog()];
  const pipeline = await open(disk, sink, log);
  const slow = Promise.withResolvers<void>();
  const { remove } = disk;
  const removed: string[] = [];
  disk.remove = async (file) => {
    removed.push(file);
    await slow.promise;
    if (file === removed[0]) throw new Error("the removal failed");
    await remove(file);
  };
  for (let n = 0; n < 10; n += 1) await pipeline.journal.append(done(`r${n}`));
  await pipeline.flush();
  expect(removed).toHaveLength(1);
  await pipeline.journal.append(done("later"));
  const closed = pipeline.close();
  slow.resolve();
  expect(await closed).toBe("done");
  expect(sink.records.size).toBe(11);
  // Oldest first: a request that opened in one segment and ended in the next must not keep its open entry alone.
  expect(removed).toEqual(removed.toSorted());
  expect(removed.length).toBeGreaterThan(1);
  expect(removed.filter((file) => existsSync(file))).toEqual(removed.slice(0, 1));
  expect(log.lines.map(({ message }) => message)).toContain("journal: segment removal failed");
});
