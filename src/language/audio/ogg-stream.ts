import { flacFrameAt } from "./flac.ts";
import { OPUS_HEAD_BYTES, OPUS_RATE_HZ, opusPacketSamples } from "./opus.ts";
import { matchesAt } from "./scanner.ts";
import { parseVorbisIdHeader, type VorbisPackets } from "./vorbis.ts";

/** Bounds of a packet's samples; they differ when only the full packet determines the number. */
export type PacketSamples = { readonly min: number; readonly typical: number; readonly max: number };

/** Properties of a codec that determine the duration of its packets. */
export type OggCodec = {
  readonly rateHz: number;
  /** Samples at the start that are decoded but not played. */
  readonly preSkip: number;
  /** Header packets after the first. */
  readonly headerPackets: number;
  readonly headBytes: number;
  samplesOf(head: Buffer): PacketSamples;
};

/** Bytes of the first packet that identify the codec. */
export const ID_PACKET_BYTES = 36;

/** Undefined when the first packet is not audio that can be measured. */
export function detectOggCodec(first: Buffer): OggCodec | undefined {
  if (matchesAt("OpusHead", first, 0) === true && first.length >= 19) return opusCodec(first);
  if (matchesAt("\x7fFLAC", first, 0) === true && first.length >= 31) return flacCodec(first);
  const packets = parseVorbisIdHeader(first);
  return packets === undefined ? undefined : vorbisCodec(packets);
}

/** First packets of video, subtitle and skeleton streams. */
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
  // Nine bytes of mapping header and the block header precede STREAMINFO.
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

const NO_SAMPLES: PacketSamples = { min: 0, typical: 0, max: 0 };

/** One logical stream of an Ogg file. Packets are counted; a page's granule position is used only where the packets allow it. */
export class OggStream {
  readonly codec: OggCodec;
  #headersLeft: number;
  /** A packet that has started but not ended. */
  #openPacket: PacketSamples | undefined;
  #lastPacket = NO_SAMPLES;
  #minSamples = 0;
  #typicalSamples = 0;
  #maxSamples = 0;
  /** Minimum samples of the last page in which a packet ended. */
  #pageMinSamples = 0;
  #isNewPage = true;
  /** Position before the first packet: a stream recorded midway does not start at zero. */
  #startGranule: number | undefined;
  /** Samples played up to the last known granule position, and the maximum of their packets. */
  #positioned = { played: 0, max: 0 };

  constructor(codec: OggCodec) {
    this.codec = codec;
    this.#headersLeft = codec.headerPackets;
  }

  beginPacket(head: Buffer): void {
    this.#openPacket = this.#headersLeft > 0 ? NO_SAMPLES : this.codec.samplesOf(head);
  }

  endPacket(): void {
    if (this.#openPacket === undefined) return;
    if (this.#headersLeft > 0) this.#headersLeft--;
    if (this.#isNewPage) this.#pageMinSamples = 0;
    this.#isNewPage = false;
    this.#lastPacket = this.#openPacket;
    this.#minSamples += this.#openPacket.min;
    this.#typicalSamples += this.#openPacket.typical;
    this.#maxSamples += this.#openPacket.max;
    this.#pageMinSamples += this.#openPacket.min;
    this.#openPacket = undefined;
  }

  /** The continuation of the open packet was lost. */
  dropOpenPacket(): void {
    this.#openPacket = undefined;
  }

  /** `granule` is the position after the packets that end in the page; negative: no packet ends in it. */
  endPage({ granule, isLast }: { readonly granule: number; readonly isLast: boolean }): void {
    this.#isNewPage = true;
    if (granule < 0 || this.#maxSamples === 0) return;
    this.#startGranule ??= isLast ? 0 : Math.max(0, granule - this.#maxSamples);
    // Only in the last page can the audio end before its packets do.
    const floor = isLast ? this.#minSamples - this.#pageMinSamples : this.#minSamples;
    const stated = granule - this.#startGranule;
    const played = stated > this.#maxSamples ? this.#maxSamples : stated < floor ? this.#minSamples : stated;
    this.#positioned = { played, max: this.#maxSamples };
  }

  /** `contained` sums all packets at their typical duration; `played` applies positions and pre-skip. */
  seconds({ isLastPacketCut }: { readonly isLastPacketCut: boolean }): {
    readonly played: number;
    readonly contained: number;
  } {
    const cut = isLastPacketCut ? this.#lastPacket : NO_SAMPLES;
    const since = this.#maxSamples - this.#positioned.max - cut.max;
    const played = Math.max(0, this.#positioned.played + since - this.codec.preSkip);
    return { played: played / this.codec.rateHz, contained: (this.#typicalSamples - cut.typical) / this.codec.rateHz };
  }
}
