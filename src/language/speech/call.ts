import type { AudioFormat } from "../audio/meter.ts";
import { PLAUSIBLE_FACTOR } from "../canon/usage-plausibility.ts";

/** A text to be spoken, as it was asked for. */
export type SpeechCall = {
  readonly input: string;
  readonly voice: string;
  readonly format: AudioFormat;
  readonly speed?: number | undefined;
  readonly instructions?: string | undefined;
};

/** How a caller hears the bytes called. */
export const CONTENT_TYPES: Readonly<Record<AudioFormat, string>> = {
  mp3: "audio/mpeg",
  opus: "audio/opus",
  aac: "audio/aac",
  flac: "audio/flac",
  wav: "audio/wav",
  pcm: "audio/pcm",
};

const HIGH_SURROGATE_MIN = 0xd800;
const LOW_SURROGATE_MIN = 0xdc00;
const LOW_SURROGATE_MAX = 0xdfff;

/** Unicode code points: two halves of one character are one, a half without its other is one as well. */
export function countCodePoints(text: string): number {
  let points = text.length;
  for (let at = 1; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit < LOW_SURROGATE_MIN || unit > LOW_SURROGATE_MAX) continue;
    const before = text.charCodeAt(at - 1);
    if (before >= HIGH_SURROGATE_MIN && before < LOW_SURROGATE_MIN) points -= 1;
  }
  return points;
}

/** Slower than anybody reads, in any script; what is reserved is given back. */
const SLOWEST_CHARACTERS_PER_SECOND = 3;
const PAUSE_ALLOWANCE_SECONDS = 5;
/** More than any provider counts for a second of audio. */
const TOKENS_PER_SECOND_MAX = 32;
/** Fewer than any provider counts: what is billed of a second whose tokens nobody told. */
const TOKENS_PER_SECOND_MIN = 20;
/** What readers make of a text usually. */
const TYPICAL_CHARACTERS_PER_SECOND = 15;

/** The longest that a text can take to be said. */
export function maxSpeechSeconds(characters: number, speed = 1): number {
  return Math.ceil((characters / SLOWEST_CHARACTERS_PER_SECOND + PAUSE_ALLOWANCE_SECONDS) / Math.min(1, speed));
}

export function maxAudioTokens(seconds: number): number {
  return seconds * TOKENS_PER_SECOND_MAX;
}

/** What is reserved is what a text can take; many times that, and a minute, is no speech of it any more. */
const IMPLAUSIBLE_EXTRA_SECONDS = 60;

/** The end of what is listened to: audio without an end, or whose headers make it seem so, is nobody's answer. */
export function implausibleSeconds(characters: number, speed?: number): number {
  return PLAUSIBLE_FACTOR * maxSpeechSeconds(characters, speed) + IMPLAUSIBLE_EXTRA_SECONDS;
}

/** More tokens than bytes, and many more: nobody counts so, and nobody is billed by it. */
export function implausibleInputTokens({ input, instructions = "" }: SpeechCall): number {
  return PLAUSIBLE_FACTOR * (Buffer.byteLength(input) + Buffer.byteLength(instructions) + IMPLAUSIBLE_EXTRA_BYTES);
}

const IMPLAUSIBLE_EXTRA_BYTES = 256;

/** What a text usually takes: endpoints are compared by it. */
export function expectedSpeechSeconds(characters: number, speed = 1): number {
  return Math.max(1, Math.round(characters / TYPICAL_CHARACTERS_PER_SECOND / speed));
}

/** The tokens of audio that came without any figures; in favour of who pays. */
export function minAudioTokens(seconds: number): number {
  return Math.floor(seconds * TOKENS_PER_SECOND_MIN);
}
