import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { faultyDisk, listeningLog, memorySink, tempFolder } from "../../../tests/support/journal-fixture.ts";
import { finishedRecord } from "../../../tests/support/records.ts";
import { systemClock } from "../../kit/clock.ts";
import { openIngestPipeline } from "./ingest-pipeline.ts";

const LATER_MS = 3_600_000;

test("SCALE-23 a half full journal refuses paid work while ingest is slow, but not while SQL is away", async () => {
  const folder = tempFolder("gateway-journal-");
  onTestFinished(() => folder.remove());
  const [sink, log] = [memorySink(), listeningLog()];
  const { journal, flush, close } = await openIngestPipeline({
    ...{ dataDir: folder.path, store: sink, clock: systemClock, random: () => 0.5, syncEveryMs: 0, log },
    disk: faultyDisk(),
    tuning: {
      ...{ maxBytes: 20_000, segmentMaxBytes: 2000 },
      ...{ everyMs: LATER_MS, backoffFirstMs: LATER_MS, backoffMaxMs: LATER_MS },
    },
  });
  for (let n = 0; n < 10; n += 1) await journal.append({ t: "done", record: finishedRecord(`r${n}`) });
  expect([journal.isBroken, journal.isBehind]).toEqual([false, true]);
  sink.mode = { is: "away" };
  await expect(flush()).rejects.toThrow("SQL is away");
  expect([journal.isBroken, journal.isBehind]).toEqual([false, false]);
  sink.mode = { is: "takes" };
  await flush();
  expect(journal.isBehind).toBe(false);
  expect(log.lines.map(({ message }) => message)).toEqual([
    "journal: ingest is slower than requests arrive",
    "journal: half full, paid work is refused until ingest has caught up",
    "journal: ingest failed, retrying",
    "journal: ingest has caught up",
  ]);
  await close();
});

test("SCALE-23 segments that open requests alone keep refuse no paid work; pending records do, until ingested", async () => {
  const folder = tempFolder("gateway-journal-");
  onTestFinished(() => folder.remove());
  const log = listeningLog();
  const entryBytes = JSON.stringify(finishedRecord("r00")).length;
  const maxBytes = 100 * entryBytes;
  const { journal, pending, flush, close } = await openIngestPipeline({
    ...{ dataDir: folder.path, store: memorySink(), clock: systemClock, random: () => 0.5, syncEveryMs: 0, log },
    disk: faultyDisk(),
    tuning: {
      ...{ maxBytes, segmentMaxBytes: 3 * entryBytes },
      ...{ everyMs: LATER_MS, backoffFirstMs: LATER_MS, backoffMaxMs: LATER_MS },
    },
  });
  const bytesOnDisk = () =>
    readdirSync(folder.path, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".journal"))
      .reduce((sum, name) => sum + statSync(path.join(folder.path, name)).size, 0);
  const finish = (id: string) => journal.append({ t: "done", record: finishedRecord(id) });

  // Each pair is one write, so one segment has both.
  for (let n = 0; n < 30; n += 1) {
    const record = finishedRecord(`open${n}`);
    const { id, workspaceId, createdAtMs: atMs } = record;
    await Promise.all([journal.append({ t: "open", id, workspaceId, atMs, record }), finish(`r${n}`)]);
    await flush();
    expect(journal.isBehind).toBe(false);
  }
  expect(bytesOnDisk()).toBeGreaterThan(0.5 * maxBytes);
  expect([pending(), log.lines]).toEqual([0, []]);

  for (let n = 0; n < 10; n += 1) await finish(`open${n}`);
  await flush();
  for (let n = 0; n < 55; n += 1) await finish(`late${n}`);
  expect([journal.isBroken, journal.isBehind]).toEqual([false, true]);
  await flush();
  expect([pending(), journal.isBehind]).toEqual([0, false]);
  expect(bytesOnDisk()).toBeGreaterThan(0.4 * maxBytes);
  await close();
});
