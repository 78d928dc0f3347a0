import { adtsFrameAt } from "./adts.ts";
import type { FrameFormat } from "./frame-meter.ts";
import { id3TagBytes } from "./id3.ts";
import type { AudioFormat } from "./meter.ts";
import { mpegFrameAt } from "./mp3.ts";
import { isMp4Start } from "./mp4.ts";
import { matchesAt } from "./scanner.ts";
import { isWavStart } from "./wav.ts";
import { isWebmStart } from "./webm.ts";

/** With so many bytes every format is told apart. Fewer are given the benefit of the doubt. */
export const SNIFF_BYTES = 64;

const OPUS_HEAD_AT = 28;
const MPEG_HEADER_BYTES = 4;
const ADTS_HEADER_BYTES = 7;
const MARKUP_MIN_CHARS = 2;
const TEXT_MIN_CHARS = 12;

/** Whether an answer that begins so can be audio of a format, rather than of another one, or words under a good status. */
export function couldBeFormat(format: AudioFormat, firstBytes: Buffer): boolean {
  switch (format) {
    case "mp3":
      return mayHaveId3Tag(firstBytes) || couldBeFrame(firstBytes, MPEG_HEADER_BYTES, mpegFrameAt);
    case "aac":
      return mayHaveId3Tag(firstBytes) || couldBeFrame(firstBytes, ADTS_HEADER_BYTES, adtsFrameAt);
    case "opus":
      return couldMatchAt("OggS", firstBytes, 0) && couldMatchAt("OpusHead", firstBytes, OPUS_HEAD_AT);
    case "flac":
      return couldMatchAt("fLaC", firstBytes, 0);
    case "wav":
      return (
        (couldMatchAt("RIFF", firstBytes, 0) || couldMatchAt("RF64", firstBytes, 0)) &&
        couldMatchAt("WAVE", firstBytes, 8)
      );
    case "pcm":
      return !isContainerFile(firstBytes) && !isText(firstBytes);
  }
}

/** As far as bytes have come. */
function couldMatchAt(word: string, bytes: Buffer, at: number): boolean {
  return matchesAt(word, bytes, at) !== false;
}

function mayHaveId3Tag(bytes: Buffer): boolean {
  return id3TagBytes(bytes, 0) !== 0;
}

function couldBeFrame(bytes: Buffer, headerBytes: number, frameAt: FrameFormat["frameAt"]): boolean {
  if (bytes.length < headerBytes) return bytes.length === 0 || bytes[0] === 0xff;
  return frameAt(bytes, 0) !== undefined;
}

/** Raw samples have no mark of their own, so they are told by having no other's. */
function isContainerFile(bytes: Buffer): boolean {
  if (["fLaC", "OggS"].some((mark) => matchesAt(mark, bytes, 0) === true) || (id3TagBytes(bytes, 0) ?? 0) > 0)
    return true;
  if (isWavStart(bytes) || isWebmStart(bytes) || isMp4Start(bytes)) return true;
  return hasTwoFrames(bytes, MPEG_HEADER_BYTES, mpegFrameAt) || hasTwoFrames(bytes, ADTS_HEADER_BYTES, adtsFrameAt);
}

/** Two frames in a row: one header alone may be chance. */
function hasTwoFrames(bytes: Buffer, headerBytes: number, frameAt: FrameFormat["frameAt"]): boolean {
  const frame = bytes.length < headerBytes ? undefined : frameAt(bytes, 0);
  if (frame === undefined || bytes.length < frame.bytes + headerBytes) return false;
  return frameAt(bytes, frame.bytes)?.kind === frame.kind;
}

/** An error page or an object, or any plain words: no audio starts with that many letters and nothing else. */
function isText(bytes: Buffer): boolean {
  const words = bytes
    .toString("latin1", 0, SNIFF_BYTES)
    .replace(/^\xef\xbb\xbf/, "")
    .trimStart();
  if (/^[[{<][\t\n\r\x20-\xf4]*$/.test(words)) return words.length >= MARKUP_MIN_CHARS;
  return words.length >= TEXT_MIN_CHARS && /^[\t\n\r\x20-\x7e]*$/.test(words);
}
