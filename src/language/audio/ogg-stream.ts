import type { OggCodec, PacketSamples } from "./ogg-codecs.ts";

const NOTHING: PacketSamples = { least: 0, usual: 0, most: 0 };

/** One logical stream of an Ogg file: what a codec's first packet opened. Its packets are counted; the positions that its
 * pages tell are believed only where the packets allow them. */
export class OggStream {
  readonly codec: OggCodec;
  #headersLeft: number;
  /** The packet that has begun and not ended. */
  #open: PacketSamples | undefined;
  #last = NOTHING;
  #least = 0;
  #usual = 0;
  #most = 0;
  /** Of the last page in which a packet ended. */
  #pageLeast = 0;
  #isNewPage = true;
  /** The position before the first packet: who joins a stream late does not start at zero. */
  #startAt: number | undefined;
  /** What was played of the pages whose position is known, and what their packets could have given. */
  #settled = { played: 0, most: 0 };

  constructor(codec: OggCodec) {
    this.codec = codec;
    this.#headersLeft = codec.headerPackets;
  }

  begin(head: Buffer): void {
    this.#open = this.#headersLeft > 0 ? NOTHING : this.codec.samplesOf(head);
  }

  end(): void {
    if (this.#open === undefined) return;
    if (this.#headersLeft > 0) this.#headersLeft--;
    if (this.#isNewPage) this.#pageLeast = 0;
    this.#isNewPage = false;
    this.#last = this.#open;
    this.#least += this.#open.least;
    this.#usual += this.#open.usual;
    this.#most += this.#open.most;
    this.#pageLeast += this.#open.least;
    this.#open = undefined;
  }

  /** A packet does not go on where it should: its end was lost. */
  forget(): void {
    this.#open = undefined;
  }

  /** `granule` is where the stream stands once the packets that ended in the page are played; negative: nowhere new. */
  endPage(granule: number, place: "within" | "last"): void {
    this.#isNewPage = true;
    if (granule < 0 || this.#most === 0) return;
    this.#startAt ??= place === "last" ? 0 : Math.max(0, granule - this.#most);
    // Only in the last page can the audio end before its packets do.
    const floor = place === "last" ? this.#least - this.#pageLeast : this.#least;
    const told = granule - this.#startAt;
    const played = told > this.#most ? this.#most : told < floor ? this.#least : told;
    this.#settled = { played, most: this.#most };
  }

  /** What is played, and what its packets last where an encoder made them. `last`: whether the packet that ended last has come whole. */
  seconds(last: "whole" | "cut"): { readonly played: number; readonly packed: number } {
    const cut = last === "cut" ? this.#last : NOTHING;
    const since = this.#most - this.#settled.most - cut.most;
    const played = Math.max(0, this.#settled.played + since - this.codec.preSkip);
    return { played: played / this.codec.rateHz, packed: (this.#usual - cut.usual) / this.codec.rateHz };
  }
}
