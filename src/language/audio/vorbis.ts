import { matchesAt } from "./scanner.ts";

const ID_HEADER_BYTES = 30;
/** In Matroska the three headers stand behind their number less one, and the sizes of all but the last. */
const XIPH_HEADER_COUNT = 2;
const LACING_CONTINUES = 255;

/** How many samples a packet gives; `usual`: on average, as encoders make them. */
export type VorbisPackets = {
  readonly rateHz: number;
  readonly min: number;
  readonly typical: number;
  readonly max: number;
};

/** By the packet that opens a stream. */
export function parseVorbisIdHeader(first: Buffer): VorbisPackets | undefined {
  if (matchesAt("\x01vorbis", first, 0) !== true || first.length < ID_HEADER_BYTES) return undefined;
  const rateHz = first.readUInt32LE(12);
  const sizes = first.readUInt8(28);
  const [short, long] = [1 << (sizes & 15), 1 << (sizes >>> 4)];
  if (rateHz === 0 || short > long || short < 64 || long > 8192) return undefined;
  // Half of its block, on average. Which size that has stands in the setup, but encoders make short ones for a sudden sound
  // alone: where packets give less than half of what long ones do, the clock may be made up.
  return { rateHz, min: short / 2, typical: Math.max(short / 2, long / 4), max: long / 2 };
}

/** By what the decoder of a track of Matroska is told. */
export function parseVorbisCodecPrivate(config: Buffer): VorbisPackets | undefined {
  if (config[0] !== XIPH_HEADER_COUNT || config[1] !== ID_HEADER_BYTES) return undefined;
  const commentSize = config.subarray(2).findIndex((byte) => byte !== LACING_CONTINUES);
  return commentSize < 0 ? undefined : parseVorbisIdHeader(config.subarray(2 + commentSize + 1));
}
