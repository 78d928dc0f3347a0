import { z } from "zod";
import type { RequestRecord } from "../../domain/record/record.ts";
import { requestRecordSchema } from "../../domain/record/record-schema.ts";
import type { JournalEntry } from "./types.ts";

const DONE_START = '{"t":"done","record":';

/** The text of an entry. The record's own text is made once and goes on to SQL as it is. */
export function encodeEntry(entry: JournalEntry): { readonly text: string; readonly recordJson: string } {
  const recordJson = JSON.stringify(entry.record);
  if (entry.t === "done") return { text: `${DONE_START}${recordJson}}`, recordJson };
  const { id, workspaceId, atMs } = entry;
  const head = JSON.stringify({ t: "open", id, workspaceId, atMs });
  return { text: `${head.slice(0, -1)},"record":${recordJson}}`, recordJson };
}

/** Fills the disk a little, to find out whether it takes writes again. */
export const FILLER = "\0".repeat(8192);

export type DecodedEntry =
  | { readonly is: "open"; readonly record: RequestRecord }
  | { readonly is: "done"; readonly id: string; readonly recordJson: string }
  | { readonly is: "filler" }
  | { readonly is: "unreadable"; readonly why: string };

const entrySchema = z.object({ t: z.enum(["open", "done"]), record: requestRecordSchema });

export function decodeEntry(text: string): DecodedEntry {
  if (text.startsWith("\0")) return { is: "filler" };
  try {
    const { t, record } = entrySchema.parse(JSON.parse(text));
    if (t === "open") return { is: "open", record };
    return { is: "done", id: record.id, recordJson: recordText(text) ?? JSON.stringify(record) };
  } catch (error) {
    return { is: "unreadable", why: error instanceof Error ? error.message : String(error) };
  }
}

/** The record's bytes as they were written, so that a field this version does not know is not lost. */
function recordText(text: string): string | undefined {
  return text.startsWith(DONE_START) ? text.slice(DONE_START.length, -1) : undefined;
}
