import path from "node:path";
import { type Disk, realDisk } from "./disk.ts";
import type { IngestableJournal, JournalSettings } from "./ingestable-journal.ts";
import { JournalSpace } from "./journal-space.ts";
import { SegmentFiles } from "./segment-files.ts";
import { SegmentReader } from "./segment-frames.ts";
import { SegmentIndex } from "./segment-index.ts";
import { SegmentWriter } from "./segment-writer.ts";
import { SegmentedJournal } from "./segmented-journal.ts";
import { WriteHealth } from "./write-health.ts";

const SEGMENT_PATTERN = /^segment-(\d{12})\.journal$/;
const MIB = 1024 * 1024;

/** Starts a new segment; those of an earlier process wait for the replay. */
export async function openJournal(given: JournalSettings): Promise<IngestableJournal> {
  const settings: Required<JournalSettings> = {
    disk: realDisk,
    segmentMaxBytes: 16 * MIB,
    segmentMaxAgeMs: 60_000,
    maxBytes: 2048 * MIB,
    probeEveryMs: 1000,
    serializeRecord: (record) => JSON.stringify(record),
    ...given,
  };
  const { dir, disk } = settings;
  disk.makeFolder(dir);
  const leftovers = segmentsIn(dir, disk);
  const last = Number(SEGMENT_PATTERN.exec(path.basename(leftovers.at(-1) ?? ""))?.[1] ?? 0);
  const files = new SegmentFiles(settings, last + 1);
  const segments = new SegmentIndex((segment) => files.remove(segment));
  const health = new WriteHealth(settings, (bytes) => writer.probe(bytes));
  const writer = new SegmentWriter(settings, files, segments, (error) => health.markFailed(error));
  await writer.open();
  const reader = new SegmentReader(disk);
  return new SegmentedJournal(settings, leftovers, {
    files,
    segments,
    writer,
    reader,
    health,
    space: new JournalSpace(settings),
  });
}

/** Oldest first. The folder must exist. */
export function segmentsIn(dir: string, disk: Disk): string[] {
  return disk
    .list(dir)
    .filter((name) => SEGMENT_PATTERN.test(name))
    .sort()
    .map((name) => path.join(dir, name));
}
