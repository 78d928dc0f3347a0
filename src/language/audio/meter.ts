/** Output formats of the speech surface. */
export type AudioFormat = "mp3" | "opus" | "aac" | "flac" | "wav" | "pcm";

/** Measures the duration of audio from its bytes as they pass, however they are split. Retains no audio. */
export type AudioMeter = {
  push(chunk: Buffer): void;
  /** Duration so far; undefined when the bytes are not audio of this format. */
  seconds(): number | undefined;
  /** Skipped bytes in which a player may still find audio. Absent: possibly all of them. */
  skippedBytes?(): number;
};

/** Billed duration: rounded to whole seconds, at least one. */
export function billedSeconds(seconds: number): number {
  return Math.max(1, Math.round(seconds));
}

/** Tolerance between two measurements of one duration: counters may round or leave out silence. */
export function durationToleranceSeconds(seconds: number): number {
  return 1 + 0.05 * seconds;
}

/** Sums samples as integers per sample rate, so that half a second is exact. */
export class SampleDuration {
  #earlierSeconds = 0;
  #samples = 0;
  #rateHz = 1;

  add(samples: number, rateHz: number): void {
    if (rateHz <= 0) return;
    if (rateHz !== this.#rateHz) {
      this.#earlierSeconds = this.seconds;
      this.#samples = 0;
      this.#rateHz = rateHz;
    }
    this.#samples += samples;
  }

  get seconds(): number {
    return this.#earlierSeconds + this.#samples / this.#rateHz;
  }

  /** Excludes the last samples, which are incomplete. */
  secondsWithout(samples: number): number {
    return this.#earlierSeconds + (this.#samples - samples) / this.#rateHz;
  }
}
