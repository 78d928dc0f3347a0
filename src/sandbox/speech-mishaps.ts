/** What speaking models do wrong on purpose. */
type SpeechFault = "html" | "other_format" | "cut";

const SPEECH_FAULTS: ReadonlyMap<string, SpeechFault> = new Map([
  ["sandbox/speak-html", "html"],
  ["sandbox/speak-other-format", "other_format"],
  ["sandbox/speak-cut", "cut"],
]);

/** Callable but listed nowhere. */
export const SPEECH_FAULT_MODELS: readonly string[] = [...SPEECH_FAULTS.keys()];

/** A text of this length is spoken well by all of them, so that they can be proven. */
const FAULTLESS_MAX_CHARS = 40;

/** `other_format` happens at one provider only: the next one serves. */
export function speechFaultFor(model: string, provider: string, text: string): SpeechFault | undefined {
  if (text.length <= FAULTLESS_MAX_CHARS) return undefined;
  const mishap = SPEECH_FAULTS.get(model);
  return mishap === "other_format" && provider !== "sandbox-us" ? undefined : mishap;
}

/** Models that speak, and do nothing else. */
export function isSpeechModel(model: string): boolean {
  return model === "sandbox/speak" || SPEECH_FAULTS.has(model);
}
