import type { AudioFormat } from "../audio/meter.ts";
import { PLAUSIBLE_FACTOR } from "../canon/usage-ceiling.ts";

/** The canonical speech request. */
export type SpeechCall = {
  readonly input: string;
  readonly voice: string;
  readonly format: AudioFormat;
  readonly speed?: number | undefined;
  readonly instructions?: string | undefined;
};

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

/** Counts Unicode code points: a surrogate pair is one, an unpaired surrogate is one as well. */
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

/** Slower than any speech in any script: the hold must cover the longest result. */
const SLOWEST_CHARACTERS_PER_SECOND = 3;
const PAUSE_ALLOWANCE_SECONDS = 5;
/** Upper bound over all providers. */
const TOKENS_PER_SECOND_MAX = 32;
/** Lower bound over all providers: billed when a provider reports no usage. */
const TOKENS_PER_SECOND_MIN = 20;
const TYPICAL_CHARACTERS_PER_SECOND = 15;

/** The longest that speech of a text can last. */
export function maxSpeechSeconds(characters: number, speed = 1): number {
  return Math.ceil((characters / SLOWEST_CHARACTERS_PER_SECOND + PAUSE_ALLOWANCE_SECONDS) / Math.min(1, speed));
}

export function maxAudioTokens(seconds: number): number {
  return seconds * TOKENS_PER_SECOND_MAX;
}

const IMPLAUSIBLE_EXTRA_SECONDS = 60;

/** Audio longer than this is rejected: an endless stream, or headers that make it seem so. */
export function implausibleSeconds(characters: number, speed?: number): number {
  return PLAUSIBLE_FACTOR * maxSpeechSeconds(characters, speed) + IMPLAUSIBLE_EXTRA_SECONDS;
}

/** Input usage above this is implausible and is not billed. */
export function implausibleInputTokens({ input, instructions = "" }: SpeechCall): number {
  return PLAUSIBLE_FACTOR * (Buffer.byteLength(input) + Buffer.byteLength(instructions) + IMPLAUSIBLE_EXTRA_BYTES);
}

const IMPLAUSIBLE_EXTRA_BYTES = 256;

/** Used to compare endpoints. */
export function expectedSpeechSeconds(characters: number, speed = 1): number {
  return Math.max(1, Math.round(characters / TYPICAL_CHARACTERS_PER_SECOND / speed));
}

/** Tokens billed when the provider reported none; a lower bound, in the payer's favour. */
export function minAudioTokens(seconds: number): number {
  return Math.floor(seconds * TOKENS_PER_SECOND_MIN);
}
