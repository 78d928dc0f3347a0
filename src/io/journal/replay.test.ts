import { expect, onTestFinished, test } from "vitest";
import { faultyDisk, listeningLog, memorySink, tempFolder } from "../../../tests/support/journal-fixture.ts";
import { finishedRecord } from "../../../tests/support/records.ts";
import { systemClock } from "../../kit/clock.ts";
import { BatchIngest } from "./batch-ingest.ts";
import type { JournalEntry } from "./journal.ts";
import { openJournal, segmentsIn } from "./open-journal.ts";
import { replay } from "./replay.ts";

const done = (id: string): JournalEntry => ({ t: "done", record: finishedRecord(id) });
const opened = (id: string): JournalEntry => {
  const record = finishedRecord(id);
  return { t: "open", id, workspaceId: record.workspaceId, atMs: record.createdAtMs, record };
};

test("SCALE-23 a replay that is interrupted continues where it was, and no request is lost", async () => {
  const folder = tempFolder("gateway-journal-");
  onTestFinished(() => folder.remove());
  const [sink, log, disk] = [memorySink(), listeningLog(), faultyDisk()];
  const journal = await openJournal({
    ...{ dir: folder.path, clock: systemClock, syncEveryMs: 0, log, disk, segmentMaxBytes: 3000 },
  });
  // The first segment has a request that ends in the last one, the second one a request that never ends.
  await journal.append(opened("long"));
  for (let n = 0; n < 4; n += 1) await journal.append(done(`a${n}`));
  await journal.append(opened("lost"));
  for (let n = 0; n < 12; n += 1) await journal.append(done(`b${n}`));
  await journal.append(done("long"));
  await journal.close();
  const segments = segmentsIn(folder.path, disk);
  expect(segments.length).toBeGreaterThan(4);
  const deps = { disk, ingest: new BatchIngest(sink, folder.path, disk, log), log, logRetainedFromMs: 0 };
  const lastBatch = segments.length - 1;
  let batches = 0;
  const dying = {
    ingestBatch: async (batch: Parameters<typeof sink.ingestBatch>[0]) => {
      batches += 1;
      if (batches > lastBatch) throw new Error("killed");
      await sink.ingestBatch(batch);
    },
  };
  await expect(replay(segments, { ...deps, ingest: new BatchIngest(dying, folder.path, disk, log) })).rejects.toThrow();
  const left = segmentsIn(folder.path, disk);
  expect(left.length).toBeLessThan(segments.length);
  await replay(left, deps);
  expect(segmentsIn(folder.path, disk)).toEqual([]);
  expect(sink.records.size).toBe(18);
  expect(sink.records.get("long")?.errorCode).toBeNull();
  expect(sink.records.get("lost")?.errorCode).toBe("interrupted");
});
