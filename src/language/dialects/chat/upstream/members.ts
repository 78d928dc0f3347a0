import { all, at, type MemberRule, members, placed, variants, words } from "../../reply-members.ts";
import { KNOWN_REASONS } from "./normalize.ts";

const TEXT_PART = members({ type: "exempt", text: "carried" });

/** Content as a list of parts, which some servers send instead of text. */
export const CONTENT = variants(
  "type",
  {
    text: TEXT_PART,
    thinking: members({ type: "exempt", thinking: variants("type", { text: TEXT_PART }, "content"), closed: "exempt" }),
  },
  "content",
);

const ANNOTATION = variants("type", {
  url_citation: members({
    type: "exempt",
    url_citation: members({
      ...all("carried", "url", "title"),
      ...all(placed("annotation_span"), "start_index", "end_index"),
    }),
  }),
});

const FUNCTION_CALL = members({
  ...all("exempt", "index", "type"),
  id: "carried",
  function: members(all("carried", "name", "arguments")),
  extra_content: members({ google: members({ thought_signature: "carried" }) }),
});
/** Fragments of a stream have no type, and some servers never send it. */
const TOOL_CALL = variants("type", { function: FUNCTION_CALL, "": FUNCTION_CALL }, "content");

const MESSAGE = members({
  role: "exempt",
  content: CONTENT,
  ...all("carried", "refusal", "reasoning_content", "reasoning"),
  reasoning_details: members({
    ...all("exempt", "type", "id", "index", "format"),
    ...all("carried", "text", "summary", "data", "signature"),
  }),
  tool_calls: TOOL_CALL,
  annotations: ANNOTATION,
  ...all("content", "audio", "images", "function_call"),
});

/** What the provider charges concerns the holder of the provider key. */
const PROVIDER_PRICE = all("exempt", "cost", "cost_details", "currency", "estimated_cost", "is_byok");
const TIMES = all("exempt", "queue_time", "prompt_time", "completion_time", "total_time");

const USAGE = members({
  ...all("carried", "prompt_tokens", "completion_tokens", "prompt_cache_hit_tokens", "cached_tokens"),
  // Sums and differences of the others.
  ...all("exempt", "total_tokens", "prompt_cache_miss_tokens"),
  prompt_tokens_details: members({
    ...all("carried", "cached_tokens", "cache_write_tokens", "cache_creation_input_tokens"),
    audio_tokens: placed("audio_tokens"),
    ...all("exempt", "text_tokens", "cache_type"),
  }),
  completion_tokens_details: members({
    reasoning_tokens: "carried",
    audio_tokens: placed("audio_tokens"),
    text_tokens: "exempt",
  }),
  ...PROVIDER_PRICE,
  ...TIMES,
});

const CHOICE_REST = {
  index: "exempt",
  finish_reason: words(KNOWN_REASONS),
  ...all(placed("stop_sequence"), "stop_reason", "matched_stop"),
  usage: at("usage", USAGE),
} as const;

/** A whole reply or a stream chunk: the gateway has its own id, time and model. */
export const REPLY: MemberRule = members({
  ...all("exempt", "id", "object", "created", "model", "system_fingerprint", "timings", "time_info", "x_groq"),
  // Padding against the analysis of packet sizes.
  ...all("exempt", "obfuscation", "p"),
  service_tier: words(["default", "auto", "standard", "on_demand"]),
  choices: members({ ...CHOICE_REST, message: MESSAGE, delta: at("choices[].message", MESSAGE) }),
  citations: "carried",
  search_results: members(all("carried", "url", "title")),
  usage: USAGE,
});
