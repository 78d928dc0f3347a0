import { all, at, type MemberRule, members, placed, variants, words } from "../../reply-members.ts";

const ANNOTATION = variants("type", {
  url_citation: members({
    type: "exempt",
    ...all("carried", "url", "title"),
    ...all(placed("annotation_span"), "start_index", "end_index"),
  }),
});

const CONTENT_PART = variants(
  "type",
  {
    output_text: members({ type: "exempt", text: "carried", annotations: ANNOTATION }),
    refusal: members({ type: "exempt", refusal: "carried" }),
  },
  "content",
);

const ITEM = variants(
  "type",
  {
    message: members({ ...all("exempt", "id", "type", "status", "role"), content: CONTENT_PART }),
    reasoning: members({
      ...all("exempt", "id", "type", "status"),
      summary: variants("type", { summary_text: members({ type: "exempt", text: "carried" }) }, "content"),
      content: variants("type", { reasoning_text: members({ type: "exempt", text: "carried" }) }, "content"),
      // Where it cannot be sent back, the reader reports it.
      encrypted_content: "carried",
    }),
    function_call: members({
      ...all("exempt", "id", "type", "status"),
      ...all("carried", "call_id", "name", "arguments"),
    }),
  },
  "content",
);

const USAGE = members({
  ...all("carried", "input_tokens", "output_tokens"),
  total_tokens: "exempt",
  input_tokens_details: members(all("carried", "cached_tokens", "cache_write_tokens")),
  output_tokens_details: members(all("carried", "reasoning_tokens")),
  // What the provider charges concerns the holder of the provider key.
  ...all("exempt", "cost", "cost_in_usd_ticks", "currency"),
});

/** Members that repeat the request. */
const ECHO = all(
  "exempt",
  "background",
  "conversation",
  "frequency_penalty",
  "instructions",
  "max_output_tokens",
  "max_tool_calls",
  "metadata",
  "parallel_tool_calls",
  "presence_penalty",
  "previous_response_id",
  "prompt",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "reasoning",
  "safety_identifier",
  "store",
  "temperature",
  "text",
  "tool_choice",
  "tools",
  "top_logprobs",
  "top_p",
  "truncation",
  "user",
);

const HEAD = {
  // The gateway has its own id, time and model.
  ...all("exempt", "id", "object", "created_at", "completed_at", "model", "billing"),
  // A convenience of some servers: the text of `output`.
  output_text: "exempt",
  service_tier: words(["default", "auto"]),
  ...ECHO,
} as const;

/** A whole response, and the one that ends a stream. */
export const REPLY: MemberRule = members({
  ...HEAD,
  status: words(["completed", "incomplete"]),
  incomplete_details: members({ reason: words(["max_output_tokens", "max_tokens", "content_filter"]) }),
  output: ITEM,
  usage: USAGE,
});

/** Before its end a streamed response has neither output nor usage. */
const BEGUN = members({ ...HEAD, status: words(["in_progress", "queued"]), ...all("omitted", "output", "usage") });

const POSITION = all(
  "exempt",
  "type",
  "sequence_number",
  "item_id",
  "output_index",
  "content_index",
  "summary_index",
  "annotation_index",
  // Padding against the analysis of packet sizes.
  "obfuscation",
);

const LOGPROBS = { logprobs: at("output[].content[].logprobs", "omitted") } as const;
const delta = members({ ...POSITION, ...LOGPROBS, delta: "carried" });
/** Repeats the deltas. */
const done = members({ ...POSITION, ...LOGPROBS, ...all("exempt", "text", "refusal", "arguments", "name") });
const begun = members({ ...POSITION, response: at("", BEGUN) });
const ended = members({ ...POSITION, response: at("", REPLY) });
const item = members({ ...POSITION, item: at("output[]", ITEM) });
/** Repeats the deltas, unless its type is unknown. */
const contentPart = members({
  ...POSITION,
  part: at(
    "output[].content[]",
    variants("type", all("exempt", "output_text", "refusal", "reasoning_text", "summary_text"), "content"),
  ),
});
const summaryPart = members({ ...POSITION, part: "exempt" });

/** The events of a stream. */
export const EVENT: MemberRule = variants("type", {
  "response.output_text.delta": delta,
  "response.output_text.done": done,
  "response.refusal.delta": delta,
  "response.refusal.done": done,
  "response.function_call_arguments.delta": delta,
  "response.function_call_arguments.done": done,
  "response.reasoning_summary_text.delta": delta,
  "response.reasoning_summary_text.done": done,
  "response.reasoning_text.delta": delta,
  "response.reasoning_text.done": done,
  "response.reasoning_summary_part.added": summaryPart,
  "response.reasoning_summary_part.done": summaryPart,
  "response.content_part.added": contentPart,
  "response.content_part.done": contentPart,
  "response.output_text.annotation.added": members({
    ...POSITION,
    annotation: at("output[].content[].annotations[]", ANNOTATION),
  }),
  "response.output_item.added": item,
  "response.output_item.done": item,
  "response.created": begun,
  "response.in_progress": begun,
  "response.queued": begun,
  "response.completed": ended,
  "response.incomplete": ended,
  keepalive: "exempt",
});
