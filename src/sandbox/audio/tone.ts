import { SPEECH_PCM } from "../../language/audio/pcm.ts";

const TONE_HZ = 400;
const AMPLITUDE = 2_000;

/** A soft tone as raw samples of 16 bits. Its period is whole, so that it can be repeated. */
export function tone(seconds: number): Buffer {
  const samples = Math.round(seconds * SPEECH_PCM.rateHz);
  const periodSamples = SPEECH_PCM.rateHz / TONE_HZ;
  const period = Buffer.alloc(periodSamples * 2);
  for (let i = 0; i < periodSamples; i++) {
    period.writeInt16LE(Math.round(AMPLITUDE * Math.sin((2 * Math.PI * i) / periodSamples)), i * 2);
  }
  return Buffer.alloc(samples * 2, period);
}
