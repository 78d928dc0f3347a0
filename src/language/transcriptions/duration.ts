import { durationToleranceSeconds } from "../audio/meter.ts";
import { PLAUSIBLE_FACTOR, PROVIDER_OVERHEAD_TOKENS, type UsageCeiling } from "../canon/usage-plausibility.ts";

/** Fewer bytes for a second are no speech that could be understood: so long, at most, is a file of a given size. */
const SPEECH_BYTES_PER_SECOND_MIN = 500;

/** Of a second that is heard: what models commonly make of it, and how many tokens are said in it. */
const TYPICAL_AUDIO_TOKENS_PER_SECOND = 10;
const TYPICAL_TEXT_TOKENS_PER_SECOND = 3.75;
/** Nobody speaks so fast. */
export const TEXT_TOKENS_PER_SECOND_MAX = 8;

/** What a transcript is expected to take where tokens are billed. */
export function expectedTranscriptTokens(seconds: number): {
  readonly heardTokens: number;
  readonly writtenTokens: number;
} {
  return {
    heardTokens: seconds * TYPICAL_AUDIO_TOKENS_PER_SECOND,
    writtenTokens: seconds * TYPICAL_TEXT_TOKENS_PER_SECOND,
  };
}

/** The most that models make of a second of audio, and of the least that they listen to at once. */
const AUDIO_TOKENS_PER_SECOND_MAX = 12.5;
const WINDOW_SECONDS = 30;

/** The most tokens that are made of so much audio. */
export function maxAudioInputTokens(seconds: number): number {
  return Math.ceil(Math.max(WINDOW_SECONDS, seconds) * AUDIO_TOKENS_PER_SECOND_MAX);
}

/** A file as far as it could be measured. */
export type MeasuredAudio = {
  readonly bytes: number;
  readonly seconds: number | undefined;
  /** Of the bytes, those in which there may be more audio than was measured. */
  readonly skippedBytes: number;
};

/** The longest that the audio of a file can last. */
export function maxSeconds({ bytes, seconds }: MeasuredAudio): number {
  return seconds ?? Math.ceil(bytes / SPEECH_BYTES_PER_SECOND_MIN);
}

/** Where the tokens end that can be of a file and of the prompt beside it. */
export function implausibleUsage(file: MeasuredAudio, prompt: string): UsageCeiling {
  const { seconds } = file;
  const most = seconds === undefined ? maxSeconds(file) : maxReportableSeconds(seconds, file);
  const written = PLAUSIBLE_FACTOR * TEXT_TOKENS_PER_SECOND_MAX * most + PROVIDER_OVERHEAD_TOKENS;
  return {
    inputTokens: PLAUSIBLE_FACTOR * (maxAudioInputTokens(most) + prompt.length) + PROVIDER_OVERHEAD_TOKENS,
    visibleOutputTokens: written,
    outputTokens: written,
  };
}

/** What is reserved of it: as long as a provider may report it to be where nothing was passed over. */
export function secondsToHold(file: MeasuredAudio): number {
  const most = maxSeconds(file);
  return Math.ceil(most + durationToleranceSeconds(most));
}

/** What of a transcript shows how long its audio lasted: the end of its last segment, and the tokens of its words. */
export type TranscriptExtent = { readonly endSeconds: number; readonly tokens: number };

/**
 * How long the audio was: as the provider reports it, where that can be true, else as it was measured. It can have heard
 * what the measure passed over, as much as the size allows: a report of more counts as that much. One that may be the
 * measured length in milliseconds counts as what the transcript shows. Undefined when neither is known: then nothing can be
 * billed by it.
 */
export function billableSeconds(
  reported: number | undefined,
  file: MeasuredAudio,
  shown: TranscriptExtent,
): number | undefined {
  const { seconds } = file;
  if (seconds === undefined) return reported === undefined ? undefined : Math.min(reported, maxSeconds(file));
  if (reported === undefined || reported < seconds - durationToleranceSeconds(seconds))
    return roundToMillisecond(seconds);
  if (reported <= maxReportableSeconds(seconds, file)) return reported;
  return looksLikeMilliseconds(reported, seconds)
    ? secondsWithoutReport(file, shown)
    : roundToMillisecond(clampReported(reported, file));
}

/** How long the audio of a transcript was that nobody reports: as measured, unless more went out than was said in that time. */
export function secondsWithoutReport(
  file: MeasuredAudio,
  { endSeconds, tokens }: TranscriptExtent,
): number | undefined {
  const { seconds } = file;
  if (seconds === undefined) return undefined;
  const until = looksLikeMilliseconds(endSeconds, seconds) ? 0 : clampReported(endSeconds, file);
  const shown = Math.max(until, clampReported(tokens / TEXT_TOKENS_PER_SECOND_MAX, file));
  return roundToMillisecond(shown > seconds + durationToleranceSeconds(seconds) ? shown : seconds);
}

/** No more than the size allows, and than was measured where nothing was passed over. */
function clampReported(reported: number, file: MeasuredAudio): number {
  const { seconds = 0, skippedBytes } = file;
  return Math.min(reported, skippedBytes === 0 ? seconds : maxReportableSeconds(seconds, file));
}

function maxReportableSeconds(seconds: number, { skippedBytes }: MeasuredAudio): number {
  return seconds + durationToleranceSeconds(seconds) + skippedBytes / SPEECH_BYTES_PER_SECOND_MIN;
}

/** Near what was measured; of a moment, which anything is near, no more than half of it away. */
function looksLikeMilliseconds(reported: number, seconds: number): boolean {
  return Math.abs(reported / 1000 - seconds) <= Math.min(durationToleranceSeconds(seconds), seconds / 2);
}

function roundToMillisecond(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}
