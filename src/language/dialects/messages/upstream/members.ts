import { all, at, type MemberRule, members, placed, variants, words } from "../../reply-members.ts";

const CITATION = members({
  type: "exempt",
  ...all("carried", "url", "source", "title", "document_title"),
  cited_text: placed("annotation_excerpt"),
});

const BLOCK = variants(
  "type",
  {
    text: members({ type: "exempt", text: "carried", citations: CITATION }),
    thinking: members({ type: "exempt", ...all("carried", "thinking", "signature") }),
    redacted_thinking: members({ type: "exempt", data: "carried" }),
    tool_use: members({
      type: "exempt",
      ...all("carried", "id", "name", "input"),
      caller: members({ type: words(["direct"]) }),
    }),
  },
  "content",
);

const DELTA = variants(
  "type",
  {
    text_delta: members({ type: "exempt", text: "carried" }),
    thinking_delta: members({ ...all("exempt", "type", "estimated_tokens"), thinking: "carried" }),
    signature_delta: members({ type: "exempt", signature: "carried" }),
    // Of a tool that the provider runs: its block is reported.
    input_json_delta: members(all("exempt", "type", "partial_json")),
    citations_delta: members({ type: "exempt", citation: at("content[].citations[]", CITATION) }),
  },
  "content",
);

const USAGE = members({
  ...all("carried", "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
  cache_creation: members({
    // The rest of the total.
    ephemeral_5m_input_tokens: "exempt",
    ephemeral_1h_input_tokens: placed("cache_write_ttl"),
  }),
  output_tokens_details: members({ thinking_tokens: "carried" }),
  // Prompts of one reply, which the totals include.
  iterations: "exempt",
  service_tier: words(["standard"]),
  speed: words(["standard"]),
  inference_geo: words(["not_available"]),
});

const STOP = {
  stop_reason: words([
    "end_turn",
    "stop_sequence",
    "max_tokens",
    "model_context_window_exceeded",
    "tool_use",
    "refusal",
  ]),
  stop_sequence: placed("stop_sequence"),
  stop_details: members({ type: "exempt", explanation: "carried" }),
} as const;

const HEAD = { ...all("exempt", "id", "type", "role", "model"), usage: USAGE };

export const REPLY: MemberRule = members({ ...HEAD, ...STOP, content: BLOCK });

/** A stream begins without content and stop reason. */
const START = members({
  ...HEAD,
  ...all("omitted", "stop_reason", "stop_sequence", "stop_details"),
  content: "content",
});

/** The events of a stream. */
export const EVENT: MemberRule = variants("type", {
  message_start: members({ type: "exempt", message: at("", START) }),
  content_block_start: members({ ...all("exempt", "type", "index"), content_block: at("content[]", BLOCK) }),
  content_block_delta: members({ ...all("exempt", "type", "index"), delta: at("content[]", DELTA) }),
  content_block_stop: members(all("exempt", "type", "index")),
  message_delta: members({ type: "exempt", delta: at("", members(STOP)), usage: USAGE }),
  message_stop: members(all("exempt", "type", "amazon-bedrock-invocationMetrics")),
  ping: members({ type: "exempt" }),
});
