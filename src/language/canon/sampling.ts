import type { Call } from "./call.ts";
import type { Parameter } from "./parameters.ts";

/** Of temperature and top_p the model takes one. */
export const ONE_SAMPLING = "one-sampling";

/** While it thinks, the model chooses its words by itself, and does not tell how likely they were. */
export const SAMPLING_OR_THINKING = "sampling-or-thinking";

/** The value that holds anyway. Models that take no other are known to refuse even this one, so it is never sent. */
export function isDefaultSampling(sampling: number | undefined): boolean {
  return sampling === undefined || sampling === 1;
}

/** Whether a call asks for what such a model does only without thinking. */
export function setsSampling({ temperature, topP, parameters }: Call): boolean {
  return (
    !isDefaultSampling(temperature) || !isDefaultSampling(topP) || parameters.some((row) => LOGPROB_PARAMETERS.has(row))
  );
}
const LOGPROB_PARAMETERS: ReadonlySet<Parameter> = new Set(["logprobs", "top_logprobs"]);

/** The call with one of the two, without the one that says what holds anyway; of two that say something, the temperature stays. */
export function withOneSampling(call: Call): { readonly call: Call; readonly lost: "top_p" | undefined } {
  const { temperature, topP } = call;
  if (temperature === undefined || topP === undefined) return { call, lost: undefined };
  if (temperature === 1 && topP !== 1) return { call: { ...call, temperature: undefined }, lost: undefined };
  return { call: { ...call, topP: undefined }, lost: topP === 1 ? undefined : "top_p" };
}
