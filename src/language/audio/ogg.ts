import { type AudioMeter, durationToleranceSeconds } from "./meter.ts";
import { detectOggCodec, ID_PACKET_BYTES, isNonAudio, OggStream } from "./ogg-stream.ts";
import { matchesAt, Scanner } from "./scanner.ts";

const CAPTURE_PATTERN = "OggS";
const HEADER_BYTES = 27;
const FLAGS_MAX = 7;
const FLAG_CONTINUED = 1;
const FLAG_FIRST_PAGE = 2;
const FLAG_LAST_PAGE = 4;
const LACE_MAX = 255;
/** More concurrent streams than any speech file has. */
const STREAMS_MAX = 16;

/** A packet, or the part of it within one page. */
type PacketPart = { readonly bytes: number; readonly isStart: boolean; readonly isEnd: boolean };
type OggPage = { readonly granule: number; readonly isLast: boolean; readonly parts: PacketPart[] };

/** Measures Ogg Opus, Vorbis and FLAC by their packets, including chained streams. */
export class OggMeter implements AudioMeter {
  readonly #scanner = new Scanner((bytes, at) => this.#read(bytes, at));
  /** Totals of earlier chained streams: seconds played, and seconds contained in packets. */
  #endedStreams = { played: 0, contained: 0 };
  /** Concurrent streams by serial number. */
  readonly #streams = new Map<number, OggStream | "non_audio">();
  /** The stream of the current or last page. */
  #currentStream: OggStream | undefined;
  /** The file contains audio that cannot be measured here. */
  #isUnmeasurable = false;
  /** A data page has arrived: a stream that opens from now on is chained, not concurrent. */
  #hasDataPages = false;
  #page: OggPage | undefined;
  /** The scanner is skipping the end of a packet that is already counted. */
  #isSkippingPacketEnd = false;

  push(chunk: Buffer): void {
    this.#scanner.push(chunk);
  }

  seconds(): number | undefined {
    if (this.#currentStream === undefined || this.#isUnmeasurable) return undefined;
    const { played, contained } = this.#totalSeconds(
      this.#isSkippingPacketEnd && this.#scanner.missingBytes > 0 ? this.#currentStream : undefined,
    );
    // Many packets outside the played range are suspicious: not every player leaves them out.
    return contained - played > durationToleranceSeconds(played) ? undefined : played;
  }

  /** Adds the longest of the concurrent streams. */
  #totalSeconds(cut: OggStream | undefined): { played: number; contained: number } {
    let [played, contained] = [0, 0];
    for (const stream of this.#streams.values()) {
      if (stream === "non_audio") continue;
      const seconds = stream.seconds({ isLastPacketCut: stream === cut });
      played = Math.max(played, seconds.played);
      contained = Math.max(contained, seconds.contained);
    }
    return { played: this.#endedStreams.played + played, contained: this.#endedStreams.contained + contained };
  }

  #read(bytes: Buffer, at: number): number | undefined {
    const part = this.#page?.parts[0];
    if (this.#page === undefined || part === undefined || this.#currentStream === undefined)
      return this.#readPageHeader(bytes, at);
    const headBytes = Math.min(part.bytes, this.#currentStream.codec.headBytes);
    if (bytes.length - at < headBytes) return undefined;
    this.#isSkippingPacketEnd = part.isEnd;
    this.#readPart(this.#currentStream, part, bytes.subarray(at, at + headBytes));
    this.#page.parts.shift();
    this.#finishPage(this.#currentStream, this.#page);
    return part.bytes;
  }

  #readPart(stream: OggStream, part: PacketPart, head: Buffer): void {
    if (part.isStart) stream.beginPacket(head);
    if (part.isEnd) stream.endPacket();
  }

  /** Consumes empty parts, at which no scan step can stop, and closes the page after its last part. */
  #finishPage(stream: OggStream, page: OggPage): void {
    while (page.parts[0]?.bytes === 0) {
      this.#readPart(stream, page.parts[0], Buffer.alloc(0));
      page.parts.shift();
    }
    if (page.parts.length > 0) return;
    stream.endPage(page);
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
    const stream = this.#streams.get(serial);
    this.#hasDataPages = true;
    if (stream === undefined) this.#isUnmeasurable = true;
    else if (stream !== "non_audio") {
      this.#currentStream = stream;
      if ((flags & FLAG_CONTINUED) === 0) stream.dropOpenPacket();
      this.#page = {
        granule: Number(bytes.readBigInt64LE(at + 6)),
        isLast: (flags & FLAG_LAST_PAGE) !== 0,
        parts: packetParts(laces, flags),
      };
      this.#finishPage(stream, this.#page);
      return headerBytes;
    }
    return headerBytes + bodyBytes;
  }

  /** Streams that open before the first data page are concurrent; later ones are chained. */
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
      this.#streams.set(serial, "non_audio");
    } else {
      this.#currentStream = new OggStream(codec);
      this.#streams.set(serial, this.#currentStream);
    }
  }
}

function bytesToNextPage(bytes: Buffer, at: number): number {
  const next = bytes.indexOf(CAPTURE_PATTERN, at + 1);
  // The last bytes may be the start of a capture pattern.
  return next >= 0 ? next - at : Math.max(1, bytes.length - at - CAPTURE_PATTERN.length + 1);
}

function packetParts(laces: Buffer, flags: number): PacketPart[] {
  const parts: PacketPart[] = [];
  let bytes = 0;
  let isStart = (flags & FLAG_CONTINUED) === 0;
  let isOpen = false;
  for (const lace of laces) {
    bytes += lace;
    isOpen = lace === LACE_MAX;
    if (isOpen) continue;
    parts.push({ bytes, isStart, isEnd: true });
    bytes = 0;
    isStart = true;
  }
  if (isOpen) parts.push({ bytes, isStart, isEnd: false });
  return parts;
}
