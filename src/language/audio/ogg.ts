import { type AudioMeter, durationToleranceSeconds } from "./meter.ts";
import { detectOggCodec, ID_PACKET_BYTES, isNonAudio } from "./ogg-codecs.ts";
import { OggStream } from "./ogg-stream.ts";
import { matchesAt, Scanner } from "./scanner.ts";

const CAPTURE_PATTERN = "OggS";
const HEADER_BYTES = 27;
const FLAGS_MAX = 7;
const FLAG_CONTINUED = 1;
const FLAG_FIRST_PAGE = 2;
const FLAG_LAST_PAGE = 4;
const LACE_MAX = 255;
/** No file of speech has more beside each other. */
const STREAMS_MAX = 16;

/** A packet, or the part of it that is in one page. */
type PacketPart = { readonly bytes: number; readonly isStart: boolean; readonly isEnd: boolean };
type OggPage = { readonly granule: number; readonly isLast: "within" | "last"; readonly parts: PacketPart[] };

/** Measures Ogg by its packets: Opus, Vorbis and FLAC, also streams that follow one another in one file. */
export class OggMeter implements AudioMeter {
  readonly #scanner = new Scanner((bytes, at) => this.#read(bytes, at));
  /** Of the links that are over: what is played of them, and what their packets last. */
  #endedStreams = { played: 0, packed: 0 };
  /** Streams that run beside each other, by their serial number. */
  readonly #streams = new Map<number, OggStream | "silent">();
  /** The one whose page is being read, or was last. */
  #currentStream: OggStream | undefined;
  /** Whether there is something in the file in which a player may hear what nobody can measure here. */
  #isUnmeasurable = false;
  /** Streams that run beside each other all open before any of them goes on. */
  #hasDataPages = false;
  #page: OggPage | undefined;
  /** Whether what the scanner still skips is the end of a counted packet. */
  #isSkippingPacketEnd = false;

  push(chunk: Buffer): void {
    this.#scanner.push(chunk);
  }

  seconds(): number | undefined {
    if (this.#currentStream === undefined || this.#isUnmeasurable) return undefined;
    const { played, packed } = this.#totalSeconds(
      this.#isSkippingPacketEnd && this.#scanner.missingBytes > 0 ? this.#currentStream : undefined,
    );
    // Packets that are not to be heard, which not every player leaves out, or that no encoder makes so short.
    return packed - played > durationToleranceSeconds(played) ? undefined : played;
  }

  /** With the longest of the streams beside each other. */
  #totalSeconds(cut: OggStream | undefined): { played: number; packed: number } {
    let [played, packed] = [0, 0];
    for (const link of this.#streams.values()) {
      if (link === "silent") continue;
      const seconds = link.seconds(link === cut ? "cut" : "whole");
      played = Math.max(played, seconds.played);
      packed = Math.max(packed, seconds.packed);
    }
    return { played: this.#endedStreams.played + played, packed: this.#endedStreams.packed + packed };
  }

  #read(bytes: Buffer, at: number): number | undefined {
    const piece = this.#page?.parts[0];
    if (this.#page === undefined || piece === undefined || this.#currentStream === undefined)
      return this.#readPageHeader(bytes, at);
    const headBytes = Math.min(piece.bytes, this.#currentStream.codec.headBytes);
    if (bytes.length - at < headBytes) return undefined;
    this.#isSkippingPacketEnd = piece.isEnd;
    this.#readPart(this.#currentStream, piece, bytes.subarray(at, at + headBytes));
    this.#page.parts.shift();
    this.#finishPage(this.#currentStream, this.#page);
    return piece.bytes;
  }

  #readPart(link: OggStream, piece: PacketPart, head: Buffer): void {
    if (piece.isStart) link.beginPacket(head);
    if (piece.isEnd) link.endPacket();
  }

