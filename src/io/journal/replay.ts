import type { RequestRecord } from "../../domain/record/record.ts";
import type { Disk } from "./disk.ts";
import { decodeEntry } from "./entry-text.ts";
import { readFrames, type SegmentEnd } from "./frame.ts";
import type { Mover } from "./mover.ts";
import type { JournalLog } from "./types.ts";

export type ReplayReport = { readonly segments: number; readonly done: number; readonly interrupted: number };

/** Everything a segment says, in order. */
export type SegmentContent = {
  readonly opened: RequestRecord[];
  /** Finished requests, with their ids. */
  readonly done: { readonly id: string; readonly recordJson: string }[];
  readonly unreadable: { readonly text: string; readonly why: string }[];
  readonly end: SegmentEnd;
};

export function readSegment(bytes: Buffer): SegmentContent {
  const content: Omit<SegmentContent, "end"> = { opened: [], done: [], unreadable: [] };
  const end = readFrames(bytes, (text) => {
    const entry = decodeEntry(text);
    if (entry.is === "open") content.opened.push(entry.record);
    else if (entry.is === "done") content.done.push({ id: entry.id, recordJson: entry.recordJson });
    else if (entry.is === "unreadable") content.unreadable.push({ text, why: entry.why });
  });
  return { ...content, end };
}

/**
 * Brings what an earlier process left behind into SQL, before the first request is taken: finished requests as they
 * are, and those that had begun and never ended as interrupted, charged nothing.
 */
export async function replay(
  leftovers: readonly string[],
  disk: Disk,
  mover: Mover,
  log: JournalLog,
): Promise<ReplayReport> {
  const open = new Map<string, RequestRecord>();
  const damaged = new Set<string>();
  let done = 0;
  for (const file of leftovers) {
    const content = readSegment(disk.read(file));
    for (const record of content.opened) open.set(record.id, record);
    for (const { id } of content.done) open.delete(id);
    for (const { text, why } of content.unreadable) await mover.setAside(text, why);
    await mover.moveTexts(content.done.map(({ recordJson }) => recordJson));
    done += content.done.length;
    if (content.end.is !== "whole")
      log.warn({ file, ...content.end }, "a journal segment was cut at its first bad frame");
    if (content.end.is === "damaged") damaged.add(file);
  }
  // A request whose end stood in a segment that was moved and deleted earlier is in SQL already, and stays as it is.
  await mover.moveTexts([...open.values()].map((record) => JSON.stringify(interrupted(record))));
  for (const file of leftovers) {
    if (damaged.has(file)) disk.rename(file, `${file}.damaged`);
    else disk.remove(file);
  }
  const report = { segments: leftovers.length, done, interrupted: open.size };
  if (done > 0 || open.size > 0) log.info(report, "the journal of an earlier process was replayed");
  return report;
}

function interrupted(record: RequestRecord): RequestRecord {
  return { ...record, errorCode: "interrupted", charge: null };
}
