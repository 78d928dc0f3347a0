import { standsAt } from "./scanner.ts";

const FIRST_PACKET_BYTES = 30;
/** In Matroska the three headers stand behind their number less one, and the sizes of all but the last. */
const HEADERS_LESS_ONE = 2;
const SIZE_GOES_ON = 255;

/** How many samples a packet gives; `usual`: on average, as encoders make them. */
export type VorbisPackets = {
  readonly rateHz: number;
  readonly least: number;
  readonly usual: number;
  readonly most: number;
};

/** By the packet that opens a stream. */
export function vorbisOf(first: Buffer): VorbisPackets | undefined {
  if (standsAt("\x01vorbis", first, 0) !== true || first.length < FIRST_PACKET_BYTES) return undefined;
  const rateHz = first.readUInt32LE(12);
  const sizes = first.readUInt8(28);
  const [short, long] = [1 << (sizes & 15), 1 << (sizes >>> 4)];
  if (rateHz === 0 || short > long || short < 64 || long > 8192) return undefined;
  // Half of its block, on average. Which size that has stands in the setup, but encoders make short ones for a sudden sound
  // alone: where packets give less than half of what long ones do, the clock may be made up.
  return { rateHz, least: short / 2, usual: Math.max(short / 2, long / 4), most: long / 2 };
}

/** By what the decoder of a track of Matroska is told. */
export function vorbisToldBy(config: Buffer): VorbisPackets | undefined {
  if (config[0] !== HEADERS_LESS_ONE || config[1] !== FIRST_PACKET_BYTES) return undefined;
  const commentSize = config.subarray(2).findIndex((byte) => byte !== SIZE_GOES_ON);
  return commentSize < 0 ? undefined : vorbisOf(config.subarray(2 + commentSize + 1));
}
