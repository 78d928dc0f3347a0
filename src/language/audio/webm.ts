import type { AudioMeter } from "./meter.ts";
import { Scanner, SKIP_ALL } from "./scanner.ts";
import { BLOCK_HEADER_BYTES, WebmTrack } from "./webm-track.ts";

const EBML_HEADER = 0x1a45dfa3;
const TRACK_ENTRY = 0xae;
const TIMESTAMP_SCALE = 0x2ad7b1;
const TRACK_NUMBER = 0xd7;
const TRACK_TYPE = 0x83;
const CODEC_ID = 0x86;
const CODEC_PRIVATE = 0x63a2;
const CONTENT_ENCODINGS = 0x6d80;
const SAMPLING_FREQUENCY = 0xb5;
const CHANNELS = 0x9f;
const BIT_DEPTH = 0x6264;
const CLUSTER_TIMESTAMP = 0xe7;
const SIMPLE_BLOCK = 0xa3;
const BLOCK = 0xa1;
/** Segment, Info, Tracks, TrackEntry, Audio, Cluster and BlockGroup: their children are read next. */
const MASTER_ELEMENTS: ReadonlySet<number> = new Set([
  0x18538067,
  0x1549a966,
  0x1654ae6b,
  TRACK_ENTRY,
  0xe1,
  0x1f43b675,
  0xa0,
]);

const PARSED_ELEMENTS: ReadonlySet<number> = new Set([
  TIMESTAMP_SCALE,
  TRACK_NUMBER,
  TRACK_TYPE,
  CODEC_ID,
  CODEC_PRIVATE,
  CONTENT_ENCODINGS,
  SAMPLING_FREQUENCY,
  CHANNELS,
  BIT_DEPTH,
  CLUSTER_TIMESTAMP,
  SIMPLE_BLOCK,
  BLOCK,
]);
/** Covers the Vorbis identification header. */
const ELEMENT_BODY_MAX_BYTES = 64;
const DEFAULT_SCALE_NANOS = 1_000_000;
/** More than any speech file has. */
const TRACKS_MAX = 16;

const NO_TRACKS: readonly WebmTrack[] = [];

type EbmlElement = { readonly id: number; readonly headerBytes: number; readonly bodyBytes: number };

/** Measures WebM and Matroska: Opus and PCM by their packets, other codecs by block timestamps. */
export class WebmMeter implements AudioMeter {
  readonly #scanner = new Scanner((bytes, at) => this.#read(bytes, at));
  readonly #tracks: WebmTrack[] = [];
  #hasTooManyTracks = false;
  #hasStarted = false;
  #scaleNanos = DEFAULT_SCALE_NANOS;
  #clusterTime = 0;
  /** Tracks whose block the scanner may still be skipping. */
  #blockTracks: readonly WebmTrack[] = NO_TRACKS;

  push(chunk: Buffer): void {
    this.#scanner.push(chunk);
  }

