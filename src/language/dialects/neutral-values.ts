import { isDeepStrictEqual } from "node:util";
import type { Parameter } from "../canon/parameters.ts";

export type NeutralValue = {
  readonly parameter: Parameter;
  readonly values: readonly unknown[];
  readonly why: string;
};

const DEFAULT = "The default.";

/**
 * Values that request nothing of a provider. With `parameters: lenient` they are accepted where the dialect lacks the
 * parameter, and then no provider receives them.
 */
export const NEUTRAL_VALUES: readonly NeutralValue[] = [
  { parameter: "temperature", values: [1], why: DEFAULT },
  { parameter: "top_p", values: [1], why: DEFAULT },
  { parameter: "stop", values: [[]], why: DEFAULT },
  { parameter: "logprobs", values: [false], why: DEFAULT },
  { parameter: "top_logprobs", values: [0], why: DEFAULT },
  { parameter: "presence_penalty", values: [0], why: DEFAULT },
  { parameter: "frequency_penalty", values: [0], why: DEFAULT },
  { parameter: "logit_bias", values: [{}], why: "No token is biased." },
  { parameter: "repetition_penalty", values: [1], why: "A factor of 1 changes nothing." },
  { parameter: "min_p", values: [0], why: "No token is excluded." },
  { parameter: "verbosity", values: ["medium"], why: DEFAULT },
  { parameter: "service_tier", values: ["auto", "default"], why: "The provider's standard tier." },
  {
    parameter: "parallel_tool_calls",
    values: [true, false],
    why: "`true` is the default. `false` is translated (D2) or requested in words (D3, D4), and the caller gets the first call only.",
  },
  { parameter: "store", values: [false], why: "Chat completions are never stored." },
  { parameter: "metadata", values: [{}], why: "No label is set." },
  { parameter: "modalities", values: [["text"]], why: "Replies are text." },
  { parameter: "include_reasoning", values: [true], why: "The reasoning that a provider sends is always returned." },
  { parameter: "chat_template_kwargs", values: [{}], why: "No argument is set." },
];

/** Parameters of a chat request that have a neutral value; undefined: none. */
export function neutralParametersOf(request: Readonly<Record<string, unknown>>): readonly Parameter[] | undefined {
  const found = NEUTRAL_VALUES.filter(({ parameter, values }) => {
    const value = request[parameter];
    return value !== undefined && values.some((one) => isDeepStrictEqual(one, value));
  });
  return found.length === 0 ? undefined : found.map(({ parameter }) => parameter);
}
