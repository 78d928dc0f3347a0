import { existsSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { listeningLog, memorySink, moodyDisk, tempFolder } from "../../../tests/support/journal-room.ts";
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

/** A sync for every write, and nothing else by itself. */
function open(disk: ReturnType<typeof moodyDisk>, store: ReturnType<typeof memorySink>, log = listeningLog()) {
  const tuning = { everyMs: LATER_MS, segmentMaxBytes: 3000, probeEveryMs: LATER_MS };
  const settings = { dataDir: folder.path, clock: systemClock, log, syncEveryMs: 0, tuning };
  return openIngestPipeline({ ...settings, store, disk });
}

const done = (id: string): JournalEntry => ({ t: "done", record: finishedRecord(id) });

/** Entries until the first segment is full and ends; its two syncs wait to be told how they go. */
async function twoSegments() {
  const [disk, sink] = [moodyDisk(), memorySink()];
  const { journal } = await open(disk, sink);
  const record = finishedRecord("held");
  await journal.append({ t: "open", id: "held", workspaceId: record.workspaceId, atMs: record.createdAtMs, record });
  const syncs: PromiseWithResolvers<void>[] = [];
  disk.sync = () => {
    const sync = Promise.withResolvers<void>();
    syncs.push(sync);
    return sync.promise;
  };
  const ends: Promise<{ readonly id: string; readonly end: "safe" | "refused" }>[] = [];
  while (syncs.length < 2) {
    const id = `e${ends.length}`;
    ends.push(
      journal.append(done(id)).then(
        () => ({ id, end: "safe" }),
        () => ({ id, end: "refused" }),
      ),
    );
    await nextTurn();
    await nextTurn();
  }
  disk.sync = () => Promise.resolve();
  const [running, ending] = syncs;
  return { disk, sink, journal, ends, running, ending };
}

test("BILL-07 a refused entry of a segment that was ended meanwhile is not found by a replay", async () => {
  const { disk, sink, ends, running, ending } = await twoSegments();
  running?.resolve();
  ending?.reject(new Error("the disk failed"));
  const refused = (await Promise.all(ends)).filter(({ end }) => end === "refused").map(({ id }) => id);
  expect(refused.length).toBeGreaterThan(1);
  // As after kill -9.
  await (await open(disk, sink)).close();
  expect(refused.filter((id) => sink.records.has(id))).toEqual([]);
});

test("BILL-07 the name of a segment is synced before an entry in it is safe, also where the sync before it failed", async () => {
  const { disk, journal, ends, running, ending } = await twoSegments();
  let folders = 0;
  const { syncFolder } = disk;
  disk.syncFolder = (of) => {
    folders += 1;
    return syncFolder(of);
  };
  running?.reject(new Error("the disk failed"));
  ending?.resolve();
  await Promise.all(ends);
  await journal.append(done("later"));
  expect(folders).toBeGreaterThan(0);
});

test("BILL-07 nothing waits for a segment that is slow to go but the end, and what does not go is told", async () => {
  const [disk, sink, log] = [moodyDisk(), memorySink(), listeningLog()];
  const books = await open(disk, sink, log);
  const slow = Promise.withResolvers<void>();
  const { remove } = disk;
  const removed: string[] = [];
  disk.remove = async (file) => {
    removed.push(file);
    await slow.promise;
    if (file === removed[0]) throw new Error("the disk does not let go of it");
    await remove(file);
  };
  for (let n = 0; n < 10; n += 1) await books.journal.append(done(`r${n}`));
  await books.flush();
  expect(removed).toHaveLength(1);
  await books.journal.append(done("later"));
  const closed = books.close();
  slow.resolve();
  expect(await closed).toBe("done");
  expect(sink.records.size).toBe(11);
  // The oldest first: what began in one segment and ended in the next must not be left with its begin alone.
  expect(removed).toEqual(removed.toSorted());
  expect(removed.length).toBeGreaterThan(1);
  expect(removed.filter((file) => existsSync(file))).toEqual(removed.slice(0, 1));
  expect(log.lines.map(({ message }) => message)).toContain("a journal segment could not be removed");
});
