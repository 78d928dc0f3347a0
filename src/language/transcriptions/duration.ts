import { durationToleranceSeconds } from "../audio/meter.ts";
import { PLAUSIBLE_FACTOR, PROVIDER_OVERHEAD_TOKENS, type UsageCeiling } from "../canon/usage-plausibility.ts";

/** Fewer bytes for a second are no speech that could be understood: so long, at most, is a file of a given size. */
const BYTES_PER_SECOND_MIN = 500;

/** Of a second that is heard: what models commonly make of it, and how many tokens are said in it. */
const HEARD_TOKENS_PER_SECOND = 10;
const SAID_TOKENS_PER_SECOND = 3.75;
/** Nobody speaks so fast. */
export const WRITTEN_TOKENS_PER_SECOND = 8;

/** What a transcript is expected to take where tokens are billed. */
export function transcriptTokens(seconds: number): { readonly heardTokens: number; readonly writtenTokens: number } {
  return { heardTokens: seconds * HEARD_TOKENS_PER_SECOND, writtenTokens: seconds * SAID_TOKENS_PER_SECOND };
}

/** The most that models make of a second of audio, and of the least that they listen to at once. */
const AUDIO_TOKENS_PER_SECOND = 12.5;
const WINDOW_SECONDS = 30;

/** The most tokens that are made of so much audio. */
export function heardTokensAtMost(seconds: number): number {
  return Math.ceil(Math.max(WINDOW_SECONDS, seconds) * AUDIO_TOKENS_PER_SECOND);
}

/** A file as far as it could be measured. */
export type Measured = {
  readonly bytes: number;
  readonly seconds: number | undefined;
  /** Of the bytes, those in which there may be more audio than was measured. */
  readonly passedBytes: number;
};

/** The longest that the audio of a file can last. */
export function secondsAtMost({ bytes, seconds }: Measured): number {
  return seconds ?? Math.ceil(bytes / BYTES_PER_SECOND_MIN);
}

/** Where the tokens end that can be of a file and of the prompt beside it. */
export function tokensEnd(file: Measured, prompt: string): UsageCeiling {
  const { seconds } = file;
  const most = seconds === undefined ? secondsAtMost(file) : mostOf(seconds, file);
  const written = PLAUSIBLE_FACTOR * WRITTEN_TOKENS_PER_SECOND * most + PROVIDER_OVERHEAD_TOKENS;
  return {
    inputTokens: PLAUSIBLE_FACTOR * (heardTokensAtMost(most) + prompt.length) + PROVIDER_OVERHEAD_TOKENS,
    visibleOutputTokens: written,
    outputTokens: written,
  };
}

/** What is reserved of it: as long as a provider may report it to be where nothing was passed over. */
export function secondsHeld(file: Measured): number {
  const most = secondsAtMost(file);
  return Math.ceil(most + durationToleranceSeconds(most));
}

/** What of a transcript shows how long its audio lasted: the end of its last segment, and the tokens of its words. */
export type Shown = { readonly untilSeconds: number; readonly tokens: number };

/**
 * How long the audio was: as the provider reports it, where that can be true, else as it was measured. It can have heard
 * what the measure passed over, as much as the size allows: a report of more counts as that much. One that may be the
 * measured length in milliseconds counts as what the transcript shows. Undefined when neither is known: then nothing can be
 * billed by it.
 */
export function secondsHeard(reported: number | undefined, file: Measured, shown: Shown): number | undefined {
  const { seconds } = file;
  if (seconds === undefined) return reported === undefined ? undefined : Math.min(reported, secondsAtMost(file));
  if (reported === undefined || reported < seconds - durationToleranceSeconds(seconds)) return toMillisecond(seconds);
  if (reported <= mostOf(seconds, file)) return reported;
  return isInMilliseconds(reported, seconds) ? secondsShown(file, shown) : toMillisecond(asToldOf(reported, file));
}

/** How long the audio of a transcript was that nobody reports: as measured, unless more went out than was said in that time. */
export function secondsShown(file: Measured, { untilSeconds, tokens }: Shown): number | undefined {
  const { seconds } = file;
  if (seconds === undefined) return undefined;
  const until = isInMilliseconds(untilSeconds, seconds) ? 0 : asToldOf(untilSeconds, file);
  const shown = Math.max(until, asToldOf(tokens / WRITTEN_TOKENS_PER_SECOND, file));
  return toMillisecond(shown > seconds + durationToleranceSeconds(seconds) ? shown : seconds);
}

/** No more than the size allows, and than was measured where nothing was passed over. */
function asToldOf(told: number, file: Measured): number {
  const { seconds = 0, passedBytes } = file;
  return Math.min(told, passedBytes === 0 ? seconds : mostOf(seconds, file));
}

function mostOf(seconds: number, { passedBytes }: Measured): number {
  return seconds + durationToleranceSeconds(seconds) + passedBytes / BYTES_PER_SECOND_MIN;
}

/** Near what was measured; of a moment, which anything is near, no more than half of it away. */
function isInMilliseconds(told: number, seconds: number): boolean {
  return Math.abs(told / 1000 - seconds) <= Math.min(durationToleranceSeconds(seconds), seconds / 2);
}

function toMillisecond(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}
