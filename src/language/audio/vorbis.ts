import { matchesAt } from "./scanner.ts";

const ID_HEADER_BYTES = 30;
/** Matroska's CodecPrivate starts with the header count minus one and the sizes of all headers but the last. */
const XIPH_HEADER_COUNT = 2;
const LACING_CONTINUES = 255;

/** Samples per packet; `typical` is the average that encoders produce. */
export type VorbisPackets = {
  readonly rateHz: number;
  readonly min: number;
  readonly typical: number;
  readonly max: number;
};

export function parseVorbisIdHeader(first: Buffer): VorbisPackets | undefined {
  if (matchesAt("\x01vorbis", first, 0) !== true || first.length < ID_HEADER_BYTES) return undefined;
  const rateHz = first.readUInt32LE(12);
  const sizes = first.readUInt8(28);
  const [short, long] = [1 << (sizes & 15), 1 << (sizes >>> 4)];
  if (rateHz === 0 || short > long || short < 64 || long > 8192) return undefined;
  // A packet yields half a block on average. The block size is in the setup header, but encoders use short blocks for
  // transients only: packets that average less than half a long block are implausible.
  return { rateHz, min: short / 2, typical: Math.max(short / 2, long / 4), max: long / 2 };
}

export function parseVorbisCodecPrivate(config: Buffer): VorbisPackets | undefined {
  if (config[0] !== XIPH_HEADER_COUNT || config[1] !== ID_HEADER_BYTES) return undefined;
  const commentSize = config.subarray(2).findIndex((byte) => byte !== LACING_CONTINUES);
  return commentSize < 0 ? undefined : parseVorbisIdHeader(config.subarray(2 + commentSize + 1));
}
