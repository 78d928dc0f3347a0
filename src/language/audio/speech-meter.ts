import { FlacMeter } from "./flac.ts";
import type { AudioFormat, AudioMeter } from "./meter.ts";
import { mp3Meter } from "./mp3.ts";
import { OggMeter } from "./ogg.ts";
import { type PcmFormat, pcmMeter, SPEECH_PCM } from "./pcm.ts";
import { WavMeter } from "./wav.ts";

/** Undefined for AAC, whose duration is not billable. */
export function speechMeter(format: AudioFormat, pcm: PcmFormat = SPEECH_PCM): AudioMeter | undefined {
  switch (format) {
    case "mp3":
      return mp3Meter();
    case "opus":
      return new OggMeter();
    case "flac":
      return new FlacMeter();
    case "wav":
      return new WavMeter();
    case "pcm":
      return pcmMeter(pcm);
    case "aac":
      return undefined;
  }
}
