import { type AudioFrame, type FrameFormat, FrameMeter } from "./frame-meter.ts";
import type { AudioMeter } from "./meter.ts";

const SAMPLE_RATES_HZ = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
];
const AAC_BLOCK_SAMPLES = 1024;
const HEADER_BYTES = 7;

const adtsFormat: FrameFormat = { headerBytes: HEADER_BYTES, frameAt: adtsFrameAt, isMetadataFrame: () => false };

/** Measures AAC in ADTS. HE-AAC headers state the core's lower rate and sample count, which give the same duration. */
export function adtsMeter(): AudioMeter {
  return new FrameMeter(adtsFormat);
}

/** Requires `HEADER_BYTES` bytes at `at`. */
export function adtsFrameAt(bytes: Buffer, at: number): AudioFrame | undefined {
  const word = bytes.readUInt32BE(at);
  if (word >>> 20 !== 0xfff || ((word >>> 17) & 3) !== 0) return undefined;
  const rateHz = SAMPLE_RATES_HZ[(word >>> 10) & 15];
  const length = ((word & 3) << 11) | (bytes.readUInt16BE(at + 4) >>> 5);
  const hasChecksum = ((word >>> 16) & 1) === 0;
  if (rateHz === undefined || length < HEADER_BYTES + (hasChecksum ? 2 : 0)) return undefined;
  const blocks = (bytes.readUInt8(at + 6) & 3) + 1;
  // Version, profile, rate and channels.
  return { bytes: length, samples: blocks * AAC_BLOCK_SAMPLES, rateHz, kind: word & 0x0008fdc0 };
}

/** AAC object types: Main, LC, SSR, LTP, SBR and PS. */
const FRAMED_OBJECT_TYPES: ReadonlySet<number> = new Set([1, 2, 3, 4, 5, 29]);
/** Broadcast profiles use 960 samples, all others 1024 or more. */
const FRAME_MIN_SAMPLES = 960;

/** The shortest duration of a frame under an AudioSpecificConfig; undefined when the config does not determine it. */
export function aacFrameMinSeconds(config: Buffer): number | undefined {
  if (config.length < 2) return undefined;
  const word = config.readUInt16BE(0);
  const rateHz = SAMPLE_RATES_HZ[(word >>> 7) & 15];
  return rateHz === undefined || !FRAMED_OBJECT_TYPES.has(word >>> 11) ? undefined : FRAME_MIN_SAMPLES / rateHz;
}
