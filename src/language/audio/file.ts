import { adtsFrameAt, adtsMeter } from "./adts.ts";
import { FlacMeter } from "./flac.ts";
import { tagBytes } from "./id3.ts";
import type { Meter } from "./meter.ts";
import { mp3Meter, mpegFrameAt } from "./mp3.ts";
import { Mp4Meter, opensMp4 } from "./mp4.ts";
import { OggMeter } from "./ogg.ts";
import { Scanner, standsAt } from "./scanner.ts";
import { opensWav, WavMeter } from "./wav.ts";
import { opensWebm, WebmMeter } from "./webm.ts";

/** So much of a file tells what it is. */
const MAGIC_BYTES = 12;

/** Beside its length: the media type of the format that it shows; undefined while nobody knows. */
export type FileMeter = Meter & { passedBytes(): number; mediaType(): string | undefined };

/** Measures a file whose format nobody has told: it shows in the first bytes, never in the name. */
export function fileMeter(): FileMeter {
  let meter: Meter | undefined;
  let mediaType: string | undefined;
  let hasTag = false;
  let meteredBytes = 0;
  const scanner = new Scanner((bytes, at) => {
    if (meter === undefined) {
      const tag = tagBytes(bytes, at);
      hasTag ||= tag !== undefined && tag > 0;
      if (tag !== 0) return tag;
      // Some writers leave room behind the tag.
      if (hasTag && bytes[at] === 0) return 1;
      if (bytes.length - at < MAGIC_BYTES) return undefined;
      const format = formatOf(bytes.subarray(at, at + MAGIC_BYTES)) ?? (hasTag ? MPEG : undefined);
      mediaType = format?.mediaType;
      meter = format?.open() ?? UNKNOWN;
    }
    meteredBytes += bytes.length - at;
    meter.push(bytes.subarray(at));
    return bytes.length - at;
  });
  return {
    push: (chunk) => scanner.push(chunk),
    // Where nothing is heard, or most is passed over, a player may hear more than was counted.
    seconds: () => ((meter?.passedBytes?.() ?? 0) * 2 > meteredBytes ? undefined : meter?.seconds() || undefined),
    passedBytes: () => meter?.passedBytes?.() ?? meteredBytes,
    mediaType: () => mediaType,
  };
}

const UNKNOWN: Meter = { push: () => {}, seconds: () => undefined };

type Format = { readonly mediaType: string; open(): Meter };

const MPEG: Format = { mediaType: "audio/mpeg", open: mp3Meter };

function formatOf(head: Buffer): Format | undefined {
  if (standsAt("fLaC", head, 0) === true) return { mediaType: "audio/flac", open: () => new FlacMeter() };
  if (standsAt("OggS", head, 0) === true) return { mediaType: "audio/ogg", open: () => new OggMeter() };
  if (opensWav(head)) return { mediaType: "audio/wav", open: () => new WavMeter() };
  if (opensWebm(head)) return { mediaType: "audio/webm", open: () => new WebmMeter() };
  if (opensMp4(head)) return { mediaType: "audio/mp4", open: () => new Mp4Meter() };
  if (adtsFrameAt(head, 0) !== undefined) return { mediaType: "audio/aac", open: adtsMeter };
  return mpegFrameAt(head, 0) === undefined ? undefined : MPEG;
}
