import { flacFrameAt } from "./flac.ts";
import { OPUS_HEAD_BYTES, OPUS_RATE_HZ, opusSamples } from "./opus.ts";
import { standsAt } from "./scanner.ts";
import { type VorbisPackets, vorbisOf } from "./vorbis.ts";

/** How many samples a packet gives: they differ where only the whole packet would tell. */
export type Yield = { readonly least: number; readonly usual: number; readonly most: number };

/** What must be known of a codec to tell how long its packets last. */
export type OggCodec = {
  readonly rateHz: number;
  /** Samples at the start that are decoded and not played. */
  readonly preSkip: number;
  /** Packets after the first that are no audio. */
  readonly headerPackets: number;
  readonly headBytes: number;
  /** By the first bytes of a packet. */
  samplesOf(head: Buffer): Yield;
};

/** So much of the first packet tells which codec it is. */
export const FIRST_PACKET_BYTES = 36;

/** Reads the packet that opens a logical stream; undefined when it is no audio that can be measured. */
export function codecOf(first: Buffer): OggCodec | undefined {
  if (standsAt("OpusHead", first, 0) === true && first.length >= 19) return opus(first);
  if (standsAt("\x7fFLAC", first, 0) === true && first.length >= 31) return flac(first);
  const packets = vorbisOf(first);
  return packets === undefined ? undefined : vorbis(packets);
}

/** Pictures, subtitles and the list of what is in the file: how the first packets of their streams begin. */
const SILENT = ["\x80theora", "OVP80", "BBCD\0", "\x80kate", "CMML", "fishead\0"] as const;

export function isSilent(first: Buffer): boolean {
  return SILENT.some((word) => standsAt(word, first, 0) === true);
}

function opus(first: Buffer): OggCodec {
  return {
    rateHz: OPUS_RATE_HZ,
    preSkip: first.readUInt16LE(10),
    headerPackets: 1,
    headBytes: OPUS_HEAD_BYTES,
    samplesOf: (head) => exactly(opusSamples(head)),
  };
}

function vorbis(packets: VorbisPackets): OggCodec {
  return { rateHz: packets.rateHz, preSkip: 0, headerPackets: 2, headBytes: 1, samplesOf: () => packets };
}

function flac(first: Buffer): OggCodec | undefined {
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

function exactly(samples: number): Yield {
  return { least: samples, usual: samples, most: samples };
}
