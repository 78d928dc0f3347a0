import type { AudioFormat } from "../../language/audio/meter.ts";
import { SPEECH_PCM, wavHeader } from "../../language/audio/pcm.ts";
import { encodeFlac } from "./flac.ts";
import { silentAac, silentMp3 } from "./frames.ts";
import { silentOpus } from "./opus.ts";
import { tone } from "./tone.ts";

const CHARACTERS_PER_SECOND = 15;
const SECONDS_MIN = 0.5;

/** How long the simulated voice takes for a text. */
export function speechSeconds(text: string): number {
  return Math.max(SECONDS_MIN, [...text].length / CHARACTERS_PER_SECOND);
}

/** Audio of a length, the same bytes every time, that real decoders take. Formats made of frames are rounded up to whole ones. */
export function synthesizeSpeech(format: AudioFormat, seconds: number): Buffer {
  switch (format) {
    case "pcm":
      return tone(seconds);
    case "wav": {
      const samples = tone(seconds);
      return Buffer.concat([wavHeader(SPEECH_PCM, samples.length), samples]);
    }
    case "flac":
      return encodeFlac(tone(seconds));
    case "mp3":
      return silentMp3(seconds);
    case "aac":
      return silentAac(seconds);
    case "opus":
      return silentOpus(seconds);
  }
}
