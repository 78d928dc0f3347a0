export const PARAMETERS = [
  "temperature",
  "top_p",
  "max_tokens",
  "response_format",
  "tools",
  "allowed_tools",
  "tool_choice",
  "reasoning_effort",
  "stop",
  "top_k",
  "seed",
  "logprobs",
  "top_logprobs",
  "presence_penalty",
  "frequency_penalty",
  "logit_bias",
  "verbosity",
  "prediction",
  "prompt_cache_key",
  "safety_identifier",
  "service_tier",
  "user",
  "parallel_tool_calls",
  "min_p",
  "repetition_penalty",
  "store",
  "session_id",
  "cost_tier",
  "remaining_turns",
  "data_classes",
  "cache",
  "metadata",
  "modalities",
  "include_reasoning",
  "chat_template_kwargs",
] as const;
export type Parameter = (typeof PARAMETERS)[number];

const NAMES: ReadonlySet<string> = new Set(PARAMETERS);

export function isParameter(name: string): name is Parameter {
  return NAMES.has(name);
}
