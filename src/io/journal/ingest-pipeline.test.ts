import { readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setImmediate as nextTick, setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../../tests/support/eventually.ts";
import { faultyDisk, listeningLog, memorySink, tempFolder } from "../../../tests/support/journal-fixture.ts";
import { finishedRecord } from "../../../tests/support/records.ts";
import type { RequestRecord } from "../../domain/record/record.ts";
import { decodeBatch } from "../../domain/record/record-batch.ts";
import { systemClock } from "../../kit/clock.ts";
import { type IngestPipelineSettings, openIngestPipeline } from "./ingest-pipeline.ts";
import type { JournalEntry } from "./journal.ts";

let folder: ReturnType<typeof tempFolder>;
beforeEach(() => {
  folder = tempFolder("gateway-journal-");
});
afterEach(() => folder.remove());

function pipelineForTest(settings: Partial<IngestPipelineSettings> = {}) {
  const log = listeningLog();
  const sink = memorySink();
  const disk = faultyDisk();
  const open = (changes: Partial<IngestPipelineSettings> = {}) =>
    openIngestPipeline({
      dataDir: folder.path,
      store: sink,
      clock: systemClock,
      random: () => 0.5,
      syncEveryMs: 1,
      log,
      disk,
      ...settings,
      ...changes,
    });
  return { log, sink, disk, open };
}

const done = (id: string, changes: Partial<RequestRecord> = {}): JournalEntry => ({
  t: "done",
  record: finishedRecord(id, changes),
});
const opened = (id: string, changes: Partial<RequestRecord> = {}): JournalEntry => {
  const record = finishedRecord(id, changes);
  return { t: "open", id, workspaceId: record.workspaceId, atMs: record.createdAtMs, record };
};
const journalDir = () => path.join(folder.path, "journal");
const segments = () => readdirSync(journalDir()).filter((name) => name.endsWith(".journal"));
const until = (check: () => boolean) => eventually(() => expect(check()).toBe(true), { timeout: 10_000, interval: 5 });
/** The state after kill -9: nothing is closed, and the ingester of this process stays idle. */
const IDLE = { tuning: { everyMs: 3_600_000 } };

describe("writing", () => {
  test("BILL-07 all entries of one event-loop tick are one write", async () => {
    const { open, disk } = pipelineForTest();
    const { journal, close } = await open();
    await Promise.all(Array.from({ length: 100 }, (_, n) => journal.append(done(`r${n}`))));
    expect(disk.sizes).toHaveLength(1);
    await nextTick();
    await journal.append(done("later"));
    expect(disk.sizes).toHaveLength(2);
    await close();
  });

  test("BILL-07 an entry is in the file when its append has resolved", async () => {
    const { open } = pipelineForTest(IDLE);
    const { journal } = await open();
    await journal.append(done("r1"));
    const [name = ""] = segments();
    expect(readFileSync(path.join(journalDir(), name), "utf8")).toContain('"id":"r1"');
  });

  test("BILL-07 with a sync for every write, an append waits for it and fails with it", async () => {
    const { open, disk, sink } = pipelineForTest({ syncEveryMs: 0, tuning: { probeEveryMs: 5 } });
    const { journal, flush, close } = await open();
    await Promise.all([journal.append(done("r1")), journal.append(done("r2"))]);
    disk.syncs = "fail";
    await expect(journal.append(done("lost"))).rejects.toThrow("the disk failed");
    expect(journal.isBroken).toBe(true);
    disk.syncs = "work";
    await until(() => !journal.isBroken);
    await journal.append(done("r3"));
    await flush();
    expect([...sink.records.keys()]).toEqual(["r1", "r2", "r3"]);
    const texts = segments().map((name) => readFileSync(path.join(journalDir(), name), "utf8"));
    expect(texts.join("")).not.toContain("lost");
    await close();
  });

  test("BILL-07 with a sync for every write, an append also waits for, and fails with, the sync of its rotated segment", async () => {
    const { open, disk, sink } = pipelineForTest({
      syncEveryMs: 0,
      tuning: { segmentMaxBytes: 1, probeEveryMs: 3_600_000 },
    });
    const { journal, close } = await open();
    const syncs: PromiseWithResolvers<void>[] = [];
    disk.sync = () => {
      const sync = Promise.withResolvers<void>();
      syncs.push(sync);
      return sync.promise;
    };
    const first = journal.append(done("first"));
    await until(() => syncs.length === 1);
    // Each append rotates the segment of the one before.
    const [second, third] = [journal.append(done("second")), nextTick().then(() => journal.append(done("third")))];
    const ends = Promise.allSettled([second, third]);
    await until(() => syncs.length === 3);
    disk.sync = () => Promise.resolve();
    syncs[2]?.reject(new Error("the disk failed"));
    await nextTick();
    for (const sync of syncs) sync.resolve();
    await first;
    expect((await ends).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await close();
    await (await open()).close();
    expect([...sink.records.keys()]).toEqual(["first"]);
  });

  test("BILL-07 a failed group sync refuses paid work until the disk works again", async () => {
    const { open, disk } = pipelineForTest({ tuning: { probeEveryMs: 5 } });
    const { journal, close } = await open();
    disk.syncs = "fail";
    await journal.append(done("r1"));
    await until(() => journal.isBroken);
    disk.syncs = "work";
    await until(() => !journal.isBroken);
    await close();
  });

  test("BILL-07 appends after close are rejected", async () => {
    const { journal, close } = await pipelineForTest().open();
    await close();
    await expect(journal.append(done("r1"))).rejects.toThrow("closed");
  });
});

describe("a full disk", () => {
  test("BILL-07 an append that does not fit is rejected without a trace, and writing resumes when there is space", async () => {
    const { open, disk, log, sink } = pipelineForTest({ tuning: { probeEveryMs: 5 } });
    const { journal, flush, close } = await open();
    await journal.append(done("before"));
    expect(journal.isBroken).toBe(false);
    // The disk accepts part of the frame.
    disk.writes = 100;
    await expect(journal.append(done("refused"))).rejects.toThrow("no space left");
    expect(journal.isBroken).toBe(true);
    await expect(journal.append(done("refused too"))).rejects.toThrow("no space left");
    disk.writes = "whole";
    await until(() => !journal.isBroken);
    await journal.append(done("after"));
    await flush();
    expect([...sink.records.keys()]).toEqual(["before", "after"]);
    expect(log.lines.map(({ level }) => level)).toEqual(["error", "info"]);
    await close();
  });

  test("BILL-07 a rejected entry is not replayed, and the entries around it are", async () => {
    const { open, disk, sink } = pipelineForTest(IDLE);
    const { journal } = await open();
    await journal.append(done("before"));
    disk.writes = 100;
    await expect(journal.append(done("refused"))).rejects.toThrow();
    disk.writes = "whole";
    await journal.append(done("after"));
    const next = await open();
    expect([...sink.records.keys()]).toEqual(["before", "after"]);
    await next.close();
  });

  test("BILL-07 a journal over its limit refuses paid work until SQL has caught up", async () => {
    const { open, sink } = pipelineForTest({
      tuning: { maxBytes: 5000, segmentMaxBytes: 2000, backoffMaxMs: 5, backoffFirstMs: 1 },
    });
    const { journal, flush, close } = await open();
    sink.mode = { is: "away" };
    for (let n = 0; n < 10; n += 1) await journal.append(done(`r${n}`));
    expect(journal.isBroken).toBe(true);
    sink.mode = { is: "takes" };
    await flush();
    expect(journal.isBroken).toBe(false);
    expect(sink.records.size).toBe(10);
    await close();
  });
});

describe("moving into SQL", () => {
  test("BILL-07 finished requests are ingested in batches, and a closed journal is empty", async () => {
    const { open, sink } = pipelineForTest({ tuning: { everyMs: 1, batchMax: 500 } });
    const { journal, close, pending } = await open();
    await Promise.all(Array.from({ length: 1200 }, (_, n) => journal.append(done(`r${n}`))));
    await until(() => pending() === 0);
    expect(sink.records.size).toBe(1200);
    expect(Math.max(...sink.calls)).toBe(500);
    await close();
    expect(segments()).toEqual([]);
  });

  test("LOG-02 a flush does not wait for requests that end after it was called", async () => {
    const { open, sink } = pipelineForTest(IDLE);
    const { journal, flush, close } = await open();
    for (const id of ["r0", "r1", "r2"]) await journal.append(done(id));
    // Another request ends during every write to SQL, as under constant load.
    const { ingestBatch } = sink;
    let busy = true;
    sink.ingestBatch = async (batch) => {
      if (busy) await journal.append(done(`later-${sink.calls.length}`));
      return ingestBatch.call(sink, batch);
    };
    await flush();
    expect([...sink.records.keys()].filter((id) => id.startsWith("r"))).toEqual(["r0", "r1", "r2"]);
    expect(sink.calls.length).toBeLessThan(5);
    busy = false;
    await close();
    expect(segments()).toEqual([]);
  });

  test("BILL-07 nothing is lost while SQL is unavailable, and everything is ingested once afterwards", async () => {
    const { open, sink, log } = pipelineForTest({ tuning: { everyMs: 1, backoffFirstMs: 1, backoffMaxMs: 10 } });
    const { journal, close, pending, flush } = await open();
    sink.mode = { is: "away" };
    for (let n = 0; n < 50; n += 1) await journal.append(done(`r${n}`));
    await expect(flush()).rejects.toThrow("SQL is away");
    await until(() => sink.calls.length > 4);
    expect(journal.isBroken).toBe(false);
    expect(pending()).toBe(50);
    sink.mode = { is: "takes" };
    await until(() => pending() === 0);
    expect(sink.records.size).toBe(50);
    expect(log.lines.some(({ message }) => message.includes("journal: ingest failed"))).toBe(true);
    await close();
  });

  test("BILL-07 records that SQL did not take before a stop are ingested at the next start", async () => {
    const { open, sink } = pipelineForTest();
    const first = await open();
    sink.mode = { is: "away" };
    await first.journal.append(done("r1"));
    expect(await first.close()).toBe("left");
    expect(segments()).toHaveLength(1);
    sink.mode = { is: "takes" };
    const second = await open();
    expect(sink.records.has("r1")).toBe(true);
    expect(second.replayed).toEqual({ segments: 1, done: 1, interrupted: 0 });
    expect(await second.close()).toBe("done");
    expect(segments()).toEqual([]);
  });

  test("BILL-07 pending records wait in their segments, with or without open requests between them", async () => {
    const { open, sink } = pipelineForTest({ tuning: { segmentMaxBytes: 20_000, batchMax: 4, everyMs: 1 } });
    const { journal, flush, close, pending } = await open();
    sink.mode = { is: "away" };
    for (let turn = 0; turn < 20; turn += 1) {
      await Promise.all(Array.from({ length: 10 }, (_, n) => journal.append(opened(`r${turn}-${n}`))));
      await Promise.all(Array.from({ length: 10 }, (_, n) => journal.append(done(`r${turn}-${n}`))));
    }
    expect(pending()).toBe(200);
    sink.mode = { is: "takes" };
    await flush();
    expect([...sink.records.keys()]).toEqual(Array.from({ length: 200 }, (_, n) => `r${Math.floor(n / 10)}-${n % 10}`));
    expect(pending()).toBe(0);
    await until(() => segments().length <= 1);
    await close();
    expect(segments()).toEqual([]);
  });

  test("BILL-07 a record larger than the read buffer is ingested completely, as are those around it", async () => {
    const { open, sink } = pipelineForTest();
    const { journal, flush, close } = await open();
    const app = "ä".repeat(1_500_000);
    await Promise.all([journal.append(done("r1")), journal.append(done("large", { app })), journal.append(done("r2"))]);
    await flush();
    expect([...sink.records.keys()]).toEqual(["r1", "large", "r2"]);
    expect(sink.records.get("large")).toEqual(finishedRecord("large", { app }));
    await close();
  });

  test("BILL-07 a segment that was closed before its sync returned is not deleted before it is in SQL", async () => {
    const { open, sink, disk } = pipelineForTest({ syncEveryMs: 0, tuning: { segmentMaxBytes: 3000, everyMs: 1 } });
    const { journal, flush, close } = await open();
    const held = Promise.withResolvers<void>();
    const { sync } = disk;
    disk.sync = (fd) => held.promise.then(() => sync.call(disk, fd));
    const appends: Promise<void>[] = [];
    for (let n = 0; n < 10; n += 1) {
      appends.push(journal.append(done(`r${n}`)));
      await nextTick();
    }
    expect(segments().length).toBeGreaterThan(2);
    held.resolve();
    await Promise.all(appends);
    await flush();
    expect([...sink.records.keys()]).toEqual(Array.from({ length: 10 }, (_, n) => `r${n}`));
    await close();
    expect(segments()).toEqual([]);
  });

  test("BILL-07 a record that SQL always rejects becomes a dead letter and does not block the others", async () => {
    const { open, sink, log } = pipelineForTest();
    const { journal, flush, close } = await open();
    sink.mode = { is: "rejects", ids: ["r7"] };
    await Promise.all(Array.from({ length: 20 }, (_, n) => journal.append(done(`r${n}`))));
    await flush();
    expect(sink.records.size).toBe(19);
    const kept = readFileSync(path.join(journalDir(), "rejected.jsonl"), "utf8").trim().split("\n");
    expect(kept).toHaveLength(1);
    expect(JSON.parse(JSON.parse(kept[0] ?? "").text).id).toBe("r7");
    expect(log.lines.some(({ level, message }) => level === "error" && message.includes("dead letters"))).toBe(true);
    await close();
    expect(segments()).toEqual([]);
  });

  test("BILL-07 a record that is rejected once and accepted on the second try is no dead letter", async () => {
    const { open, sink } = pipelineForTest();
    const { journal, flush, close } = await open();
    sink.mode = { is: "rejects once", id: "r1" };
    await journal.append(done("r1"));
    await flush();
    expect([...sink.records.keys()]).toEqual(["r1"]);
    expect(readdirSync(journalDir())).not.toContain("rejected.jsonl");
    await close();
  });

  test("BILL-07 a segment is kept while a request that opened in it is in flight, and removed afterwards", async () => {
    const { open } = pipelineForTest({ tuning: { segmentMaxBytes: 3000 } });
    const { journal, flush, close } = await open();
    await journal.append(opened("long"));
    for (let n = 0; n < 10; n += 1) await journal.append(done(`r${n}`));
    await flush();
    await until(() => segments().length === 2);
    expect(segments()[0]).toBe("segment-000000000001.journal");
    await journal.append(done("long"));
    await flush();
    await until(() => !segments().includes("segment-000000000001.journal"));
    await close();
  });

  test("BILL-07 an old segment is rotated although it is small", async () => {
    const { open } = pipelineForTest({ tuning: { segmentMaxAgeMs: 5 } });
    const { journal, flush, close } = await open();
    await journal.append(done("r1"));
    await flush();
    await sleep(10);
    await journal.append(done("r2"));
    await until(() => segments().join() === "segment-000000000002.journal");
    await close();
  });
});

describe("replay after kill -9", () => {
  test("BILL-07 finished requests are charged; unfinished ones are logged as interrupted and free", async () => {
    const { open, sink } = pipelineForTest(IDLE);
    const killed = await open();
    await killed.journal.append(opened("r1"));
    await killed.journal.append(opened("r2"));
    await killed.journal.append(done("r1"));
    const next = await open();
    expect(next.replayed).toEqual({ segments: 1, done: 1, interrupted: 1 });
    expect(sink.records.get("r1")).toEqual(finishedRecord("r1"));
    expect(sink.records.get("r2")).toEqual({ ...finishedRecord("r2"), errorCode: "interrupted", charge: null });
    await next.close();
    expect(segments()).toEqual([]);
  });

  test("LOG-03 BILL-07 free requests older than the log retention are not counted again; charges of any age are ingested", async () => {
    const { open, sink, log } = pipelineForTest(IDLE);
    const killed = await open();
    const [old, young] = [Date.UTC(2026, 0, 1), Date.UTC(2027, 0, 1)];
    await killed.journal.append(opened("interrupted", { createdAtMs: old }));
    await killed.journal.append(done("free", { createdAtMs: old, charge: null }));
    await killed.journal.append(done("charged", { createdAtMs: old }));
    await killed.journal.append(done("young", { createdAtMs: young, charge: null }));
    const next = await open({ logRetainedFromMs: old + 1 });
    expect([...sink.records.keys()]).toEqual(["charged", "young"]);
    expect(next.replayed).toEqual({ segments: 1, done: 2, interrupted: 0 });
    expect(log.lines).toContainEqual(expect.objectContaining({ level: "warn", detail: { records: 2 } }));
    await next.close();
  });

  test("BILL-07 a request whose end was ingested and deleted before is not marked as interrupted", async () => {
    const { open, sink } = pipelineForTest({ tuning: { segmentMaxBytes: 3000 } });
    const killed = await open();
    await killed.journal.append(opened("keeps the first segment"));
    await killed.journal.append(opened("r1"));
    for (let n = 0; n < 4; n += 1) await killed.journal.append(done(`filler ${n}`));
    await killed.journal.append(done("r1"));
    for (let n = 4; n < 8; n += 1) await killed.journal.append(done(`filler ${n}`));
    await killed.flush();
    await until(() => segments().length === 2);
    const next = await open();
    expect(sink.records.get("r1")).toEqual(finishedRecord("r1"));
    expect(sink.records.get("keeps the first segment")?.errorCode).toBe("interrupted");
    await next.close();
  });

  test("BILL-07 a torn tail is cut and logged, and everything before it is ingested", async () => {
    const { open, sink, log } = pipelineForTest(IDLE);
    const killed = await open();
    for (const id of ["r1", "r2", "r3"]) await killed.journal.append(done(id));
    const file = path.join(journalDir(), segments()[0] ?? "");
    truncateSync(file, readFileSync(file).length - 100);
    const next = await open();
    expect([...sink.records.keys()]).toEqual(["r1", "r2"]);
    expect(log.lines).toContainEqual(
      expect.objectContaining({ level: "warn", detail: expect.objectContaining({ file, is: "torn" }) }),
    );
    await next.close();
    expect(readdirSync(journalDir())).toEqual([]);
  });

  test("BILL-07 a damaged segment is kept for the operator", async () => {
    const { open, sink } = pipelineForTest(IDLE);
    const killed = await open();
    for (const id of ["r1", "r2", "r3"]) await killed.journal.append(done(id));
    const name = segments()[0] ?? "";
    const bytes = readFileSync(path.join(journalDir(), name));
    bytes.writeUInt8(0xff, Math.floor(bytes.length / 2));
    writeFileSync(path.join(journalDir(), name), bytes);
    const next = await open();
    expect([...sink.records.keys()]).toEqual(["r1"]);
    await next.close();
    expect(readdirSync(journalDir())).toEqual([`${name}.damaged`]);
  });

  test("BILL-07 a replay that SQL interrupts can start over", async () => {
    const { open, sink } = pipelineForTest(IDLE);
    const killed = await open();
    for (const id of ["r1", "r2"]) await killed.journal.append(done(id));
    sink.mode = { is: "away" };
    await expect(open()).rejects.toThrow("SQL is away");
    sink.mode = { is: "takes" };
    const next = await open();
    expect([...sink.records.keys()]).toEqual(["r1", "r2"]);
    await next.close();
  });

  test.each([
    ["among retried dead letters", "again.jsonl", IDLE.tuning],
    ["in a segment", undefined, IDLE.tuning],
    ["in one segment before another", undefined, { ...IDLE.tuning, segmentMaxBytes: 1 }],
  ])(
    "BILL-07 a record that SQL always rejects %s becomes one dead letter, however often SQL interrupts the replay",
    async (_, again, tuning) => {
      const { open, sink } = pipelineForTest({ tuning });
      const killed = await open();
      if (again === undefined) {
        for (const id of ["bad", "r1"]) await killed.journal.append(done(id));
        await killed.journal.append(done("unreadable", { status: Number.NaN }));
      } else {
        const lines = ["no record", JSON.stringify(finishedRecord("bad")), JSON.stringify(finishedRecord("r1"))];
        writeFileSync(path.join(journalDir(), again), lines.join("\n"));
      }
      const { ingestBatch } = sink;
      let isAway = true;
      sink.mode = { is: "rejects", ids: ["bad"] };
      sink.ingestBatch = async (batch) => {
        if (isAway && decodeBatch(batch).every((text) => text.includes('"r1"'))) throw new Error("SQL is away");
        return ingestBatch.call(sink, batch);
      };
      for (let times = 0; times < 3; times += 1) await expect(open()).rejects.toThrow("SQL is away");
      isAway = false;
      const next = await open();
      expect([...sink.records.keys()]).toEqual(["r1"]);
      expect(next.deadLetters().records).toBe(2);
      await next.close();
    },
  );

  test("BILL-07 a field that this version does not know reaches SQL unchanged", async () => {
    const { open, sink } = pipelineForTest(IDLE);
    const killed = await open();
    const record = { ...finishedRecord("r1"), later: "kept" };
    await killed.journal.append({ t: "done", record });
    const next = await open();
    expect(sink.records.get("r1")).toEqual(record);
    await next.close();
  });
});
