import { durationToleranceSeconds } from "../audio/meter.ts";
import { PLAUSIBLE_FACTOR, PROVIDER_OVERHEAD_TOKENS, type UsageCeiling } from "../canon/usage-ceiling.ts";

/** Lowest bit rate of intelligible speech: bounds the duration of a file by its size. */
const SPEECH_BYTES_PER_SECOND_MIN = 500;

const TYPICAL_AUDIO_TOKENS_PER_SECOND = 10;
const TYPICAL_TEXT_TOKENS_PER_SECOND = 3.75;
/** Faster than any speech. */
export const TEXT_TOKENS_PER_SECOND_MAX = 8;

/** Expected usage of token-billed endpoints. */
export function expectedTranscriptTokens(seconds: number): {
  readonly audioInputTokens: number;
  readonly outputTokens: number;
} {
  return {
    audioInputTokens: seconds * TYPICAL_AUDIO_TOKENS_PER_SECOND,
    outputTokens: seconds * TYPICAL_TEXT_TOKENS_PER_SECOND,
  };
}

/** Upper bound over all models, which process at least one window. */
const AUDIO_TOKENS_PER_SECOND_MAX = 12.5;
const WINDOW_SECONDS = 30;

export function maxAudioInputTokens(seconds: number): number {
  return Math.ceil(Math.max(WINDOW_SECONDS, seconds) * AUDIO_TOKENS_PER_SECOND_MAX);
}

export type MeasuredAudio = {
  readonly bytes: number;
  readonly seconds: number | undefined;
  /** Bytes that may contain audio beyond the measured duration. */
  readonly skippedBytes: number;
};

export function maxSeconds({ bytes, seconds }: MeasuredAudio): number {
  return seconds ?? Math.ceil(bytes / SPEECH_BYTES_PER_SECOND_MIN);
}

/** Usage above this is implausible for the file and its prompt. */
export function implausibleUsage(file: MeasuredAudio, prompt: string): UsageCeiling {
  const { seconds } = file;
  const longest = seconds === undefined ? maxSeconds(file) : maxReportableSeconds(seconds, file);
  const outputTokens = PLAUSIBLE_FACTOR * TEXT_TOKENS_PER_SECOND_MAX * longest + PROVIDER_OVERHEAD_TOKENS;
  return {
    inputTokens: PLAUSIBLE_FACTOR * (maxAudioInputTokens(longest) + prompt.length) + PROVIDER_OVERHEAD_TOKENS,
    visibleOutputTokens: outputTokens,
    outputTokens,
  };
}

/** Seconds to hold: the longest duration that a provider may report for a fully measured file. */
export function secondsToHold(file: MeasuredAudio): number {
  const longest = maxSeconds(file);
  return Math.ceil(longest + durationToleranceSeconds(longest));
}

/** What the transcript reveals about the duration: the end of its last segment, and the tokens of its text. */
export type TranscriptExtent = { readonly endSeconds: number; readonly tokens: number };

/**
 * The billed duration: the provider's report if plausible, else the measured duration. A report above the measurement
 * is capped by the bytes that the meter skipped; a report that looks like milliseconds is replaced by the transcript's
 * extent. Undefined when nothing is known, so that nothing can be billed by duration.
 */
export function billableSeconds(
  reported: number | undefined,
  file: MeasuredAudio,
  extent: TranscriptExtent,
): number | undefined {
  const { seconds } = file;
  if (seconds === undefined) return reported === undefined ? undefined : Math.min(reported, maxSeconds(file));
  if (reported === undefined || reported < seconds - durationToleranceSeconds(seconds))
    return roundToMillisecond(seconds);
  if (reported <= maxReportableSeconds(seconds, file)) return reported;
  return looksLikeMilliseconds(reported, seconds)
    ? secondsWithoutReport(file, extent)
    : roundToMillisecond(clampReported(reported, file));
}

/** The duration without a report: as measured, unless the transcript extends beyond it. */
export function secondsWithoutReport(
  file: MeasuredAudio,
  { endSeconds, tokens }: TranscriptExtent,
): number | undefined {
  const { seconds } = file;
  if (seconds === undefined) return undefined;
  const end = looksLikeMilliseconds(endSeconds, seconds) ? 0 : clampReported(endSeconds, file);
  const extent = Math.max(end, clampReported(tokens / TEXT_TOKENS_PER_SECOND_MAX, file));
  return roundToMillisecond(extent > seconds + durationToleranceSeconds(seconds) ? extent : seconds);
}

/** Caps a duration by the file size, and by the measurement if nothing was skipped. */
function clampReported(reported: number, file: MeasuredAudio): number {
  const { seconds = 0, skippedBytes } = file;
  return Math.min(reported, skippedBytes === 0 ? seconds : maxReportableSeconds(seconds, file));
}

function maxReportableSeconds(seconds: number, { skippedBytes }: MeasuredAudio): number {
  return seconds + durationToleranceSeconds(seconds) + skippedBytes / SPEECH_BYTES_PER_SECOND_MIN;
}

/** Within tolerance of the measured duration; for very short audio within half of it. */
function looksLikeMilliseconds(reported: number, seconds: number): boolean {
  return Math.abs(reported / 1000 - seconds) <= Math.min(durationToleranceSeconds(seconds), seconds / 2);
}

function roundToMillisecond(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}
