import { aacFrameMinSeconds } from "./adts.ts";

/** Bounds of a codec's samples: shortest duration, and largest average size. */
export type SampleBounds = { readonly secondsMin: number; readonly bytesMax: number };

const NAME_OFFSET = 12;
/** Codecs with fixed-length frames: MP3 at its highest rate, AMR, AC-3, and E-AC-3 with all six blocks. */
const BOUNDS_BY_CODEC: ReadonlyMap<string, SampleBounds> = new Map([
  [".mp3", { secondsMin: 0.024, bytesMax: 1_441 }],
  ["samr", { secondsMin: 0.02, bytesMax: 32 }],
  ["sawb", { secondsMin: 0.02, bytesMax: 61 }],
  ["ac-3", { secondsMin: 0.032, bytesMax: 3_840 }],
  ["ec-3", { secondsMin: 0.032, bytesMax: 4_096 }],
]);
/** Maximum for two channels; more channels share the bit reservoir. */
const AAC_FRAME_MAX_BYTES = 1_536;
const LOSSLESS_SAMPLE_MAX_BYTES = 8;

/**
 * Reads an `stsd` body. Undefined when the codec does not bound the duration of a sample (such as Opus, whose packets
 * are not read here) or when there is more than one entry.
 */
export function sampleBoundsOf(stsd: Buffer): SampleBounds | undefined {
  if (stsd.length < NAME_OFFSET + 4 || stsd.readUInt32BE(4) !== 1) return undefined;
  const name = nameAt(stsd, NAME_OFFSET);
  if (name === "mp4a") return aacBounds(stsd);
  return name === "alac" ? alacBounds(stsd) : BOUNDS_BY_CODEC.get(name);
}

const ES_DESCRIPTOR = 3;
const DECODER_DESCRIPTOR = 4;
const CONFIG_DESCRIPTOR = 5;
/** Object type indications of MPEG-4 audio and MPEG-2 AAC. */
const AAC_TYPES: ReadonlySet<number> = new Set([0x40, 0x66, 0x67, 0x68]);

function aacBounds(stsd: Buffer): SampleBounds | undefined {
  const esds = uniqueChildBody("esds", stsd);
  if (esds === undefined) return undefined;
  const decoderAt = descriptorBodyOffset(ES_DESCRIPTOR, esds, 4) + 3;
  const typeAt = descriptorBodyOffset(DECODER_DESCRIPTOR, esds, decoderAt);
  const configAt = descriptorBodyOffset(CONFIG_DESCRIPTOR, esds, typeAt + 13);
  if (!AAC_TYPES.has(esds[typeAt] ?? 0)) return undefined;
  const secondsMin = aacFrameMinSeconds(esds.subarray(configAt));
  return secondsMin === undefined ? undefined : { secondsMin, bytesMax: AAC_FRAME_MAX_BYTES };
}

/** Offset behind the descriptor's one- to four-byte length; `bytes.length` when the descriptor is absent. */
function descriptorBodyOffset(tag: number, bytes: Buffer, at: number): number {
  if (bytes[at] !== tag) return bytes.length;
  let next = at + 1;
  while ((bytes[next] ?? 0) >= 0x80) next++;
  return next + 1;
}

/** The ALAC config states samples per frame and sample rate. */
function alacBounds(stsd: Buffer): SampleBounds | undefined {
  const config = uniqueChildBody("alac", stsd);
  if (config === undefined || config.length < 28) return undefined;
  const [samples, rateHz] = [config.readUInt32BE(4), config.readUInt32BE(24)];
  if (samples === 0 || rateHz === 0) return undefined;
  return { secondsMin: samples / rateHz, bytesMax: samples * LOSSLESS_SAMPLE_MAX_BYTES };
}

type ChildBox = { readonly name: string; readonly body: Buffer };

/** Size of an audio sample entry by version; QuickTime versions have more fields. */
const ENTRY_BYTES = [28, 44, 64] as const;
const VERSION_OFFSET = NAME_OFFSET + 4 + 8;
/** QuickTime wraps the decoder config, with the codec name beside it. */
const WAVE = "wave";
const CODEC_NAME = "frma";

/** Undefined when another box could be mistaken for the one with this name. */
function uniqueChildBody(name: string, stsd: Buffer): Buffer | undefined {
  if (stsd[0] !== 0 || stsd.length < VERSION_OFFSET + 2) return undefined;
  const entryBytes = ENTRY_BYTES[stsd.readUInt16BE(VERSION_OFFSET)];
  const end = NAME_OFFSET - 4 + stsd.readUInt32BE(NAME_OFFSET - 4);
  if (entryBytes === undefined || end > stsd.length) return undefined;
  const children = childBoxes(stsd.subarray(NAME_OFFSET + 4 + entryBytes, end));
  const all = children?.flatMap((child) => (child.name === WAVE ? (childBoxes(child.body) ?? [child]) : [child]));
  const [found, ...more] = all?.filter((child) => child.name === name || containsHiddenName(name, child)) ?? [];
  return found?.name === name && more.length === 0 ? found.body : undefined;
}

function containsHiddenName(name: string, child: ChildBox): boolean {
  return child.name !== CODEC_NAME && child.body.includes(name, 0, "latin1");
}

/** Undefined when the boxes do not fill the buffer exactly. */
function childBoxes(bytes: Buffer): ChildBox[] | undefined {
  const children: ChildBox[] = [];
  let at = 0;
  while (at + 8 <= bytes.length) {
    const next = at + bytes.readUInt32BE(at);
    if (next < at + 8 || next > bytes.length) return undefined;
    children.push({ name: nameAt(bytes, at + 4), body: bytes.subarray(at + 8, next) });
    at = next;
  }
  return children;
}

function nameAt(bytes: Buffer, at: number): string {
  return bytes.toString("latin1", at, at + 4);
}