  /** Takes pieces without bytes, which no step could stop at, and closes the page behind its last one. */
  #finishPage(link: OggStream, page: OggPage): void {
    while (page.parts[0]?.bytes === 0) {
      this.#readPart(link, page.parts[0], Buffer.alloc(0));
      page.parts.shift();
    }
    if (page.parts.length > 0) return;
    link.endPage(page.granule, page.isLast);
    this.#page = undefined;
  }

  #readPageHeader(bytes: Buffer, at: number): number | undefined {
    const here = bytes.length - at;
    const named = matchesAt(CAPTURE_PATTERN, bytes, at);
    if (named === false) return bytesToNextPage(bytes, at);
    if (named === undefined || here < HEADER_BYTES) return undefined;
    const flags = bytes.readUInt8(at + 5);
    if (bytes[at + 4] !== 0 || flags > FLAGS_MAX) return bytesToNextPage(bytes, at);
    const headerBytes = HEADER_BYTES + bytes.readUInt8(at + 26);
    if (here < headerBytes) return undefined;
    const laces = bytes.subarray(at + HEADER_BYTES, at + headerBytes);
    const bodyBytes = laces.reduce((sum, lace) => sum + lace, 0);
    const serial = bytes.readUInt32LE(at + 14);
    this.#isSkippingPacketEnd = false;
    if ((flags & FLAG_FIRST_PAGE) !== 0) {
      const shown = Math.min(bodyBytes, ID_PACKET_BYTES);
      if (here < headerBytes + shown) return undefined;
      this.#openStream(serial, bytes.subarray(at + headerBytes, at + headerBytes + shown));
      return headerBytes + bodyBytes;
    }
    const link = this.#streams.get(serial);
    this.#hasDataPages = true;
    if (link === undefined) this.#isUnmeasurable = true;
    else if (link !== "silent") {
      this.#currentStream = link;
      if ((flags & FLAG_CONTINUED) === 0) link.dropOpenPacket();
      this.#page = {
        granule: Number(bytes.readBigInt64LE(at + 6)),
        isLast: (flags & FLAG_LAST_PAGE) === 0 ? "within" : "last",
        parts: packetParts(laces, flags),
      };
      this.#finishPage(link, this.#page);
      return headerBytes;
    }
    return headerBytes + bodyBytes;
  }

  /** Streams that open before any goes on run beside each other; those that open later follow them. */
  #openStream(serial: number, first: Buffer): void {
    if (this.#hasDataPages) {
      this.#endedStreams = this.#totalSeconds(undefined);
      this.#streams.clear();
      this.#hasDataPages = false;
    }
    const codec = detectOggCodec(first);
    if (
      this.#streams.size === STREAMS_MAX ||
      this.#streams.has(serial) ||
      (codec === undefined && !isNonAudio(first))
    ) {
      this.#isUnmeasurable = true;
    } else if (codec === undefined) {
      this.#streams.set(serial, "silent");
    } else {
      this.#currentStream = new OggStream(codec);
      this.#streams.set(serial, this.#currentStream);
    }
  }
}

function bytesToNextPage(bytes: Buffer, at: number): number {
  const next = bytes.indexOf(CAPTURE_PATTERN, at + 1);
  // The last bytes may be the beginning of the mark.
  return next >= 0 ? next - at : Math.max(1, bytes.length - at - CAPTURE_PATTERN.length + 1);
}

function packetParts(laces: Buffer, flags: number): PacketPart[] {
  const pieces: PacketPart[] = [];
  let bytes = 0;
  let isStart = (flags & FLAG_CONTINUED) === 0;
  let isOpen = false;
  for (const lace of laces) {
    bytes += lace;
    isOpen = lace === LACE_MAX;
    if (isOpen) continue;
    pieces.push({ bytes, isStart, isEnd: true });
    bytes = 0;
    isStart = true;
  }
  if (isOpen) pieces.push({ bytes, isStart, isEnd: false });
  return pieces;
}
