import { type AudioFrame, type FrameFormat, FrameMeter } from "./frame-meter.ts";
import type { AudioMeter } from "./meter.ts";

const SAMPLE_RATES_HZ = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
];
const AAC_BLOCK_SAMPLES = 1024;
const HEADER_BYTES = 7;

const adtsFormat: FrameFormat = { headerBytes: HEADER_BYTES, frameAt: adtsFrameAt, isMetadataFrame: () => false };

/** Counts frames of AAC in ADTS. Their samples may be fewer than a decoder makes of them, at a lower rate: the time is the same. */
export function adtsMeter(): AudioMeter {
  return new FrameMeter(adtsFormat);
}

/** The ADTS header at `at`; the seven bytes must be there. */
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

/** Main, LC, SSR, LTP, and the two that add high frequencies to a slower core. */
const FRAMED_OBJECT_TYPES: ReadonlySet<number> = new Set([1, 2, 3, 4, 5, 29]);
/** Some broadcasts have frames of so many, all others of more. */
const FRAME_MIN_SAMPLES = 960;

/** The least that a frame lasts, by the configuration that a decoder of AAC is given; undefined when it does not tell. */
export function aacFrameMinSeconds(config: Buffer): number | undefined {
  if (config.length < 2) return undefined;
  const word = config.readUInt16BE(0);
  const rateHz = SAMPLE_RATES_HZ[(word >>> 7) & 15];
  return rateHz === undefined || !FRAMED_OBJECT_TYPES.has(word >>> 11) ? undefined : FRAME_MIN_SAMPLES / rateHz;
}
