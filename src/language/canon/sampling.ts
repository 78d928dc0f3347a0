import type { Call } from "./call.ts";

/** Of temperature and top_p the model takes one. */
export const ONE_SAMPLING = "one-sampling";

/** The call with one of the two, without the one that says what holds anyway; of two that say something, the temperature stays. */
export function sampledOnce(call: Call): { readonly call: Call; readonly lost: "top_p" | undefined } {
  const { temperature, topP } = call;
  if (temperature === undefined || topP === undefined) return { call, lost: undefined };
  if (temperature === 1 && topP !== 1) return { call: { ...call, temperature: undefined }, lost: undefined };
  return { call: { ...call, topP: undefined }, lost: topP === 1 ? undefined : "top_p" };
}
