/** What speaking models do wrong on purpose. */
type SpeechMishap = "html" | "other_format" | "cut";

const MISHAPS: ReadonlyMap<string, SpeechMishap> = new Map([
  ["sandbox/speak-html", "html"],
  ["sandbox/speak-other-format", "other_format"],
  ["sandbox/speak-cut", "cut"],
]);

/** Callable but listed nowhere. */
export const SPEECH_MISHAP_MODELS: readonly string[] = [...MISHAPS.keys()];

/** A text of this length is spoken well by all of them, so that they can be proven. */
const SPOKEN_WELL_CHARS = 40;

/** `other_format` happens at one provider only: the next one serves. */
export function speechMishapOf(model: string, provider: string, text: string): SpeechMishap | undefined {
  if (text.length <= SPOKEN_WELL_CHARS) return undefined;
  const mishap = MISHAPS.get(model);
  return mishap === "other_format" && provider !== "sandbox-us" ? undefined : mishap;
}

/** Models that speak, and do nothing else. */
export function isSpeaker(model: string): boolean {
  return model === "sandbox/speak" || MISHAPS.has(model);
}
