import type { OggCodec, PacketSamples } from "./ogg-codecs.ts";

const NOTHING: PacketSamples = { min: 0, typical: 0, max: 0 };

/** One logical stream of an Ogg file: what a codec's first packet opened. Its packets are counted; the positions that its
 * pages tell are believed only where the packets allow them. */
export class OggStream {
  readonly codec: OggCodec;
  #headersLeft: number;
  /** The packet that has begun and not ended. */
  #openPacket: PacketSamples | undefined;
  #lastPacket = NOTHING;
  #minSamples = 0;
  #typicalSamples = 0;
  #maxSamples = 0;
  /** Of the last page in which a packet ended. */
  #pageMinSamples = 0;
  #isNewPage = true;
  /** The position before the first packet: who joins a stream late does not start at zero. */
  #startGranule: number | undefined;
  /** What was played of the pages whose position is known, and what their packets could have given. */
  #positioned = { played: 0, most: 0 };

  constructor(codec: OggCodec) {
    this.codec = codec;
    this.#headersLeft = codec.headerPackets;
  }

  beginPacket(head: Buffer): void {
    this.#openPacket = this.#headersLeft > 0 ? NOTHING : this.codec.samplesOf(head);
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

  /** A packet does not go on where it should: its end was lost. */
  dropOpenPacket(): void {
    this.#openPacket = undefined;
  }

  /** `granule` is where the stream stands once the packets that ended in the page are played; negative: nowhere new. */
  endPage(granule: number, place: "within" | "last"): void {
    this.#isNewPage = true;
    if (granule < 0 || this.#maxSamples === 0) return;
    this.#startGranule ??= place === "last" ? 0 : Math.max(0, granule - this.#maxSamples);
    // Only in the last page can the audio end before its packets do.
    const floor = place === "last" ? this.#minSamples - this.#pageMinSamples : this.#minSamples;
    const told = granule - this.#startGranule;
    const played = told > this.#maxSamples ? this.#maxSamples : told < floor ? this.#minSamples : told;
    this.#positioned = { played, most: this.#maxSamples };
  }

  /** What is played, and what its packets last where an encoder made them. `last`: whether the packet that ended last has come whole. */
  seconds(last: "whole" | "cut"): { readonly played: number; readonly packed: number } {
    const cut = last === "cut" ? this.#lastPacket : NOTHING;
    const since = this.#maxSamples - this.#positioned.most - cut.max;
    const played = Math.max(0, this.#positioned.played + since - this.codec.preSkip);
    return { played: played / this.codec.rateHz, packed: (this.#typicalSamples - cut.typical) / this.codec.rateHz };
  }
}
