import { all, at, type MemberRule, members, placed, variants, words } from "../../reply-members.ts";

const MESSAGE = "output.message";
const BLOCK_PATH = `${MESSAGE}.content[]`;

const CITATION = members({
  title: "carried",
  sourceContent: members({ text: placed("annotation_excerpt") }),
  location: members({ web: members({ url: "carried" }) }),
});

const TOOL_USE = members({ ...all("carried", "toolUseId", "name", "input"), type: words(["tool_use"]) });

const BLOCK = members(
  {
    text: "carried",
    toolUse: TOOL_USE,
    reasoningContent: members({
      reasoningText: members(all("carried", "text", "signature")),
      redactedContent: "carried",
    }),
    citationsContent: members({ content: members({ text: "carried" }), citations: CITATION }),
  },
  "content",
);

const DELTA = members(
  {
    text: "carried",
    toolUse: members({ input: "carried" }),
    reasoningContent: members(all("carried", "text", "signature", "redactedContent")),
    citation: at(`${BLOCK_PATH}.citationsContent.citations[]`, CITATION),
  },
  "content",
);

const STOP_REASON = words([
  "end_turn",
  "stop_sequence",
  "max_tokens",
  "model_context_window_exceeded",
  "tool_use",
  "guardrail_intervened",
  "content_filtered",
  "refusal",
]);

const USAGE = members({
  ...all("carried", "inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"),
  ...all("carried", "cacheReadInputTokenCount", "cacheWriteInputTokenCount"),
  totalTokens: "exempt",
  cacheDetails: variants("ttl", {
    // The rest of the total.
    "5m": members(all("exempt", "ttl", "inputTokens")),
    "1h": members({ ttl: "exempt", inputTokens: placed("cache_write_ttl") }),
  }),
});

const END = {
  usage: USAGE,
  metrics: "exempt",
  performanceConfig: members({ latency: words(["standard"]) }),
  serviceTier: members({ type: words(["default"]) }),
} as const;

export const REPLY: MemberRule = members({
  output: members({ message: members({ role: "exempt", content: BLOCK }) }),
  stopReason: STOP_REASON,
  ...END,
});

/** Padding against the analysis of packet sizes. */
const PADDING = { p: "exempt" } as const;
const POSITION = { ...PADDING, contentBlockIndex: "exempt" } as const;

/** The payloads of stream events, by event name. */
export const EVENTS: Readonly<Record<string, MemberRule>> = {
  messageStart: members({ ...PADDING, role: "exempt" }),
  contentBlockStart: members({
    ...POSITION,
    start: at(BLOCK_PATH, members({ toolUse: TOOL_USE }, "content")),
  }),
  contentBlockDelta: members({ ...POSITION, delta: at(BLOCK_PATH, DELTA) }),
  contentBlockStop: members(POSITION),
  messageStop: members({ ...PADDING, stopReason: STOP_REASON }),
  metadata: members({ ...PADDING, ...END }),
};
