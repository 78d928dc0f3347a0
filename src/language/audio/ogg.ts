import { type Meter, nearSeconds } from "./meter.ts";
import { codecOf, FIRST_PACKET_BYTES, isSilent } from "./ogg-codecs.ts";
import { OggLink } from "./ogg-link.ts";
import { Scanner, standsAt } from "./scanner.ts";

const MARK = "OggS";
const HEADER_BYTES = 27;
const FLAGS_MAX = 7;
const CONTINUED = 1;
const FIRST = 2;
const LAST = 4;
const LACE_FULL = 255;
/** No file of speech has more beside each other. */
const STREAMS_MAX = 16;

/** A packet, or the part of it that is in one page. */
type Piece = { readonly bytes: number; readonly begins: boolean; readonly ends: boolean };
type Page = { readonly granule: number; readonly place: "within" | "last"; readonly pieces: Piece[] };

/** Measures Ogg by its packets: Opus, Vorbis and FLAC, also streams that follow one another in one file. */
export class OggMeter implements Meter {
  readonly #scanner = new Scanner((bytes, at) => this.#read(bytes, at));
  /** Of the links that are over: what is played of them, and what their packets last. */
  #before = { played: 0, packed: 0 };
  /** Streams that run beside each other, by their serial number. */
  readonly #links = new Map<number, OggLink | "silent">();
  /** The one whose page is being read, or was last. */
  #link: OggLink | undefined;
  /** Whether there is something in the file in which a player may hear what nobody can measure here. */
  #isLost = false;
  /** Streams that run beside each other all open before any of them goes on. */
  #isUnderway = false;
  #page: Page | undefined;
  /** Whether what the scanner still skips is the end of a counted packet. */
  #isInPacket = false;

  push(chunk: Buffer): void {
    this.#scanner.push(chunk);
  }

  seconds(): number | undefined {
    if (this.#link === undefined || this.#isLost) return undefined;
    const { played, packed } = this.#until(this.#isInPacket && this.#scanner.missingBytes > 0 ? this.#link : undefined);
    // Packets that are not to be heard, which not every player leaves out, or that no encoder makes so short.
    return packed - played > nearSeconds(played) ? undefined : played;
  }

  /** With the longest of the streams beside each other. */
  #until(cut: OggLink | undefined): { played: number; packed: number } {
    let [played, packed] = [0, 0];
    for (const link of this.#links.values()) {
      if (link === "silent") continue;
      const seconds = link.seconds(link === cut ? "cut" : "whole");
      played = Math.max(played, seconds.played);
      packed = Math.max(packed, seconds.packed);
    }
    return { played: this.#before.played + played, packed: this.#before.packed + packed };
  }

  #read(bytes: Buffer, at: number): number | undefined {
    const piece = this.#page?.pieces[0];
    if (this.#page === undefined || piece === undefined || this.#link === undefined) return this.#openPage(bytes, at);
    const headBytes = Math.min(piece.bytes, this.#link.codec.headBytes);
    if (bytes.length - at < headBytes) return undefined;
    this.#isInPacket = piece.ends;
    this.#take(this.#link, piece, bytes.subarray(at, at + headBytes));
    this.#page.pieces.shift();
    this.#settlePage(this.#link, this.#page);
    return piece.bytes;
  }

  #take(link: OggLink, piece: Piece, head: Buffer): void {
    if (piece.begins) link.begin(head);
    if (piece.ends) link.end();
  }

  /** Takes pieces without bytes, which no step could stop at, and closes the page behind its last one. */
  #settlePage(link: OggLink, page: Page): void {
    while (page.pieces[0]?.bytes === 0) {
      this.#take(link, page.pieces[0], Buffer.alloc(0));
      page.pieces.shift();
    }
    if (page.pieces.length > 0) return;
    link.endPage(page.granule, page.place);
    this.#page = undefined;
  }

  #openPage(bytes: Buffer, at: number): number | undefined {
    const here = bytes.length - at;
    const named = standsAt(MARK, bytes, at);
    if (named === false) return toNextPage(bytes, at);
    if (named === undefined || here < HEADER_BYTES) return undefined;
    const flags = bytes.readUInt8(at + 5);
    if (bytes[at + 4] !== 0 || flags > FLAGS_MAX) return toNextPage(bytes, at);
    const headerBytes = HEADER_BYTES + bytes.readUInt8(at + 26);
    if (here < headerBytes) return undefined;
    const laces = bytes.subarray(at + HEADER_BYTES, at + headerBytes);
    const bodyBytes = laces.reduce((sum, lace) => sum + lace, 0);
    const serial = bytes.readUInt32LE(at + 14);
    this.#isInPacket = false;
    if ((flags & FIRST) !== 0) {
      const shown = Math.min(bodyBytes, FIRST_PACKET_BYTES);
      if (here < headerBytes + shown) return undefined;
      this.#open(serial, bytes.subarray(at + headerBytes, at + headerBytes + shown));
      return headerBytes + bodyBytes;
    }
    const link = this.#links.get(serial);
    this.#isUnderway = true;
    if (link === undefined) this.#isLost = true;
    else if (link !== "silent") {
      this.#link = link;
      if ((flags & CONTINUED) === 0) link.forget();
      this.#page = {
        granule: Number(bytes.readBigInt64LE(at + 6)),
        place: (flags & LAST) === 0 ? "within" : "last",
        pieces: piecesOf(laces, flags),
      };
      this.#settlePage(link, this.#page);
      return headerBytes;
    }
    return headerBytes + bodyBytes;
  }

  /** Streams that open before any goes on run beside each other; those that open later follow them. */
  #open(serial: number, first: Buffer): void {
    if (this.#isUnderway) {
      this.#before = this.#until(undefined);
      this.#links.clear();
      this.#isUnderway = false;
    }
    const codec = codecOf(first);
    if (this.#links.size === STREAMS_MAX || this.#links.has(serial) || (codec === undefined && !isSilent(first))) {
      this.#isLost = true;
    } else if (codec === undefined) {
      this.#links.set(serial, "silent");
    } else {
      this.#link = new OggLink(codec);
      this.#links.set(serial, this.#link);
    }
  }
}

function toNextPage(bytes: Buffer, at: number): number {
  const next = bytes.indexOf(MARK, at + 1);
  // The last bytes may be the beginning of the mark.
  return next >= 0 ? next - at : Math.max(1, bytes.length - at - MARK.length + 1);
}

function piecesOf(laces: Buffer, flags: number): Piece[] {
  const pieces: Piece[] = [];
  let bytes = 0;
  let begins = (flags & CONTINUED) === 0;
  let isOpen = false;
  for (const lace of laces) {
    bytes += lace;
    isOpen = lace === LACE_FULL;
    if (isOpen) continue;
    pieces.push({ bytes, begins, ends: true });
    bytes = 0;
    begins = true;
  }
  if (isOpen) pieces.push({ bytes, begins, ends: false });
  return pieces;
}
