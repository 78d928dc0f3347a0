import { flacFrameAt } from "./flac.ts";
import { OPUS_HEAD_BYTES, OPUS_RATE_HZ, opusPacketSamples } from "./opus.ts";
import { matchesAt } from "./scanner.ts";
import { parseVorbisIdHeader, type VorbisPackets } from "./vorbis.ts";

/** How many samples a packet gives: they differ where only the whole packet would tell. */
export type PacketSamples = { readonly min: number; readonly typical: number; readonly max: number };

/** What must be known of a codec to tell how long its packets last. */
export type OggCodec = {
  readonly rateHz: number;
  /** Samples at the start that are decoded and not played. */
  readonly preSkip: number;
  /** Packets after the first that are no audio. */
  readonly headerPackets: number;
  readonly headBytes: number;
  /** By the first bytes of a packet. */
  samplesOf(head: Buffer): PacketSamples;
};

/** So much of the first packet tells which codec it is. */
export const ID_PACKET_BYTES = 36;

/** Reads the packet that opens a logical stream; undefined when it is no audio that can be measured. */
export function detectOggCodec(first: Buffer): OggCodec | undefined {
  if (matchesAt("OpusHead", first, 0) === true && first.length >= 19) return opusCodec(first);
  if (matchesAt("\x7fFLAC", first, 0) === true && first.length >= 31) return flacCodec(first);
  const packets = parseVorbisIdHeader(first);
  return packets === undefined ? undefined : vorbisCodec(packets);
}

/** Pictures, subtitles and the list of what is in the file: how the first packets of their streams begin. */
const NON_AUDIO_SIGNATURES = ["\x80theora", "OVP80", "BBCD\0", "\x80kate", "CMML", "fishead\0"] as const;

export function isNonAudio(first: Buffer): boolean {
  return NON_AUDIO_SIGNATURES.some((word) => matchesAt(word, first, 0) === true);
}

function opusCodec(first: Buffer): OggCodec {
  return {
    rateHz: OPUS_RATE_HZ,
    preSkip: first.readUInt16LE(10),
    headerPackets: 1,
    headBytes: OPUS_HEAD_BYTES,
    samplesOf: (head) => exactly(opusPacketSamples(head)),
  };
}

function vorbisCodec(packets: VorbisPackets): OggCodec {
  return { rateHz: packets.rateHz, preSkip: 0, headerPackets: 2, headBytes: 1, samplesOf: () => packets };
}

function flacCodec(first: Buffer): OggCodec | undefined {
  // Nine bytes of its own and the header of the block come before the block itself.
  const rateHz = first.readUInt32BE(27) >>> 12;
  if (rateHz === 0) return undefined;
  return {
    rateHz,
    preSkip: 0,
    headerPackets: 0,
    headBytes: 16,
    samplesOf: (head) => {
      const frame = flacFrameAt(head, 0);
      return exactly(frame === undefined || frame === "more" ? 0 : frame.samples);
    },
  };
}

function exactly(samples: number): PacketSamples {
  return { min: samples, typical: samples, max: samples };
}
