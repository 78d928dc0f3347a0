import { adtsFrameAt, adtsMeter } from "./adts.ts";
import { FlacMeter } from "./flac.ts";
import { id3TagBytes } from "./id3.ts";
import type { AudioMeter } from "./meter.ts";
import { mp3Meter, mpegFrameAt } from "./mp3.ts";
import { isMp4Start, Mp4Meter } from "./mp4.ts";
import { OggMeter } from "./ogg.ts";
import { matchesAt, Scanner } from "./scanner.ts";
import { isWavStart, WavMeter } from "./wav.ts";
import { isWebmStart, WebmMeter } from "./webm.ts";

/** Enough bytes to identify every format. */
const FILE_MAGIC_BYTES = 12;

/** `mediaType` is undefined until the format is identified. */
export type FileMeter = AudioMeter & { skippedBytes(): number; mediaType(): string | undefined };

/** Measures a file of any format, identified by its magic bytes and never by its name. */
export function fileMeter(): FileMeter {
  let meter: AudioMeter | undefined;
  let mediaType: string | undefined;
  let hasTag = false;
  let meteredBytes = 0;
  const scanner = new Scanner((bytes, at) => {
    if (meter === undefined) {
      const tag = id3TagBytes(bytes, at);
      hasTag ||= tag !== undefined && tag > 0;
      if (tag !== 0) return tag;
      // Some encoders pad after the tag.
      if (hasTag && bytes[at] === 0) return 1;
      if (bytes.length - at < FILE_MAGIC_BYTES) return undefined;
      const format = detectFileFormat(bytes.subarray(at, at + FILE_MAGIC_BYTES)) ?? (hasTag ? MPEG_FORMAT : undefined);
      mediaType = format?.mediaType;
      meter = format?.createMeter() ?? UNKNOWN_FORMAT_METER;
    }
    meteredBytes += bytes.length - at;
    meter.push(bytes.subarray(at));
    return bytes.length - at;
  });
  return {
    push: (chunk) => scanner.push(chunk),
    // If most bytes were skipped, a player may find more audio than was counted.
    seconds: () => ((meter?.skippedBytes?.() ?? 0) * 2 > meteredBytes ? undefined : meter?.seconds() || undefined),
    skippedBytes: () => meter?.skippedBytes?.() ?? meteredBytes,
    mediaType: () => mediaType,
  };
}

const UNKNOWN_FORMAT_METER: AudioMeter = { push: () => {}, seconds: () => undefined };

type FileFormat = { readonly mediaType: string; createMeter(): AudioMeter };

const MPEG_FORMAT: FileFormat = { mediaType: "audio/mpeg", createMeter: mp3Meter };

function detectFileFormat(head: Buffer): FileFormat | undefined {
  if (matchesAt("fLaC", head, 0) === true) return { mediaType: "audio/flac", createMeter: () => new FlacMeter() };
  if (matchesAt("OggS", head, 0) === true) return { mediaType: "audio/ogg", createMeter: () => new OggMeter() };
  if (isWavStart(head)) return { mediaType: "audio/wav", createMeter: () => new WavMeter() };
  if (isWebmStart(head)) return { mediaType: "audio/webm", createMeter: () => new WebmMeter() };
  if (isMp4Start(head)) return { mediaType: "audio/mp4", createMeter: () => new Mp4Meter() };
  if (adtsFrameAt(head, 0) !== undefined) return { mediaType: "audio/aac", createMeter: adtsMeter };
  return mpegFrameAt(head, 0) === undefined ? undefined : MPEG_FORMAT;
}
