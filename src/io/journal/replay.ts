import path from "node:path";
import { z } from "zod";
import type { RequestRecord } from "../../domain/record/record.ts";
import { INTERRUPTED } from "../../domain/record/request-outcome.ts";
import type { Log } from "../../kit/log.ts";
import type { BatchIngest, DeadLetter } from "./batch-ingest.ts";
import { RETRY_FILE } from "./dead-letters.ts";
import type { Disk } from "./disk.ts";
import { type DoneEntry, decodeEntry, doneEntryOf } from "./entry-codec.ts";
import { readFrames, type SegmentEnd } from "./frame.ts";

/** Of what can never be stored, this much waits in memory for the others; more than that may be set aside twice. */
const HELD_CHARS_MAX = 16 * 1024 * 1024;

export type ReplayReport = { readonly segments: number; readonly done: number; readonly interrupted: number };

/** Everything a segment says, in order. */
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
  /** The log keeps requests from this moment on. */
  readonly logRetainedFromMs: number;
};

/**
 * Brings what an earlier process left behind into SQL, before the first request is taken: finished requests as they
 * are, and those that had begun and never ended as interrupted, charged nothing. What cost nothing and is older than the
 * log keeps is left out: its row may have left the log, and nothing else would say that it was counted.
 * What can never be stored is set aside when everything else is in SQL: until then a replay may begin anew.
 */
export async function replay(leftovers: readonly string[], deps: ReplayDeps): Promise<ReplayReport> {
  const { disk, ingest, log, logRetainedFromMs } = deps;
  const open = new Map<string, RequestRecord>();
  let held: DeadLetter[] = [];
  let left = 0;
  const damaged = new Set<string>();
  let done = 0;
  for (const file of leftovers) {
    const content = readSegment(disk.read(file));
    for (const record of content.opened) open.set(record.id, record);
    for (const { id } of content.done) open.delete(id);
    const taken = content.done.filter(
      ({ cost, createdAtMs }) => cost === "something" || createdAtMs >= logRetainedFromMs,
    );
    const refused = await ingest.ingestTexts(taken.map(({ recordJson }) => recordJson));
    held = [...held, ...content.unreadable, ...refused];
    if (charsOf(held) > HELD_CHARS_MAX) await ingest.appendDeadLetters(held.splice(0));
    done += taken.length;
    left += content.done.length - taken.length;
    if (content.end.is !== "whole")
      log.warn({ file, ...content.end }, "a journal segment was cut at its first bad frame");
    if (content.end.is === "damaged") damaged.add(file);
  }
  // A request whose end stood in a segment that was moved and deleted earlier is in SQL already, and stays as it is.
  const begun = [...open.values()].filter(({ createdAtMs }) => createdAtMs >= logRetainedFromMs);
  const texts = begun.map((record) => JSON.stringify(interrupted(record)));
  await ingest.appendDeadLetters([...held, ...(await ingest.ingestTexts(texts))]);
  left += open.size - begun.length;
  for (const file of leftovers) {
    if (damaged.has(file)) disk.rename(file, `${file}.damaged`);
    else await disk.remove(file);
  }
  const report = { segments: leftovers.length, done, interrupted: begun.length };
  if (done > 0 || begun.length > 0) log.info(report, "the journal of an earlier process was replayed");
  if (left > 0)
    log.warn(
      { records: left },
      "requests that cost nothing and are older than the log keeps were left out: usage is without those that it did not have before",
    );
  return report;
}

/** What was set aside and is to be sent once more. What is refused again is set aside again. */
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
    if (recordJson === undefined) unreadable.push({ text, why: "it is not the record of a request" });
    else records.push(recordJson);
  }
  const refused = await ingest.ingestTexts(records);
  await ingest.appendDeadLetters([...unreadable, ...refused]);
  await disk.remove(file);
}

function charsOf(refused: readonly DeadLetter[]): number {
  return refused.reduce((chars, { text }) => chars + text.length, 0);
}

function textIn(line: string): string {
  try {
    const { text } = z.object({ text: z.string() }).parse(JSON.parse(line));
    return text;
  } catch {
    return line;
  }
}

/** The store refused a record, or the journal had an entry that could not be read. */
function recordIn(text: string): string | undefined {
  const entries = [doneEntryOf(text), text].map(decodeEntry);
  return entries.find((entry) => entry.is === "done")?.recordJson;
}

function interrupted(record: RequestRecord): RequestRecord {
  return { ...record, errorCode: INTERRUPTED, charge: null };
}
