import type { AudioFormat } from "../../language/audio/meter.ts";
import { SPEECH_PCM, wavHeader } from "../../language/audio/pcm.ts";
import { encodeFlac } from "./flac.ts";
import { silentOpus } from "./opus.ts";

const CHARACTERS_PER_SECOND = 15;
const SECONDS_MIN = 0.5;

export function speechSeconds(text: string): number {
  return Math.max(SECONDS_MIN, [...text].length / CHARACTERS_PER_SECOND);
}

/** Deterministic audio that real decoders accept. Frame-based formats are rounded up to whole frames. */
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

const TONE_HZ = 400;
const AMPLITUDE = 2_000;

/** A quiet tone as raw 16-bit samples; its period is a whole number of samples, so it can be repeated. */
export function tone(seconds: number): Buffer {
  const samples = Math.round(seconds * SPEECH_PCM.rateHz);
  const periodSamples = SPEECH_PCM.rateHz / TONE_HZ;
  const period = Buffer.alloc(periodSamples * 2);
  for (let i = 0; i < periodSamples; i++) {
    period.writeInt16LE(Math.round(AMPLITUDE * Math.sin((2 * Math.PI * i) / periodSamples)), i * 2);
  }
  return Buffer.alloc(samples * 2, period);
}

const RATE_HZ = 24_000;

/** MPEG-2 layer III, 32 kbit/s, mono. Zeroed side information means silence. */
const MP3_HEADER = Buffer.from([0xff, 0xf3, 0x44, 0xc4]);
const MP3_FRAME_BYTES = 96;
const MP3_FRAME_SAMPLES = 576;

/** AAC-LC, mono: one channel without bands, and the end marker. */
const AAC_BODY = Buffer.from([0x00, 0x00, 0x00, 0x07]);
const AAC_FRAME_SAMPLES = 1_024;
const AAC_RATE_INDEX = 6;

export function silentMp3(seconds: number): Buffer {
  const frame = Buffer.concat([MP3_HEADER], MP3_FRAME_BYTES);
  return repeatFrame(frame, seconds, MP3_FRAME_SAMPLES);
}

export function silentAac(seconds: number): Buffer {
  const bytes = 7 + AAC_BODY.length;
  const header = Buffer.from([
    0xff,
    0xf1,
    0x40 | (AAC_RATE_INDEX << 2),
    0x40,
    bytes >>> 3,
    ((bytes & 7) << 5) | 0x1f,
    0xfc,
  ]);
  return repeatFrame(Buffer.concat([header, AAC_BODY]), seconds, AAC_FRAME_SAMPLES);
}

function repeatFrame(frame: Buffer, seconds: number, samples: number): Buffer {
  const count = Math.max(1, Math.ceil((seconds * RATE_HZ) / samples));
  return Buffer.alloc(count * frame.length, frame);
}
