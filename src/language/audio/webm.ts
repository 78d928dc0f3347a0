import type { Meter } from "./meter.ts";
import { Scanner, TO_THE_END } from "./scanner.ts";
import { BLOCK_HEAD_BYTES, WebmTrack } from "./webm-track.ts";

const EBML = 0x1a45dfa3;
const ENTRY = 0xae;
const SCALE = 0x2ad7b1;
const NUMBER = 0xd7;
const TYPE = 0x83;
const CODEC = 0x86;
const CODEC_CONFIG = 0x63a2;
const ENCODINGS = 0x6d80;
const RATE = 0xb5;
const CHANNELS = 0x9f;
const BITS = 0x6264;
const CLUSTER_TIME = 0xe7;
const SIMPLE_BLOCK = 0xa3;
const BLOCK = 0xa1;
/** Elements that hold elements: segment, info, tracks, entry, its sound, cluster, group. They are read in their turn. */
const HOLDERS: ReadonlySet<number> = new Set([0x18538067, 0x1549a966, 0x1654ae6b, ENTRY, 0xe1, 0x1f43b675, 0xa0]);

const VALUES: ReadonlySet<number> = new Set([
  SCALE,
  NUMBER,
  TYPE,
  CODEC,
  CODEC_CONFIG,
  ENCODINGS,
  RATE,
  CHANNELS,
  BITS,
  CLUSTER_TIME,
  SIMPLE_BLOCK,
  BLOCK,
]);
/** Enough for what the decoder of Vorbis is told first. */
const SHOWN_BYTES = 64;
const DEFAULT_SCALE_NANOS = 1_000_000;
/** No file of speech has more. */
const TRACKS_MAX = 16;

const NONE: readonly WebmTrack[] = [];

type Element = { readonly id: number; readonly headerBytes: number; readonly bodyBytes: number };

/** Measures WebM and Matroska: packets of Opus and plain samples by themselves, other sound by the times of its blocks. */
export class WebmMeter implements Meter {
  readonly #scanner = new Scanner((bytes, at) => this.#read(bytes, at));
  readonly #tracks: WebmTrack[] = [];
  #hasMoreTracks = false;
  #begun = false;
  #scaleNanos = DEFAULT_SCALE_NANOS;
  #clusterTime = 0;
  /** Whose block the scanner may still skip the end of. */
  #inBlockOf: readonly WebmTrack[] = NONE;

  push(chunk: Buffer): void {
    this.#scanner.push(chunk);
  }

  /** Of the longest track of sound. Undefined when one of them cannot be true: a player may hear any of them. */
  seconds(): number | undefined {
    if (this.#hasMoreTracks) return undefined;
    let longest: number | undefined;
    for (const track of this.#tracks.filter(({ isHeard }) => isHeard)) {
      const missingBytes = this.#inBlockOf.includes(track) ? this.#scanner.missingBytes : 0;
      const seconds = track.seconds(this.#scaleNanos, missingBytes);
      if (seconds === undefined) return undefined;
      longest = Math.max(seconds, longest ?? 0);
    }
    return longest;
  }

  #read(bytes: Buffer, at: number): number | undefined {
    const element = elementAt(bytes, at);
    if (element === "more") return undefined;
    this.#inBlockOf = NONE;
    if (element === undefined || (!this.#begun && element.id !== EBML)) return TO_THE_END;
    this.#begun = true;
    if (element.id === ENTRY) this.#openTrack();
    if (HOLDERS.has(element.id)) return element.headerBytes;
    if (VALUES.has(element.id)) {
      const shown = Math.min(element.bodyBytes, SHOWN_BYTES);
      const from = at + element.headerBytes;
      if (bytes.length < from + shown) return undefined;
      this.#value(element, bytes.subarray(from, from + shown));
    }
    return element.headerBytes + element.bodyBytes;
  }

  #openTrack(): void {
    if (this.#tracks.length < TRACKS_MAX) this.#tracks.push(new WebmTrack());
    else this.#hasMoreTracks = true;
  }

  #value({ id, bodyBytes }: Element, body: Buffer): void {
    const track = this.#tracks.at(-1);
    if (id === SIMPLE_BLOCK || id === BLOCK) this.#block(body, bodyBytes);
    else if (id === CLUSTER_TIME) this.#clusterTime = unsigned(body);
    else if (id === SCALE) this.#scaleNanos = unsigned(body) || DEFAULT_SCALE_NANOS;
    else if (track?.isHeard === false) describe(track, id, body);
  }

  #block(body: Buffer, bodyBytes: number): void {
    const number = vintAt(body, 0);
    if (typeof number !== "object" || body.length < number.bytes + BLOCK_HEAD_BYTES) return;
    const time = this.#clusterTime + body.readInt16BE(number.bytes);
    const block = { time, head: body.subarray(number.bytes), bytes: bodyBytes - number.bytes };
    this.#inBlockOf = this.#tracks.filter((track) => track.takes(number.value));
    for (const track of this.#inBlockOf) track.add(block, this.#scaleNanos);
  }
}

function describe(track: WebmTrack, id: number, body: Buffer): void {
  if (id === NUMBER) track.number = unsigned(body);
  else if (id === TYPE) track.type = unsigned(body);
  else if (id === CODEC) track.codec = body.toString("latin1").replace(/\0+$/, "");
  else if (id === CODEC_CONFIG) track.config = Buffer.from(body);
  else if (id === ENCODINGS) track.isEncoded = true;
  else if (id === CHANNELS) track.channels = unsigned(body);
  else if (id === BITS) track.bits = unsigned(body);
  else if (id === RATE)
    track.rateHz = body.length === 8 ? body.readDoubleBE(0) : body.length === 4 ? body.readFloatBE(0) : 0;
}

/** Whether a file that begins so is WebM or Matroska. */
export function opensWebm(head: Buffer): boolean {
  return head.length >= 4 && head.readUInt32BE(0) === EBML;
}

function elementAt(bytes: Buffer, at: number): Element | "more" | undefined {
  const idBytes = Math.clz32((bytes[at] ?? 0) << 24) + 1;
  if (idBytes > 4) return undefined;
  if (at + idBytes >= bytes.length) return "more";
  const size = vintAt(bytes, at + idBytes);
  if (typeof size !== "object") return size;
  const id = bytes.readUIntBE(at, idBytes);
  // Who streams does not know how long a segment or a cluster will be.
  if (size.isUnknown && !HOLDERS.has(id)) return undefined;
  return { id, headerBytes: idBytes + size.bytes, bodyBytes: Math.min(size.value, TO_THE_END) };
}

type Vint = { readonly bytes: number; readonly value: number; readonly isUnknown: boolean };

/** A number whose first byte tells its length. */
function vintAt(bytes: Buffer, at: number): Vint | "more" | undefined {
  const first = bytes[at];
  if (first === undefined) return "more";
  const length = Math.clz32(first << 24) + 1;
  if (length > 8) return undefined;
  if (at + length > bytes.length) return "more";
  let value = first & (0xff >>> length);
  let ones = value === 0xff >>> length;
  for (let i = at + 1; i < at + length; i++) {
    value = value * 256 + (bytes[i] ?? 0);
    ones &&= bytes[i] === 0xff;
  }
  return { bytes: length, value, isUnknown: ones };
}

function unsigned(body: Buffer): number {
  const bytes = body.subarray(0, 8);
  return bytes.reduce((value, byte) => value * 256 + byte, 0);
}
