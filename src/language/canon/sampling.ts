import type { Call } from "./call.ts";
import type { Parameter } from "./parameters.ts";

/** Models without sampling reject these in every dialect. */
export const SAMPLING_PARAMETERS: ReadonlySet<Parameter> = new Set(["temperature", "top_p", "top_k"]);

/** Quirk: the model accepts only one of temperature and top_p. */
export const ONE_SAMPLING = "one-sampling";

/** Quirk: while reasoning, the model rejects sampling parameters and returns no logprobs. */
export const SAMPLING_OR_THINKING = "sampling-or-thinking";

/** Never sent: some models reject even the default value. */
export function isDefaultSampling(sampling: number | undefined): boolean {
  return sampling === undefined || sampling === 1;
}

/** Whether a call uses parameters that such a model supports only without reasoning. */
export function setsSampling({ temperature, topP, parameters }: Call): boolean {
  return (
    !isDefaultSampling(temperature) ||
    !isDefaultSampling(topP) ||
    LOGPROB_PARAMETERS.some((row) => parameters.includes(row))
  );
}
export const LOGPROB_PARAMETERS = ["logprobs", "top_logprobs"] as const satisfies readonly Parameter[];

/** Removes the parameter with the default value; if neither has it, temperature wins. */
export function withOneSampling(call: Call): { readonly call: Call; readonly lost: "top_p" | undefined } {
  const { temperature, topP } = call;
  if (temperature === undefined || topP === undefined) return { call, lost: undefined };
  if (temperature === 1 && topP !== 1) return { call: { ...call, temperature: undefined }, lost: undefined };
  return { call: { ...call, topP: undefined }, lost: topP === 1 ? undefined : "top_p" };
}
