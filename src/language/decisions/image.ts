/** An image whose type was detected from its bytes, not from its declared type. */
export type DecisionImage = {
  readonly mediaType: DecisionImageType;
  readonly base64: string;
  /** Null when the header does not state it. */
  readonly size: { readonly width: number; readonly height: number } | null;
};

export type DecisionImageType = "image/png" | "image/jpeg" | "image/webp";

export type DecisionImageProblem = { readonly problem: string };

const DATA_URL = /^data:([a-z0-9.+-]+\/[a-z0-9.+-]+)(?:;[^;,]*)*;base64,/i;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const DECLARED_TYPES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/jpg", "image/webp"]);
/** A multiple of four, so that it decodes to whole bytes. */
const HEADER_CHARS = 512 * 1024;
const FORMATS = "PNG, JPEG and WebP are supported";

/** Decodes a data URL. The magic bytes determine the type; a wrong declared type is ignored. */
export function decodeImage(url: string): DecisionImage | DecisionImageProblem {
  const match = DATA_URL.exec(url.slice(0, 256));
  if (match === null)
    return { problem: /^https?:/i.test(url) ? "must be a data URL: URLs are not fetched" : "must be a data URL" };
  if (!DECLARED_TYPES.has((match[1] ?? "").toLowerCase()))
    return { problem: `is not an image of a supported format: ${FORMATS}` };
  const base64 = url.slice(match[0].length);
  const isWhole = base64.endsWith("=") ? base64.length % 4 === 0 : base64.length % 4 !== 1;
  if (!BASE64.test(base64) || !isWhole) return { problem: "is not base64" };
  // The header suffices for type and size.
  const header = readImageHeader(Buffer.from(base64.slice(0, HEADER_CHARS), "base64"));
  if ("problem" in header) return header;
  const padded = base64.padEnd(Math.ceil(base64.length / 4) * 4, "=");
  return { ...header, base64: padded };
}

/** The type and size that the first bytes of an image state. */
export function readImageHeader(bytes: Buffer): Omit<DecisionImage, "base64"> | DecisionImageProblem {
  const mediaType = detectImageType(bytes);
  if (mediaType === undefined) return { problem: `is not an image of a supported format: ${FORMATS}` };
  return { mediaType, size: imageSize(mediaType, bytes) };
}

export function imageUrl({ mediaType, base64 }: DecisionImage): string {
  return `data:${mediaType};base64,${base64}`;
}

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

function detectImageType(bytes: Buffer): DecisionImageType | undefined {
  if (bytes.subarray(0, 8).equals(PNG)) return "image/png";
  if (bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff) return "image/jpeg";
  if (bytes.toString("latin1", 0, 4) === "RIFF" && bytes.toString("latin1", 8, 12) === "WEBP") return "image/webp";
  return undefined;
}

function imageSize(type: DecisionImageType, bytes: Buffer): DecisionImage["size"] {
  switch (type) {
    case "image/png":
      return bytes.length < 24 ? null : { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
    case "image/jpeg":
      return jpegSize(bytes);
    case "image/webp":
      return webpSize(bytes);
  }
}

/** Start-of-frame markers; the other markers from C0 to CF are tables. */
const isFrameMarker = (marker: number) =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;

function jpegSize(bytes: Buffer): DecisionImage["size"] {
  let at = 2;
  while (at + 9 <= bytes.length) {
    if (bytes[at] !== 0xff) return null;
    const marker = bytes[at + 1] ?? 0;
    if (marker === 0xff) at += 1;
    else if (isFrameMarker(marker)) return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
    else at += 2 + bytes.readUInt16BE(at + 2);
  }
  return null;
}

function webpSize(bytes: Buffer): DecisionImage["size"] {
  if (bytes.length < 30) return null;
  switch (bytes.toString("latin1", 12, 16)) {
    case "VP8 ":
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    case "VP8L": {
      const bits = bytes.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case "VP8X":
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    default:
      return null;
  }
}

/** Number of 32-pixel tiles, as one provider counts images. */
export function imageTiles({ size }: DecisionImage): number | null {
  return size === null ? null : Math.round(size.width / 32) * Math.round(size.height / 32);
}
