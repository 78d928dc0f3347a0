import { aacFrameSeconds } from "./adts.ts";
import type { Meter } from "./meter.ts";
import { OPUS_RATE_HZ, opusSamples } from "./opus.ts";
import { RATE_MAX_HZ } from "./pcm.ts";
import { Scanner, TO_THE_END } from "./scanner.ts";

const EBML = 0x1a45dfa3;
const ENTRY = 0xae;
const SCALE = 0x2ad7b1;
const NUMBER = 0xd7;
const TYPE = 0x83;
const CODEC = 0x86;
const CODEC_CONFIG = 0x63a2;
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
  RATE,
  CHANNELS,
  BITS,
  CLUSTER_TIME,
  SIMPLE_BLOCK,
  BLOCK,
]);
const SHOWN_BYTES = 16;
const AUDIO = 2;
const LACED = 0x06;
const DEFAULT_SCALE_NANOS = 1_000_000;
const TRACKS_MAX = 16;
/** No block of sound lasts longer. */
const BLOCK_MAX_NANOS = 10e9;
/** The least that a frame lasts, by its codec: a clock that runs faster was made up. */
const FRAME_MIN_SECONDS: ReadonlyMap<string, number> = new Map([
  ["A_MPEG/L3", 0.024],
  ["A_AC3", 0.032],
  ["A_OPUS", 0.01],
  ["A_VORBIS", 0.001],
]);
/** None of those codecs, nor AAC, makes more of a second. */
const BYTES_PER_SECOND_MAX = 80_000;

type Track = {
  number: number;
  type: number;
  codec: string;
  config: Buffer;
  rateHz: number;
  channels: number;
  bits: number;
};
type Element = { readonly id: number; readonly headerBytes: number; readonly bodyBytes: number };

/** Measures WebM and Matroska: packets of Opus and plain samples by themselves, other sound by the times of its blocks. */
export class WebmMeter implements Meter {
  readonly #scanner = new Scanner((bytes, at) => this.#read(bytes, at));
  readonly #tracks: Track[] = [];
  #begun = false;
  #scaleNanos = DEFAULT_SCALE_NANOS;
  #clusterTime = 0;
  #opusSamples = 0;
  #hasLaces = false;
  #frames = 0;
  #sound: Track | undefined;
  #soundBytes = 0;
  /** Whether what the scanner still skips is the end of a block of sound. */
  #isInSound = false;
  #lastTime: number | undefined;
  /** From each block to the next. */
  #time = 0;
  /** Between the last two blocks: how long the last one lasts, as far as that shows. */
  #pace = 0;

  push(chunk: Buffer): void {
    this.#scanner.push(chunk);
  }

  seconds(): number | undefined {
    if (this.#sound === undefined) return undefined;
    const bytes = this.#soundBytes - (this.#isInSound ? this.#scanner.missingBytes : 0);
    if (this.#sound.codec.startsWith("A_PCM/")) return plainSeconds(this.#sound, bytes);
    if (this.#opusSamples > 0 && !this.#hasLaces) return this.#opusSamples / OPUS_RATE_HZ;
    const seconds = ((this.#time + this.#pace) * this.#scaleNanos) / 1e9;
    const shortest = frameSeconds(this.#sound);
    if (shortest === undefined || seconds < (this.#frames - 1) * shortest) return undefined;
    return bytes > seconds * BYTES_PER_SECOND_MAX ? undefined : Math.max(seconds, this.#opusSamples / OPUS_RATE_HZ);
  }

  #read(bytes: Buffer, at: number): number | undefined {
    const element = elementAt(bytes, at);
    if (element === "more") return undefined;
    this.#isInSound = false;
    if (element === undefined || (!this.#begun && element.id !== EBML)) return TO_THE_END;
    this.#begun = true;
    if (element.id === ENTRY && this.#tracks.length < TRACKS_MAX) this.#tracks.push(blank());
    if (HOLDERS.has(element.id)) return element.headerBytes;
    if (VALUES.has(element.id)) {
      const shown = Math.min(element.bodyBytes, SHOWN_BYTES);
      const from = at + element.headerBytes;
      if (bytes.length < from + shown) return undefined;
      this.#value(element, bytes.subarray(from, from + shown));
    }
    return element.headerBytes + element.bodyBytes;
  }

  #value({ id, bodyBytes }: Element, body: Buffer): void {
    const track = this.#tracks.at(-1);
    if (id === SIMPLE_BLOCK || id === BLOCK) this.#block(body, bodyBytes);
    else if (id === CLUSTER_TIME) this.#clusterTime = unsigned(body);
    else if (id === SCALE) this.#scaleNanos = unsigned(body) || DEFAULT_SCALE_NANOS;
    else if (track !== undefined) describe(track, id, body);
  }

  #block(body: Buffer, bodyBytes: number): void {
    const number = vintAt(body, 0);
    const sound = this.#tracks.find((track) => track.type === AUDIO);
    if (typeof number !== "object" || number.value !== sound?.number || body.length < number.bytes + 3) return;
    const time = this.#clusterTime + body.readInt16BE(number.bytes);
    const gap = time - (this.#lastTime ?? time);
    // Longer is a pause, or a lie: either way there is no sound in it.
    const isPause = gap < 0 || gap * this.#scaleNanos > BLOCK_MAX_NANOS;
    if (!isPause) this.#pace = gap;
    this.#time += isPause ? 0 : gap;
    this.#lastTime = time;
    this.#sound = sound;
    this.#soundBytes += bodyBytes - number.bytes - 3;
    this.#isInSound = true;
    const isLaced = (body.readUInt8(number.bytes + 2) & LACED) !== 0;
    this.#frames += 1 + (isLaced ? (body[number.bytes + 3] ?? 0) : 0);
    if (isLaced) this.#hasLaces = true;
    else if (sound.codec === "A_OPUS") this.#opusSamples += opusSamples(body.subarray(number.bytes + 3));
  }
}

function blank(): Track {
  return { number: 0, type: 0, codec: "", config: Buffer.alloc(0), rateHz: 8_000, channels: 1, bits: 0 };
}

function describe(track: Track, id: number, body: Buffer): void {
  if (id === NUMBER) track.number = unsigned(body);
  else if (id === TYPE) track.type = unsigned(body);
  else if (id === CODEC) track.codec = body.toString("latin1").replace(/\0+$/, "");
  else if (id === CODEC_CONFIG) track.config = Buffer.from(body);
  else if (id === CHANNELS) track.channels = unsigned(body);
  else if (id === BITS) track.bits = unsigned(body);
  else if (id === RATE)
    track.rateHz = body.length === 8 ? body.readDoubleBE(0) : body.length === 4 ? body.readFloatBE(0) : 0;
}

function frameSeconds({ codec, config }: Track): number | undefined {
  return codec.startsWith("A_AAC") ? aacFrameSeconds(config) : FRAME_MIN_SECONDS.get(codec);
}

function plainSeconds({ rateHz, channels, bits }: Track, bytes: number): number | undefined {
  const isKnown = rateHz >= 1 && rateHz <= RATE_MAX_HZ && channels > 0 && bits > 0 && bits <= 64;
  return isKnown ? bytes / (channels * Math.ceil(bits / 8)) / rateHz : undefined;
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
