import type { Meter } from "./meter.ts";
import { sampleKindOf } from "./mp4-codecs.ts";
import { EDITS_MAX, type Mp4Track, Mp4Tracks, type SampleSize } from "./mp4-track.ts";
import { Scanner, TO_THE_END } from "./scanner.ts";

/** Boxes that hold boxes: their headers are stepped over, so that what they hold is read in its turn. */
const HOLDERS: ReadonlySet<string> = new Set(["moov", "trak", "edts", "mdia", "minf", "stbl", "mvex", "moof", "traf"]);
/** What such a file can begin with. */
const OPENERS: ReadonlySet<string> = new Set(["ftyp", "styp", "moov", "moof", "mdat", "free", "skip", "wide", "sidx"]);
/** Boxes whose fields are read. */
const FIELDS: ReadonlySet<string> = new Set([
  "mvhd",
  "tkhd",
  "elst",
  "hdlr",
  "mdhd",
  "trex",
  "stsd",
  "stts",
  "stsz",
  "stz2",
  "tfhd",
  "trun",
]);
/** So much of a box is enough to read its fields; lists behind them are read entry by entry. */
const FIELDS_BYTES = 4_096;

/** Entries of a table that are still to come: how wide one is, and what one means. */
type Entries = {
  left: number;
  readonly bytes: number;
  /** What stands in the box behind them. */
  readonly bytesAfter: number;
  readonly take: (bytes: Buffer, at: number) => void;
};
type Box = { readonly name: string; readonly headerBytes: number; readonly bodyBytes: number };

/** Measures MP4 and M4A, also in fragments, by the tables that tell how long each sample lasts. */
export class Mp4Meter implements Meter {
  readonly #scanner = new Scanner((bytes, at) => this.#read(bytes, at));
  readonly #tracks = new Mp4Tracks();
  #fileBytes = 0;
  #begun = false;
  #entries: Entries | undefined;
  /** What a sample of the fragment that is being read is where its run does not say. */
  #defaults: SampleSize = { units: 0, bytes: 0 };

  push(chunk: Buffer): void {
    this.#fileBytes += chunk.length;
    this.#scanner.push(chunk);
  }

  seconds(): number | undefined {
    return this.#tracks.seconds(this.#fileBytes);
  }

