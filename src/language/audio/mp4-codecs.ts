import { aacFrameSeconds } from "./adts.ts";

/** What a codec allows its samples to be: the least that one lasts, and the most bytes that they have on average. */
export type SampleKind = { readonly secondsMin: number; readonly bytesMax: number };

const NAME_AT = 12;
/** Frames of fixed length: MP3 at its highest rate, AMR, AC-3, the shortest of E-AC-3, what is usual of Opus. */
const KINDS: ReadonlyMap<string, SampleKind> = new Map([
  [".mp3", { secondsMin: 0.024, bytesMax: 1_441 }],
  ["samr", { secondsMin: 0.02, bytesMax: 32 }],
  ["sawb", { secondsMin: 0.02, bytesMax: 61 }],
  ["ac-3", { secondsMin: 0.032, bytesMax: 3_840 }],
  ["ec-3", { secondsMin: 0.005, bytesMax: 4_096 }],
  ["Opus", { secondsMin: 0.01, bytesMax: 1_275 }],
]);
/** What two channels can have in a frame; more of them share their bits. */
const AAC_FRAME_MAX_BYTES = 1_536;
const LOSSLESS_SAMPLE_MAX_BYTES = 8;

/**
 * What the samples of a track are, by the body of its `stsd`. Undefined where that does not bound how long they last: in
 * codecs without frames of a known length, and where there is more than one kind.
 */
export function sampleKindOf(stsd: Buffer): SampleKind | undefined {
  if (stsd.length < NAME_AT + 4 || stsd.readUInt32BE(4) !== 1) return undefined;
  const name = stsd.toString("latin1", NAME_AT, NAME_AT + 4);
  if (name === "mp4a") return aac(stsd);
  return name === "alac" ? alac(stsd) : KINDS.get(name);
}

const ES = 3;
const DECODER = 4;
const CONFIG = 5;
/** MPEG-4 audio and the profiles of AAC in MPEG-2; what else calls itself so is no AAC. */
const AAC_TYPES: ReadonlySet<number> = new Set([0x40, 0x66, 0x67, 0x68]);

function aac(stsd: Buffer): SampleKind | undefined {
  const named = stsd.indexOf("esds", NAME_AT, "latin1");
  if (named < 0) return undefined;
  const decoderAt = bodyOf(ES, stsd, named + 8) + 3;
  const typeAt = bodyOf(DECODER, stsd, decoderAt);
  const configAt = bodyOf(CONFIG, stsd, typeAt + 13);
  if (!AAC_TYPES.has(stsd[typeAt] ?? 0)) return undefined;
  const secondsMin = aacFrameSeconds(stsd.subarray(configAt));
  return secondsMin === undefined ? undefined : { secondsMin, bytesMax: AAC_FRAME_MAX_BYTES };
}

/** Where the body of a descriptor begins, behind a length in one to four bytes; beyond the end when it is not there. */
function bodyOf(tag: number, bytes: Buffer, at: number): number {
  if (bytes[at] !== tag) return bytes.length;
  let next = at + 1;
  while ((bytes[next] ?? 0) >= 0x80) next++;
  return next + 1;
}

/** The decoder's own box tells the samples of a frame and their rate. */
function alac(stsd: Buffer): SampleKind | undefined {
  const named = stsd.indexOf("alac", NAME_AT + 4, "latin1");
  if (named < 0 || named + 32 > stsd.length) return undefined;
  const [samples, rateHz] = [stsd.readUInt32BE(named + 8), stsd.readUInt32BE(named + 28)];
  if (samples === 0 || rateHz === 0) return undefined;
  return { secondsMin: samples / rateHz, bytesMax: samples * LOSSLESS_SAMPLE_MAX_BYTES };
}
