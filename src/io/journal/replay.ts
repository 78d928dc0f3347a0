import path from "node:path";
import { z } from "zod";
import type { RequestRecord } from "../../domain/record/record.ts";
import { INTERRUPTED } from "../../domain/record/record.ts";
import type { Log } from "../../kit/log.ts";
import type { BatchIngest, DeadLetter } from "./batch-ingest.ts";
import { RETRY_FILE } from "./dead-letters.ts";
import type { Disk } from "./disk.ts";
import { type DoneEntry, decodeEntry, doneEntryOf, readFrames, type SegmentEnd } from "./segment-decoder.ts";

export type ReplayReport = { readonly segments: number; readonly done: number; readonly interrupted: number };

/** The entries of one segment, in order. */
export type SegmentContent = {
  readonly opened: RequestRecord[];
  readonly done: DoneEntry[];
  readonly unreadable: DeadLetter[];
  readonly end: SegmentEnd;
};

export function readSegment(bytes: Buffer): SegmentContent {
  const content: Omit<SegmentContent, "end"> = { opened: [], done: [], unreadable: [] };
  const end = readFrames(bytes, (text) => {
    const entry = decodeEntry(text);
    if (entry.is === "open") content.opened.push(entry.record);
    else if (entry.is === "done") content.done.push(entry);
    else if (entry.is === "unreadable") content.unreadable.push({ text, why: entry.why });
  });
  return { ...content, end };
}

export type ReplayDeps = {
  readonly disk: Disk;
  readonly ingest: BatchIngest;
  readonly log: Log;
  /** The log retains requests from this moment on. */
  readonly logRetainedFromMs: number;
};

/**
 * Ingests the segments of an earlier process before the first request is served: finished requests as they are, and those
 * that never ended as interrupted and free. Free requests that are older than the retention of the log are skipped: their
 * row may have been purged, and nothing else would show that they were counted.
 *
 * A segment is removed once its records are in SQL and all requests that began in it have ended, so a replay that is killed
 * continues where it was. Its dead letters are appended right before, so that a repeated replay does not append them twice.
 */
export async function replay(leftovers: readonly string[], deps: ReplayDeps): Promise<ReplayReport> {
  const { disk, ingest, log, logRetainedFromMs } = deps;
  const open = new Map<string, { readonly record: RequestRecord; readonly segment: ReplayedSegment }>();
  const waiting = new Set<ReplayedSegment>();
  let skipped = 0;
  let done = 0;
  const removeFinished = async () => {
    for (const segment of waiting) {
      if (segment.openIds.size > 0) continue;
      await ingest.appendDeadLetters(segment.deadLetters);
      if (segment.isDamaged) disk.rename(segment.file, `${segment.file}.damaged`);
      else await disk.remove(segment.file);
      waiting.delete(segment);
    }
  };
  const readNext = (index: number) => {
    const file = leftovers[index];
    return file === undefined ? undefined : { file, content: readSegment(disk.read(file)) };
  };
  let next = readNext(0);
  for (let index = 1; next !== undefined; index += 1) {
    const { file, content } = next;
    const retained = content.done.filter(({ isCharged, createdAtMs }) => isCharged || createdAtMs >= logRetainedFromMs);
    const ingested = ingest.ingestTexts(retained.map(({ recordJson }) => recordJson));
    // The next segment is read while the store writes this one. A failure is reported after this segment is complete.
    const following = Promise.resolve().then(() => readNext(index));
    following.catch(() => undefined);
    const rejected = await ingested;
    const segment: ReplayedSegment = {
      file,
      openIds: new Set(),
      deadLetters: [...content.unreadable, ...rejected],
      isDamaged: content.end.is === "damaged",
    };
    waiting.add(segment);
    for (const record of content.opened) {
      open.set(record.id, { record, segment });
      segment.openIds.add(record.id);
    }
    for (const { id } of content.done) {
      open.get(id)?.segment.openIds.delete(id);
      open.delete(id);
    }
    done += retained.length;
    skipped += content.done.length - retained.length;
    if (content.end.is !== "whole")
      log.warn({ file, ...content.end }, "journal: segment truncated at its first invalid frame");
    await removeFinished();
    next = await following;
  }
  // If the `done` entry was in a segment that is already deleted, SQL has the request and ignores this record.
  const began = [...open.values()].map(({ record }) => record);
  const interruptedRecords = began.filter(({ createdAtMs }) => createdAtMs >= logRetainedFromMs);
  const texts = interruptedRecords.map((record) => JSON.stringify(asInterrupted(record)));
  await ingest.appendDeadLetters(await ingest.ingestTexts(texts));
  skipped += open.size - interruptedRecords.length;
  for (const { openIds } of waiting) openIds.clear();
  await removeFinished();
  const report = { segments: leftovers.length, done, interrupted: interruptedRecords.length };
  if (done > 0 || interruptedRecords.length > 0) log.info(report, "journal: replayed");
  if (skipped > 0) log.warn({ records: skipped }, "journal: free requests older than the log retention skipped");
  return report;
}

/** A segment that is not removed yet. */
type ReplayedSegment = {
  readonly file: string;
  /** Requests that began in it and have not ended. */
  readonly openIds: Set<string>;
  readonly deadLetters: readonly DeadLetter[];
  readonly isDamaged: boolean;
};

/** Ingests dead letters that an operator marked for a retry; those that are rejected again stay dead letters. */
export async function replayDeadLetters(
  dir: string,
  { disk, ingest }: Pick<ReplayDeps, "disk" | "ingest">,
): Promise<void> {
  if (!disk.list(dir).includes(RETRY_FILE)) return;
  const file = path.join(dir, RETRY_FILE);
  const lines = disk.read(file).toString().split("\n");
  const unreadable: DeadLetter[] = [];
  const records: string[] = [];
  for (const line of lines.filter((text) => text !== "")) {
    const text = textIn(line);
    const recordJson = recordIn(text);
    if (recordJson === undefined) unreadable.push({ text, why: "it is not a request record" });
    else records.push(recordJson);
  }
  const rejected = await ingest.ingestTexts(records);
  await ingest.appendDeadLetters([...unreadable, ...rejected]);
  await disk.remove(file);
}

function textIn(line: string): string {
  try {
    const { text } = z.object({ text: z.string() }).parse(JSON.parse(line));
    return text;
  } catch {
    return line;
  }
}

/** A dead letter is a record that the store rejected, or an unreadable entry. */
function recordIn(text: string): string | undefined {
  const entries = [doneEntryOf(text), text].map(decodeEntry);
  return entries.find((entry) => entry.is === "done")?.recordJson;
}

function asInterrupted(record: RequestRecord): RequestRecord {
  return { ...record, errorCode: INTERRUPTED, charge: null };
}
