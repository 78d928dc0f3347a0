import type { AudioMeter } from "./meter.ts";
import { sampleBoundsOf } from "./mp4-codecs.ts";
import { EDITS_MAX, type Mp4Track, Mp4Tracks, type SampleDefaults } from "./mp4-track.ts";
import { Scanner, SKIP_ALL } from "./scanner.ts";

/** Container boxes: only their header is skipped, so their children are read next. */
const CONTAINER_BOXES: ReadonlySet<string> = new Set([
  "moov",
  "trak",
  "edts",
  "mdia",
  "minf",
  "stbl",
  "mvex",
  "moof",
  "traf",
]);
/** Boxes that can start a file. */
const FIRST_BOXES: ReadonlySet<string> = new Set([
  "ftyp",
  "styp",
  "moov",
  "moof",
  "mdat",
  "free",
  "skip",
  "wide",
  "sidx",
]);
const PARSED_BOXES: ReadonlySet<string> = new Set([
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
/** Covers the fixed fields of every box; tables behind them are read entry by entry. */
const BOX_FIELDS_MAX_BYTES = 4_096;

/** A table whose entries are still to be read. */
type PendingTable = {
  remaining: number;
  readonly bytes: number;
  /** Bytes in the box after the table. */
  readonly trailingBytes: number;
  readonly readEntry: (bytes: Buffer, at: number) => void;
};
type Mp4Box = { readonly name: string; readonly headerBytes: number; readonly bodyBytes: number };

/** Measures MP4 and M4A, fragmented or not, by the tables that state each sample's duration. */
export class Mp4Meter implements AudioMeter {
  readonly #scanner = new Scanner((bytes, at) => this.#read(bytes, at));
  readonly #tracks = new Mp4Tracks();
  #fileBytes = 0;
  #hasStarted = false;
  #pendingTable: PendingTable | undefined;
  /** Sample duration and size of the current fragment where its run does not state them. */
  #fragmentDefaults: SampleDefaults = { units: 0, bytes: 0 };

  push(chunk: Buffer): void {
    this.#fileBytes += chunk.length;
    this.#scanner.push(chunk);
  }

  seconds(): number | undefined {
    return this.#tracks.seconds(this.#fileBytes);
  }

  #read(bytes: Buffer, at: number): number | undefined {
    if (this.#pendingTable !== undefined && this.#pendingTable.remaining > 0)
      return this.#readTableEntry(this.#pendingTable, bytes, at);
    const box = boxAt(bytes, at);
    if (box === "more") return undefined;
    if (box === undefined || (!this.#hasStarted && !FIRST_BOXES.has(box.name))) return SKIP_ALL;
    this.#hasStarted = true;
    if (box.name === "trak") this.#tracks.startTrack();
    if (CONTAINER_BOXES.has(box.name)) return box.headerBytes;
    if (!PARSED_BOXES.has(box.name)) return box.headerBytes + box.bodyBytes;
    const shown = Math.min(box.bodyBytes, BOX_FIELDS_MAX_BYTES);
    if (bytes.length - at < box.headerBytes + shown) return undefined;
    const body = bytes.subarray(at + box.headerBytes, at + box.headerBytes + shown);
    return box.headerBytes + this.#readBoxFields(box, body);
  }

  #readTableEntry(entries: PendingTable, bytes: Buffer, at: number): number | undefined {
    if (bytes.length - at < entries.bytes) return undefined;
    entries.readEntry(bytes, at);
    entries.remaining--;
    return entries.remaining > 0 ? entries.bytes : entries.bytes + entries.trailingBytes;
  }

  /** Returns how far to advance within the box. */
  #readBoxFields(box: Mp4Box, body: Buffer): number {
    const track = this.#tracks.current;
    const long = body[0] === 1;
    if (box.name === "mvhd") this.#tracks.movieUnitsPerSecond = u32(body, long ? 20 : 12);
    else if (box.name === "tkhd") track.id = u32(body, long ? 20 : 12);
    else if (box.name === "hdlr") track.isAudio = body.toString("latin1", 8, 12) === "soun";
    else if (box.name === "mdhd") track.unitsPerSecond = u32(body, long ? 20 : 12);
    else if (box.name === "stsd") track.sampleBounds ??= sampleBoundsOf(body);
    else if (box.name === "elst") return this.#readEditList(box, body);
    else if (box.name === "stsz") return this.#readSampleSizes(box, body);
    else if (box.name === "stz2") {
      track.sizedSamples += u32(body, 8);
      // Upper bound: the largest size that the field width allows.
      track.bytes += u32(body, 8) * (2 ** (u32(body, 4) & 0xff) - 1);
    } else if (box.name === "trex") {
      const found = this.#tracks.find(u32(body, 4));
      if (found !== undefined) found.defaults = { units: u32(body, 12), bytes: u32(body, 16) };
    } else if (box.name === "stts") {
      return this.#startTable(box, { at: 8, count: u32(body, 4), bytes: 8 }, (bytes, at) => {
        addSamples(track, bytes.readUInt32BE(at), { units: bytes.readUInt32BE(at + 4), bytes: 0 });
      });
    } else if (box.name === "tfhd") this.#readFragmentHeader(body);
    else if (box.name === "trun") return this.#readTrackRun(box, body);
    return box.bodyBytes;
  }

  /** Edit list: the parts of the media in playback order. An entry with a negative start is a pause. */
  #readEditList(box: Mp4Box, body: Buffer): number {
    const track = this.#tracks.current;
    const wide = body[0] === 1;
    return this.#startTable(box, { at: 8, count: u32(body, 4), bytes: wide ? 20 : 12 }, (bytes, at) => {
      const mediaStartUnits = wide ? Number(bytes.readBigInt64BE(at + 8)) : bytes.readInt32BE(at + 4);
      if (mediaStartUnits < 0 || track.edits.length > EDITS_MAX) return;
      track.edits.push({
        mediaStartUnits,
        movieUnits: wide ? Number(bytes.readBigUInt64BE(at)) : bytes.readUInt32BE(at),
      });
    });
  }

  #readSampleSizes(box: Mp4Box, body: Buffer): number {
    const track = this.#tracks.current;
    const [bytesEach, count] = [u32(body, 4), u32(body, 8)];
    track.sizedSamples += count;
    track.bytes += bytesEach * count;
    if (bytesEach > 0) return box.bodyBytes;
    return this.#startTable(box, { at: 12, count, bytes: 4 }, (bytes, at) => {
      track.bytes += bytes.readUInt32BE(at);
    });
  }

  #readFragmentHeader(body: Buffer): void {
    const flags = u32(body, 0) & 0xffffff;
    this.#tracks.select(u32(body, 4));
    const unitsAt = 8 + ((flags & 1) === 0 ? 0 : 8) + ((flags & 2) === 0 ? 0 : 4);
    const { units, bytes } = this.#tracks.current.defaults;
    this.#fragmentDefaults = {
      units: (flags & 8) === 0 ? units : u32(body, unitsAt),
      bytes: (flags & 16) === 0 ? bytes : u32(body, unitsAt + ((flags & 8) === 0 ? 0 : 4)),
    };
  }

  #readTrackRun(box: Mp4Box, body: Buffer): number {
    const track = this.#tracks.current;
    const flags = u32(body, 0) & 0xffffff;
    const count = u32(body, 4);
    const { units, bytes } = this.#fragmentDefaults;
    const [hasUnits, hasBytes] = [(flags & 0x100) !== 0, (flags & 0x200) !== 0];
    if (!hasUnits && !hasBytes) {
      addSamples(track, count, { units, bytes });
      return box.bodyBytes;
    }
    const at = 8 + ((flags & 1) === 0 ? 0 : 4) + ((flags & 4) === 0 ? 0 : 4);
    const width = [0x100, 0x200, 0x400, 0x800].filter((flag) => (flags & flag) !== 0).length * 4;
    return this.#startTable(box, { at, count, bytes: width }, (entry, from) => {
      const sizeAt = hasUnits ? from + 4 : from;
      addSamples(track, 1, {
        units: hasUnits ? entry.readUInt32BE(from) : units,
        bytes: hasBytes ? entry.readUInt32BE(sizeAt) : bytes,
      });
    });
  }

  /** The entry count is capped at what fits into the box. */
  #startTable(
    box: Mp4Box,
    table: { at: number; count: number; bytes: number },
    readEntry: PendingTable["readEntry"],
  ): number {
    const fitting = Math.floor((box.bodyBytes - table.at) / table.bytes);
    const remaining = Math.min(table.count, fitting);
    if (remaining <= 0) return box.bodyBytes;
    this.#pendingTable = {
      remaining,
      bytes: table.bytes,
      trailingBytes: box.bodyBytes - table.at - remaining * table.bytes,
      readEntry,
    };
    return table.at;
  }
}

export function isMp4Start(head: Buffer): boolean {
  return FIRST_BOXES.has(head.toString("latin1", 4, 8));
}

function boxAt(bytes: Buffer, at: number): Mp4Box | "more" | undefined {
  const here = bytes.length - at;
  if (here < 8) return "more";
  const size = bytes.readUInt32BE(at);
  const name = bytes.toString("latin1", at + 4, at + 8);
  if (size === 0) return { name, headerBytes: 8, bodyBytes: SKIP_ALL };
  if (size !== 1) return size < 8 ? undefined : { name, headerBytes: 8, bodyBytes: size - 8 };
  if (here < 16) return "more";
  const long = Number(bytes.readBigUInt64BE(at + 8));
  return long < 16 ? undefined : { name, headerBytes: 16, bodyBytes: Math.min(long - 16, SKIP_ALL) };
}

function addSamples(track: Mp4Track, samples: number, each: SampleDefaults): void {
  track.timedSamples += samples;
  track.durationUnits += samples * each.units;
  track.bytes += samples * each.bytes;
}

/** Zero when the box is too short for the field. */
function u32(body: Buffer, at: number): number {
  return at + 4 <= body.length ? body.readUInt32BE(at) : 0;
}
