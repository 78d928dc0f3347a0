import { nearSeconds } from "../audio/meter.ts";

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

/** What is reserved of it: as long as a provider may report it to be where nothing was passed over. */
export function secondsHeld(file: Measured): number {
  const most = secondsAtMost(file);
  return Math.ceil(most + nearSeconds(most));
}

/**
 * How long the audio was: as the provider reports it, where that can be true, else as it was measured. It can have heard
 * what the measure passed over, as much as the size allows: a report of more counts as that much where something was
 * passed over, so that no longer one is cheaper, unless it is the measured length in milliseconds. Undefined when neither
 * is known: then nothing can be billed by it.
 */
export function secondsHeard(reported: number | undefined, file: Measured): number | undefined {
  const { seconds, passedBytes } = file;
  if (seconds === undefined) return reported !== undefined && reported <= secondsAtMost(file) ? reported : undefined;
  const near = nearSeconds(seconds);
  const most = seconds + near + passedBytes / BYTES_PER_SECOND_MIN;
  if (reported === undefined || reported < seconds - near) return toMillisecond(seconds);
  if (reported <= most) return reported;
  return toMillisecond(passedBytes === 0 || isInMilliseconds(reported, seconds) ? seconds : most);
}

/** What went out of a transcript before its caller left: the end of the last segment, and the tokens of its words. */
export type Written = { readonly untilSeconds: number; readonly tokens: number };

/** How long the audio of a transcript without its end was: as measured, unless more went out than was said in that time. */
export function secondsWritten({ untilSeconds, tokens }: Written, file: Measured): number | undefined {
  const { seconds } = file;
  if (seconds === undefined) return undefined;
  const shown = Math.max(untilSeconds, tokens / WRITTEN_TOKENS_PER_SECOND);
  return secondsHeard(shown > seconds + nearSeconds(seconds) ? shown : undefined, file);
}

/** Near what was measured; of a moment, which anything is near, no more than half of it away. */
function isInMilliseconds(reported: number, seconds: number): boolean {
  return Math.abs(reported / 1000 - seconds) <= Math.min(nearSeconds(seconds), seconds / 2);
}

function toMillisecond(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}