  /**
   * Duration of the longest audio track. Undefined when any audio track is implausible, because a player may play any
   * of them.
   */
  seconds(): number | undefined {
    if (this.#hasTooManyTracks) return undefined;
    let longest: number | undefined;
    for (const track of this.#tracks.filter(({ hasFrames }) => hasFrames)) {
      const missingBytes = this.#blockTracks.includes(track) ? this.#scanner.missingBytes : 0;
      const seconds = track.seconds(this.#scaleNanos, missingBytes);
      if (seconds === undefined) return undefined;
      longest = Math.max(seconds, longest ?? 0);
    }
    return longest;
  }

  #read(bytes: Buffer, at: number): number | undefined {
    const element = readElementHeader(bytes, at);
    if (element === "more") return undefined;
    this.#blockTracks = NO_TRACKS;
    if (element === undefined || (!this.#hasStarted && element.id !== EBML_HEADER)) return SKIP_ALL;
    this.#hasStarted = true;
    if (element.id === TRACK_ENTRY) this.#startTrack();
    if (MASTER_ELEMENTS.has(element.id)) return element.headerBytes;
    if (PARSED_ELEMENTS.has(element.id)) {
      const readBytes = Math.min(element.bodyBytes, ELEMENT_BODY_MAX_BYTES);
      const from = at + element.headerBytes;
      if (bytes.length < from + readBytes) return undefined;
      this.#readValue(element, bytes.subarray(from, from + readBytes));
    }
    return element.headerBytes + element.bodyBytes;
  }

  #startTrack(): void {
    if (this.#tracks.length < TRACKS_MAX) this.#tracks.push(new WebmTrack());
    else this.#hasTooManyTracks = true;
  }

  #readValue({ id, bodyBytes }: EbmlElement, body: Buffer): void {
    const track = this.#tracks.at(-1);
    if (id === SIMPLE_BLOCK || id === BLOCK) this.#readBlock(body, bodyBytes);
    else if (id === CLUSTER_TIMESTAMP) this.#clusterTime = readUnsigned(body);
    else if (id === TIMESTAMP_SCALE) this.#scaleNanos = readUnsigned(body) || DEFAULT_SCALE_NANOS;
    else if (track?.hasFrames === false) applyTrackField(track, id, body);
  }

  #readBlock(body: Buffer, bodyBytes: number): void {
    const number = readVint(body, 0);
    if (typeof number !== "object" || body.length < number.bytes + BLOCK_HEADER_BYTES) return;
    const time = this.#clusterTime + body.readInt16BE(number.bytes);
    const block = { time, head: body.subarray(number.bytes), bytes: bodyBytes - number.bytes };
    this.#blockTracks = this.#tracks.filter((track) => track.isAudioTrack(number.value));
    for (const track of this.#blockTracks) track.addBlock(block, this.#scaleNanos);
  }
}

function applyTrackField(track: WebmTrack, id: number, body: Buffer): void {
  if (id === TRACK_NUMBER) track.number = readUnsigned(body);
  else if (id === TRACK_TYPE) track.type = readUnsigned(body);
  else if (id === CODEC_ID) track.codec = body.toString("latin1").replace(/\0+$/, "");
  else if (id === CODEC_PRIVATE) track.config = Buffer.from(body);
  else if (id === CONTENT_ENCODINGS) track.isEncoded = true;
  else if (id === CHANNELS) track.channels = readUnsigned(body);
  else if (id === BIT_DEPTH) track.bits = readUnsigned(body);
  else if (id === SAMPLING_FREQUENCY)
    track.rateHz = body.length === 8 ? body.readDoubleBE(0) : body.length === 4 ? body.readFloatBE(0) : 0;
}

export function isWebmStart(head: Buffer): boolean {
  return head.length >= 4 && head.readUInt32BE(0) === EBML_HEADER;
}

function readElementHeader(bytes: Buffer, at: number): EbmlElement | "more" | undefined {
  const idBytes = Math.clz32((bytes[at] ?? 0) << 24) + 1;
  if (idBytes > 4) return undefined;
  if (at + idBytes >= bytes.length) return "more";
  const size = readVint(bytes, at + idBytes);
  if (typeof size !== "object") return size;
  const id = bytes.readUIntBE(at, idBytes);
  // Live encoders do not know the length of a segment or cluster.
  if (size.isUnknown && !MASTER_ELEMENTS.has(id)) return undefined;
  return { id, headerBytes: idBytes + size.bytes, bodyBytes: Math.min(size.value, SKIP_ALL) };
}

type Vint = { readonly bytes: number; readonly value: number; readonly isUnknown: boolean };

/** An EBML variable-length integer. */
function readVint(bytes: Buffer, at: number): Vint | "more" | undefined {
  const first = bytes[at];
  if (first === undefined) return "more";
  const length = Math.clz32(first << 24) + 1;
  if (length > 8) return undefined;
  if (at + length > bytes.length) return "more";
  let value = first & (0xff >>> length);
  let isAllOnes = value === 0xff >>> length;
  for (let i = at + 1; i < at + length; i++) {
    value = value * 256 + (bytes[i] ?? 0);
    isAllOnes &&= bytes[i] === 0xff;
  }
  return { bytes: length, value, isUnknown: isAllOnes };
}

function readUnsigned(body: Buffer): number {
  const bytes = body.subarray(0, 8);
  return bytes.reduce((value, byte) => value * 256 + byte, 0);
}
