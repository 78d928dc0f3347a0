import path from "node:path";
import { z } from "zod";
import type { RequestRecord } from "../../domain/record/record.ts";
import { INTERRUPTED } from "../../domain/record/record.ts";
import type { Log } from "../../kit/log.ts";
import type { BatchIngest, DeadLetter } from "./batch-ingest.ts";
import { RETRY_FILE } from "./dead-letters.ts";
import type { Disk } from "./disk.ts";
import { type DoneEntry, decodeEntry, doneEntryOf, readFrames, type SegmentEnd } from "./segment-decoder.ts";

/** Dead letters that wait in memory until the replay is done; beyond this, a repeated replay may append some twice. */
const PENDING_CHARS_MAX = 16 * 1024 * 1024;

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
 * row may have been purged, and nothing else would show that they were counted. Dead letters are appended last, because a
 * replay may start over until everything else is in SQL.
 */
export async function replay(leftovers: readonly string[], deps: ReplayDeps): Promise<ReplayReport> {
  const { disk, ingest, log, logRetainedFromMs } = deps;
  const open = new Map<string, RequestRecord>();
  let deadLetters: DeadLetter[] = [];
  let skipped = 0;
  const damaged = new Set<string>();
  let done = 0;
  for (const file of leftovers) {
    const content = readSegment(disk.read(file));
    for (const record of content.opened) open.set(record.id, record);
    for (const { id } of content.done) open.delete(id);
    const retained = content.done.filter(({ isCharged, createdAtMs }) => isCharged || createdAtMs >= logRetainedFromMs);
    const rejected = await ingest.ingestTexts(retained.map(({ recordJson }) => recordJson));
    deadLetters = [...deadLetters, ...content.unreadable, ...rejected];
    if (charsOf(deadLetters) > PENDING_CHARS_MAX) await ingest.appendDeadLetters(deadLetters.splice(0));
    done += retained.length;
    skipped += content.done.length - retained.length;
    if (content.end.is !== "whole")
      log.warn({ file, ...content.end }, "journal: segment truncated at its first invalid frame");
    if (content.end.is === "damaged") damaged.add(file);
  }
  // If the `done` entry was in a segment that is already deleted, SQL has the request and ignores this record.
  const interruptedRecords = [...open.values()].filter(({ createdAtMs }) => createdAtMs >= logRetainedFromMs);
  const texts = interruptedRecords.map((record) => JSON.stringify(asInterrupted(record)));
  await ingest.appendDeadLetters([...deadLetters, ...(await ingest.ingestTexts(texts))]);
  skipped += open.size - interruptedRecords.length;
  for (const file of leftovers) {
    if (damaged.has(file)) disk.rename(file, `${file}.damaged`);
    else await disk.remove(file);
  }
  const report = { segments: leftovers.length, done, interrupted: interruptedRecords.length };
  if (done > 0 || interruptedRecords.length > 0) log.info(report, "journal: replayed");
  if (skipped > 0) log.warn({ records: skipped }, "journal: free requests older than the log retention skipped");
  return report;
}

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

function charsOf(deadLetters: readonly DeadLetter[]): number {
  return deadLetters.reduce((chars, { text }) => chars + text.length, 0);
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
