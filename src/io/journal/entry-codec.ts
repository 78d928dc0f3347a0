import { z } from "zod";
import type { RequestRecord } from "../../domain/record/record.ts";
import { requestRecordSchema } from "../../domain/record/record-schema.ts";
import type { JournalEntry } from "./journal.ts";

const DONE_START = '{"t":"done","record":';

/** The store decides how records are serialized. */
export type SerializeRecord = (record: RequestRecord) => string;

/** An entry is a JSON object whose last field is the record; it is split there, so that the record is not copied. */
export function encodeEntry(
  entry: JournalEntry,
  serializeRecord: SerializeRecord,
): { readonly start: string; readonly recordJson: string } {
  const recordJson = serializeRecord(entry.record);
  if (entry.t === "done") return { start: DONE_START, recordJson };
  const { id, workspaceId, atMs } = entry;
  const head = JSON.stringify({ t: "open", id, workspaceId, atMs });
  return { start: `${head.slice(0, -1)},"record":`, recordJson };
}

export const ENTRY_END = "}";

export const doneEntryOf = (recordJson: string): string => `${DONE_START}${recordJson}${ENTRY_END}`;

const DONE_TAG = DONE_START.indexOf("done");
const DONE_TAG_BYTE = "d".charCodeAt(0);

/** The bounds of the record in the payload of a `done` entry; undefined for every other entry. */
export function doneRecordIn(bytes: Buffer, start: number, end: number): [from: number, to: number] | undefined {
  if (bytes[start + DONE_TAG] !== DONE_TAG_BYTE) return undefined;
  return [start + DONE_START.length, end - ENTRY_END.length];
}

/** Probes whether a full disk takes writes again. */
export const FILLER = "\0".repeat(8192);

/** A finished request as it was written, with the fields that a replay needs. */
export type DoneEntry = Pick<RequestRecord, "id" | "createdAtMs"> & {
  readonly recordJson: string;
  readonly isCharged: boolean;
};

export type DecodedEntry =
  | { readonly is: "open"; readonly record: RequestRecord }
  | ({ readonly is: "done" } & DoneEntry)
  | { readonly is: "filler" }
  | { readonly is: "unreadable"; readonly why: string };

const entrySchema = z.object({ t: z.enum(["open", "done"]), record: requestRecordSchema });

export function decodeEntry(text: string): DecodedEntry {
  if (text.startsWith("\0")) return { is: "filler" };
  try {
    const { t, record } = entrySchema.parse(JSON.parse(text));
    if (t === "open") return { is: "open", record };
    const { id, createdAtMs, charge } = record;
    const isCharged = charge !== null && charge.nanos !== "0";
    return { is: "done", id, createdAtMs, isCharged, recordJson: recordText(text) ?? JSON.stringify(record) };
  } catch (error) {
    return { is: "unreadable", why: error instanceof Error ? error.message : String(error) };
  }
}

/** The text as it was written, so that a field which this version does not know is not lost. */
function recordText(text: string): string | undefined {
  return text.startsWith(DONE_START) ? text.slice(DONE_START.length, -1) : undefined;
}
