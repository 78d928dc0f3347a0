import { crc32 } from "node:zlib";
import { z } from "zod";
import type { RequestRecord } from "../../domain/record/record.ts";
import { requestRecordSchema } from "../../domain/record/record-schema.ts";
import { DONE_START, ENTRY_END, FRAME_MAX_BYTES, HEADER_BYTES } from "./segment-frames.ts";

export const doneEntryOf = (recordJson: string): string => `${DONE_START}${recordJson}${ENTRY_END}`;

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

/** `torn`: a crash interrupted the last write. `damaged`: the rest cannot come from an interrupted write. */
export type SegmentEnd =
  | { readonly is: "whole" }
  | { readonly is: "torn" | "damaged"; readonly atByte: number; readonly restBytes: number };

/** Passes every payload on in order, up to the first invalid frame. */
export function readFrames(bytes: Buffer, take: (payload: string) => void): SegmentEnd {
  let at = 0;
  while (at < bytes.length) {
    const start = at + HEADER_BYTES;
    const length = start <= bytes.length ? bytes.readUInt32LE(at) : 0;
    const end = start + length;
    const fits = length > 0 && length <= FRAME_MAX_BYTES && end <= bytes.length;
    if (!fits || crc32(bytes.subarray(start, end)) !== bytes.readUInt32LE(at + 4)) return endAt(bytes, at, end);
    take(bytes.toString("utf8", start, end));
    at = end;
  }
  return { is: "whole" };
}

function endAt(bytes: Buffer, atByte: number, frameEnd: number): SegmentEnd {
  const rest = bytes.subarray(atByte);
  const isTorn = frameEnd >= bytes.length || rest.every((byte) => byte === 0);
  return { is: isTorn ? "torn" : "damaged", atByte, restBytes: rest.length };
}
