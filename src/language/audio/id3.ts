import { matchesAt } from "./scanner.ts";

const HEADER_BYTES = 10;
const HAS_FOOTER = 0x10;

/** Length of the ID3v2 tag at `at`, zero when there is none; undefined when more bytes are needed to tell. */
export function id3TagBytes(bytes: Buffer, at: number): number | undefined {
  const named = matchesAt("ID3", bytes, at);
  if (named !== true) return named === false ? 0 : undefined;
  if (bytes.length - at < HEADER_BYTES) return undefined;
  const size = bytes.readUInt32BE(at + 6);
  // The size is synchsafe: seven bits per byte.
  if (bytes[at + 3] === 0xff || bytes[at + 4] === 0xff || (size & 0x80808080) !== 0) return 0;
  const body = ((size >>> 24) << 21) | (((size >>> 16) & 0x7f) << 14) | (((size >>> 8) & 0x7f) << 7) | (size & 0x7f);
  const footer = (bytes.readUInt8(at + 5) & HAS_FOOTER) === 0 ? 0 : HEADER_BYTES;
  return HEADER_BYTES + body + footer;
}
