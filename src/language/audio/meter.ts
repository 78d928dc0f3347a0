/** The formats of speech that callers can ask for. */
export type AudioFormat = "mp3" | "opus" | "aac" | "flac" | "wav" | "pcm";

/** Measures how long audio lasts while its bytes pass by, wherever they were cut. Keeps no audio. */
export type AudioMeter = {
  push(chunk: Buffer): void;
  /** How long what has come so far lasts; undefined when it is not audio of the meter's format. */
  seconds(): number | undefined;
  /** Bytes that were passed over, in which a player may find audio all the same. Absent: that could be any of them. */
  skippedBytes?(): number;
};

/** What is billed of audio: whole seconds, a half counts up, never less than one. */
export function billedSeconds(seconds: number): number {
  return Math.max(1, Math.round(seconds));
}

/** How far apart two accounts of one length may be: who counts may round, or leave silence out. */
export function durationToleranceSeconds(seconds: number): number {
  return 1 + 0.05 * seconds;
}

/** Adds samples up in whole numbers for as long as their rate stays, so that a half second is exactly a half. */
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

  /** Without the last samples, which have not come whole. */
  secondsWithout(samples: number): number {
    return this.#earlierSeconds + (this.#samples - samples) / this.#rateHz;
  }
}
