import { adtsFrameAt } from "./adts.ts";
import type { FrameFormat } from "./frame-meter.ts";
import { id3TagBytes } from "./id3.ts";
import type { AudioFormat } from "./meter.ts";
import { mpegFrameAt } from "./mp3.ts";
import { isMp4Start } from "./mp4.ts";
import { matchesAt } from "./scanner.ts";
import { isWavStart } from "./wav.ts";
import { isWebmStart } from "./webm.ts";

/** Enough bytes to tell all formats apart; shorter input is accepted if it could match. */
export const SNIFF_BYTES = 64;

const OPUS_HEAD_AT = 28;
const MPEG_HEADER_BYTES = 4;
const ADTS_HEADER_BYTES = 7;
const MARKUP_MIN_CHARS = 2;
const TEXT_MIN_CHARS = 12;

/** Whether the first bytes of a response can be audio of a format, rather than another format or an error text. */
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

/** Raw samples have no signature, so they are recognised by the absence of any other. */
function isContainerFile(bytes: Buffer): boolean {
  if (["fLaC", "OggS"].some((signature) => matchesAt(signature, bytes, 0) === true) || (id3TagBytes(bytes, 0) ?? 0) > 0)
    return true;
  if (isWavStart(bytes) || isWebmStart(bytes) || isMp4Start(bytes)) return true;
  return hasTwoFrames(bytes, MPEG_HEADER_BYTES, mpegFrameAt) || hasTwoFrames(bytes, ADTS_HEADER_BYTES, adtsFrameAt);
}

/** Two consecutive frames: a single header may be coincidence. */
function hasTwoFrames(bytes: Buffer, headerBytes: number, frameAt: FrameFormat["frameAt"]): boolean {
  const frame = bytes.length < headerBytes ? undefined : frameAt(bytes, 0);
  if (frame === undefined || bytes.length < frame.bytes + headerBytes) return false;
  return frameAt(bytes, frame.bytes)?.kind === frame.kind;
}

/** JSON, HTML or plain text: no audio starts with that many printable characters. */
function isText(bytes: Buffer): boolean {
  const text = bytes
    .toString("latin1", 0, SNIFF_BYTES)
    .replace(/^\xef\xbb\xbf/, "")
    .trimStart();
  if (/^[[{<][\t\n\r\x20-\xf4]*$/.test(text)) return text.length >= MARKUP_MIN_CHARS;
  return text.length >= TEXT_MIN_CHARS && /^[\t\n\r\x20-\x7e]*$/.test(text);
}
