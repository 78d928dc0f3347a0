import type { Parameter } from "../../canon/parameters.ts";
import type { FieldTable } from "../upstream-dialect.ts";

/** Parameter support of the chat-completions dialect (D1). */
export const FIELDS: FieldTable = {
  temperature: "yes",
  top_p: "yes",
  max_tokens: "yes",
  response_format: "yes",
  tools: "yes",
  allowed_tools: "yes",
  tool_choice: "yes",
  reasoning_effort: "yes",
  stop: "yes",
  top_k: "400",
  seed: "yes",
  logprobs: "yes",
  top_logprobs: "yes",
  presence_penalty: "yes",
  frequency_penalty: "yes",
  logit_bias: "yes",
  verbosity: "yes",
  prediction: "yes",
  prompt_cache_key: "yes",
  safety_identifier: "yes",
  service_tier: "yes",
  user: "yes",
  parallel_tool_calls: "yes",
  min_p: "400",
  repetition_penalty: "400",
  store: "400",
  session_id: "svc",
  cost_tier: "svc",
  remaining_turns: "svc",
  data_classes: "svc",
  cache: "svc",
  metadata: "400",
  modalities: "400",
  include_reasoning: "400",
  chat_template_kwargs: "400",
};

/** Wire fields that are aliases of a parameter. */
export const ALIASES: ReadonlyMap<string, Parameter> = new Map([
  ["max_completion_tokens", "max_tokens"],
  ["reasoning", "reasoning_effort"],
  ["thinking", "reasoning_effort"],
]);

/** Wire fields that belong to the call itself. */
export const CALL_FIELDS: ReadonlySet<string> = new Set(["model", "messages", "stream", "stream_options", "n"]);
