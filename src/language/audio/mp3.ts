import { type AudioFrame, type FrameFormat, FrameMeter } from "./frame-meter.ts";
import type { AudioMeter } from "./meter.ts";

type MpegVersion = "1" | "2" | "2.5";
type MpegLayer = 1 | 2 | 3;

const MPEG_VERSIONS: readonly (MpegVersion | undefined)[] = ["2.5", undefined, "2", "1"];
const MPEG_LAYERS: readonly (MpegLayer | undefined)[] = [undefined, 3, 2, 1];
const SAMPLE_RATES_HZ: Readonly<Record<MpegVersion, readonly number[]>> = {
  "1": [44_100, 48_000, 32_000],
  "2": [22_050, 24_000, 16_000],
  "2.5": [11_025, 12_000, 8_000],
};
/** By the header's bitrate index. Index zero means free format, which states no length. */
const BITRATES_KBPS: Readonly<Record<"1" | "2", Readonly<Record<MpegLayer, readonly number[]>>>> = {
  "1": {
    1: [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
    2: [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
    3: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  },
  "2": {
    1: [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
    2: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
    3: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  },
};
const RESERVED_EMPHASIS = 2;
const MONO = 3;
const HEADER_BYTES = 4;
const INFO_TAG_NAMES = ["Xing", "Info"];
const VBRI_OFFSET = 36;

const mpegFormat: FrameFormat = { headerBytes: HEADER_BYTES, frameAt: headerAt, isMetadataFrame: isInfoFrame };

/** Measures MPEG audio: versions 1, 2 and 2.5, layers I to III, any mix of bit rates. */
export function mp3Meter(): AudioMeter {
  return new FrameMeter(mpegFormat);
}

/** A frame header that states its length; requires `HEADER_BYTES` bytes at `at`. */
export function mpegFrameAt(bytes: Buffer, at: number): AudioFrame | undefined {
  const frame = headerAt(bytes, at);
  return frame?.bytes === 0 ? undefined : frame;
}

function headerAt(bytes: Buffer, at: number): AudioFrame | undefined {
  const word = bytes.readUInt32BE(at);
  const [bitrateIndex, rateIndex] = [(word >>> 12) & 15, (word >>> 10) & 3];
  if (word >>> 21 !== 0x7ff || bitrateIndex === 15 || rateIndex === 3) return undefined;
  const version = MPEG_VERSIONS[(word >>> 19) & 3];
  const layer = MPEG_LAYERS[(word >>> 17) & 3];
  if (version === undefined || layer === undefined || (word & 3) === RESERVED_EMPHASIS) return undefined;
  const kbits = BITRATES_KBPS[version === "1" ? "1" : "2"][layer][bitrateIndex] ?? 0;
  const rateHz = SAMPLE_RATES_HZ[version][rateIndex] ?? 0;
  const padding = (word >>> 9) & 1;
  const samples = layer === 1 ? 384 : layer === 3 && version !== "1" ? 576 : 1152;
  const slotBytes = layer === 1 ? 4 : 1;
  const slots = Math.floor(((samples / 8 / slotBytes) * kbits * 1000) / rateHz) + padding;
  // Version, layer and sample rate are constant within a stream.
  return { bytes: kbits === 0 ? 0 : slots * slotBytes, samples, rateHz, kind: word & 0x001e0c00 };
}

/** The Xing, Info or VBRI frame, which decoders do not play. */
function isInfoFrame(bytes: Buffer, at: number, frame: AudioFrame): boolean {
  const word = bytes.readUInt32BE(at);
  const isMono = ((word >>> 6) & 3) === MONO;
  const isVersion1 = ((word >>> 19) & 3) === 3;
  const sideBytes = isVersion1 ? (isMono ? 17 : 32) : isMono ? 9 : 17;
  const tagAt = (offset: number) =>
    offset + 4 <= frame.bytes ? bytes.toString("latin1", at + offset, at + offset + 4) : "";
  return INFO_TAG_NAMES.includes(tagAt(HEADER_BYTES + sideBytes)) || tagAt(VBRI_OFFSET) === "VBRI";
}
