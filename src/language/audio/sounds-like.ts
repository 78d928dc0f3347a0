import { adtsFrameAt } from "./adts.ts";
import type { Framing } from "./framed.ts";
import { tagBytes } from "./id3.ts";
import type { AudioFormat } from "./meter.ts";
import { mpegFrameAt } from "./mp3.ts";
import { opensMp4 } from "./mp4.ts";
import { standsAt } from "./scanner.ts";
import { opensWav } from "./wav.ts";
import { opensWebm } from "./webm.ts";

/** With so many bytes every format is told apart. Fewer are given the benefit of the doubt. */
export const TELLING_BYTES = 64;

const OPUS_HEAD_AT = 28;
const MPEG_HEADER_BYTES = 4;
const ADTS_HEADER_BYTES = 7;
const WORDS_MIN = 2;
const LETTERS_MIN = 12;

/** Whether an answer that begins so can be audio of a format, rather than of another one, or words under a good status. */
export function soundsLike(format: AudioFormat, firstBytes: Buffer): boolean {
  switch (format) {
    case "mp3":
      return isTagged(firstBytes) || isFrame(firstBytes, MPEG_HEADER_BYTES, mpegFrameAt);
    case "aac":
      return isTagged(firstBytes) || isFrame(firstBytes, ADTS_HEADER_BYTES, adtsFrameAt);
    case "opus":
      return begins("OggS", firstBytes, 0) && begins("OpusHead", firstBytes, OPUS_HEAD_AT);
    case "flac":
      return begins("fLaC", firstBytes, 0);
    case "wav":
      return (begins("RIFF", firstBytes, 0) || begins("RF64", firstBytes, 0)) && begins("WAVE", firstBytes, 8);
    case "pcm":
      return !isFile(firstBytes) && !isText(firstBytes);
  }
}

/** As far as bytes have come. */
function begins(word: string, bytes: Buffer, at: number): boolean {
  return standsAt(word, bytes, at) !== false;
}

function isTagged(bytes: Buffer): boolean {
  return tagBytes(bytes, 0) !== 0;
}

function isFrame(bytes: Buffer, headerBytes: number, frameAt: Framing["frameAt"]): boolean {
  if (bytes.length < headerBytes) return bytes.length === 0 || bytes[0] === 0xff;
  return frameAt(bytes, 0) !== undefined;
}

/** Raw samples have no mark of their own, so they are told by having no other's. */
function isFile(bytes: Buffer): boolean {
  if (["fLaC", "OggS"].some((mark) => standsAt(mark, bytes, 0) === true) || (tagBytes(bytes, 0) ?? 0) > 0) return true;
  if (opensWav(bytes) || opensWebm(bytes) || opensMp4(bytes)) return true;
  return hasFrames(bytes, MPEG_HEADER_BYTES, mpegFrameAt) || hasFrames(bytes, ADTS_HEADER_BYTES, adtsFrameAt);
}

/** Two frames in a row: one header alone may be chance. */
function hasFrames(bytes: Buffer, headerBytes: number, frameAt: Framing["frameAt"]): boolean {
  const frame = bytes.length < headerBytes ? undefined : frameAt(bytes, 0);
  if (frame === undefined || bytes.length < frame.bytes + headerBytes) return false;
  return frameAt(bytes, frame.bytes)?.kind === frame.kind;
}

/** An error page or an object, or any plain words: no audio starts with that many letters and nothing else. */
function isText(bytes: Buffer): boolean {
  const words = bytes
    .toString("latin1", 0, TELLING_BYTES)
    .replace(/^\xef\xbb\xbf/, "")
    .trimStart();
  if (/^[[{<][\t\n\r\x20-\xf4]*$/.test(words)) return words.length >= WORDS_MIN;
  return words.length >= LETTERS_MIN && /^[\t\n\r\x20-\x7e]*$/.test(words);
}
