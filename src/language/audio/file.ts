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

/** Measures a file whose format nobody has told: it shows in the first bytes, never in the name. */
export function fileMeter(): Meter {
  let meter: Meter | undefined;
  let hasTag = false;
  const scanner = new Scanner((bytes, at) => {
    if (meter === undefined) {
      const tag = tagBytes(bytes, at);
      hasTag ||= tag !== undefined && tag > 0;
      if (tag !== 0) return tag;
      // Some writers leave room behind the tag.
      if (hasTag && bytes[at] === 0) return 1;
      if (bytes.length - at < MAGIC_BYTES) return undefined;
      meter = meterOf(bytes.subarray(at, at + MAGIC_BYTES)) ?? (hasTag ? mp3Meter() : UNKNOWN);
    }
    meter.push(bytes.subarray(at));
    return bytes.length - at;
  });
  return { push: (chunk) => scanner.push(chunk), seconds: () => meter?.seconds() };
}

const UNKNOWN: Meter = { push: () => {}, seconds: () => undefined };

function meterOf(head: Buffer): Meter | undefined {
  if (standsAt("fLaC", head, 0) === true) return new FlacMeter();
  if (standsAt("OggS", head, 0) === true) return new OggMeter();
  if (opensWav(head)) return new WavMeter();
  if (opensWebm(head)) return new WebmMeter();
  if (opensMp4(head)) return new Mp4Meter();
  if (adtsFrameAt(head, 0) !== undefined) return adtsMeter();
  return mpegFrameAt(head, 0) === undefined ? undefined : mp3Meter();
}