  #read(bytes: Buffer, at: number): number | undefined {
    if (this.#entries !== undefined && this.#entries.left > 0) return this.#entry(this.#entries, bytes, at);
    const box = boxAt(bytes, at);
    if (box === "more") return undefined;
    if (box === undefined || (!this.#begun && !OPENERS.has(box.name))) return TO_THE_END;
    this.#begun = true;
    if (box.name === "trak") this.#tracks.open();
    if (HOLDERS.has(box.name)) return box.headerBytes;
    if (!FIELDS.has(box.name)) return box.headerBytes + box.bodyBytes;
    const shown = Math.min(box.bodyBytes, FIELDS_BYTES);
    if (bytes.length - at < box.headerBytes + shown) return undefined;
    const body = bytes.subarray(at + box.headerBytes, at + box.headerBytes + shown);
    return box.headerBytes + this.#fields(box, body);
  }

  #entry(entries: Entries, bytes: Buffer, at: number): number | undefined {
    if (bytes.length - at < entries.bytes) return undefined;
    entries.take(bytes, at);
    entries.left--;
    return entries.left > 0 ? entries.bytes : entries.bytes + entries.bytesAfter;
  }

  /** Reads the fields of a box; how far to go on within it. */
  #fields(box: Box, body: Buffer): number {
    const track = this.#tracks.current;
    const long = body[0] === 1;
    if (box.name === "mvhd") this.#tracks.movieUnitsPerSecond = u32(body, long ? 20 : 12);
    else if (box.name === "tkhd") track.id = u32(body, long ? 20 : 12);
    else if (box.name === "hdlr") track.isSound = body.toString("latin1", 8, 12) === "soun";
    else if (box.name === "mdhd") track.unitsPerSecond = u32(body, long ? 20 : 12);
    else if (box.name === "stsd") track.kind ??= sampleKindOf(body);
    else if (box.name === "elst") return this.#edits(box, body);
    else if (box.name === "stsz") return this.#sizes(box, body);
    else if (box.name === "stz2") {
      track.sized += u32(body, 8);
      // The widest that fit into their fields.
      track.bytes += u32(body, 8) * (2 ** (u32(body, 4) & 0xff) - 1);
    } else if (box.name === "trex") {
      const found = this.#tracks.find(u32(body, 4));
      if (found !== undefined) found.defaults = { units: u32(body, 12), bytes: u32(body, 16) };
    } else if (box.name === "stts") {
      return this.#table(box, { at: 8, count: u32(body, 4), bytes: 8 }, (bytes, at) => {
        add(track, bytes.readUInt32BE(at), { units: bytes.readUInt32BE(at + 4), bytes: 0 });
      });
    } else if (box.name === "tfhd") this.#fragmentOf(body);
    else if (box.name === "trun") return this.#run(box, body);
    return box.bodyBytes;
  }

  /** What of the media is played, in the order in which it is; an entry without a place in the media is a pause. */
  #edits(box: Box, body: Buffer): number {
    const track = this.#tracks.current;
    const wide = body[0] === 1;
    return this.#table(box, { at: 8, count: u32(body, 4), bytes: wide ? 20 : 12 }, (bytes, at) => {
      const from = wide ? Number(bytes.readBigInt64BE(at + 8)) : bytes.readInt32BE(at + 4);
      if (from < 0 || track.edits.length > EDITS_MAX) return;
      track.edits.push({ from, units: wide ? Number(bytes.readBigUInt64BE(at)) : bytes.readUInt32BE(at) });
    });
  }

  #sizes(box: Box, body: Buffer): number {
    const track = this.#tracks.current;
    const [bytesEach, count] = [u32(body, 4), u32(body, 8)];
    track.sized += count;
    track.bytes += bytesEach * count;
    if (bytesEach > 0) return box.bodyBytes;
    return this.#table(box, { at: 12, count, bytes: 4 }, (bytes, at) => {
      track.bytes += bytes.readUInt32BE(at);
    });
  }

  #fragmentOf(body: Buffer): void {
    const flags = u32(body, 0) & 0xffffff;
    this.#tracks.pick(u32(body, 4));
    const unitsAt = 8 + ((flags & 1) === 0 ? 0 : 8) + ((flags & 2) === 0 ? 0 : 4);
    const { units, bytes } = this.#tracks.current.defaults;
    this.#defaults = {
      units: (flags & 8) === 0 ? units : u32(body, unitsAt),
      bytes: (flags & 16) === 0 ? bytes : u32(body, unitsAt + ((flags & 8) === 0 ? 0 : 4)),
    };
  }

  #run(box: Box, body: Buffer): number {
    const track = this.#tracks.current;
    const flags = u32(body, 0) & 0xffffff;
    const count = u32(body, 4);
    const { units, bytes } = this.#defaults;
    const [hasUnits, hasBytes] = [(flags & 0x100) !== 0, (flags & 0x200) !== 0];
    if (!hasUnits && !hasBytes) {
      add(track, count, { units, bytes });
      return box.bodyBytes;
    }
    const at = 8 + ((flags & 1) === 0 ? 0 : 4) + ((flags & 4) === 0 ? 0 : 4);
    const width = [0x100, 0x200, 0x400, 0x800].filter((flag) => (flags & flag) !== 0).length * 4;
    return this.#table(box, { at, count, bytes: width }, (entry, from) => {
      const sizeAt = hasUnits ? from + 4 : from;
      add(track, 1, {
        units: hasUnits ? entry.readUInt32BE(from) : units,
        bytes: hasBytes ? entry.readUInt32BE(sizeAt) : bytes,
      });
    });
  }

  /** Goes to the entries of a table. Its count is not believed beyond the end of the box. */
  #table(box: Box, table: { at: number; count: number; bytes: number }, take: Entries["take"]): number {
    const fitting = Math.floor((box.bodyBytes - table.at) / table.bytes);
    const left = Math.min(table.count, fitting);
    if (left <= 0) return box.bodyBytes;
    this.#entries = { left, bytes: table.bytes, bytesAfter: box.bodyBytes - table.at - left * table.bytes, take };
    return table.at;
  }
}

/** Whether a file that begins so is a row of boxes. */
export function opensMp4(head: Buffer): boolean {
  return OPENERS.has(head.toString("latin1", 4, 8));
}

function boxAt(bytes: Buffer, at: number): Box | "more" | undefined {
  const here = bytes.length - at;
  if (here < 8) return "more";
  const size = bytes.readUInt32BE(at);
  const name = bytes.toString("latin1", at + 4, at + 8);
  if (size === 0) return { name, headerBytes: 8, bodyBytes: TO_THE_END };
  if (size !== 1) return size < 8 ? undefined : { name, headerBytes: 8, bodyBytes: size - 8 };
  if (here < 16) return "more";
  const long = Number(bytes.readBigUInt64BE(at + 8));
  return long < 16 ? undefined : { name, headerBytes: 16, bodyBytes: Math.min(long - 16, TO_THE_END) };
}

function add(track: Mp4Track, samples: number, each: SampleSize): void {
  track.samples += samples;
  track.units += samples * each.units;
  track.bytes += samples * each.bytes;
}

/** Zero where the box is too short to have the field. */
function u32(body: Buffer, at: number): number {
  return at + 4 <= body.length ? body.readUInt32BE(at) : 0;
}
