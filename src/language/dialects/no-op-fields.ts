/** The wire formats of providers, as documents name them. */
export type WireFormatName =
  | ("chat" | "messages" | "gemini" | "converse" | "responses")
  // The interfaces of the catalogue for the other surfaces.
  | ("openai" | "mistral" | "vertex" | "cohere" | "bedrock_cohere" | "bedrock_titan" | "bedrock_nova")
  | ("jina" | "voyage" | "vllm" | "tei")
  | ("system_one" | "sglang" | "logprobs");

/** A field, or some of its values, that is accepted and reaches no provider. */
export type NoOpField = {
  /** Array indices are `[]`. */
  readonly path: string;
  /** Absent: any value. */
  readonly values?: readonly unknown[];
  /** Formats in which it is a no-op; absent: all that are not the caller's own. */
  readonly formats?: readonly WireFormatName[];
  readonly why: string;
};

const OWN = "For the gateway itself: it chooses the endpoint.";
const EVERYWHERE: Pick<NoOpField, "formats"> = { formats: ["chat", "messages", "gemini", "converse", "responses"] };
const DATA_CLASSES = {
  path: "data_classes",
  why: "For the gateway itself: it inspects the request, chooses the endpoint and replaces what the rules say.",
} as const;
const CACHE = {
  path: "cache",
  why: "For the gateway itself: it keeps the reply for identical requests, or serves one that it kept.",
} as const;
const ROUTING_HINTS: readonly NoOpField[] = [
  ...["provider", "session_id", "cost_tier", "remaining_turns"].map((path) => ({ path, ...EVERYWHERE, why: OWN })),
  { ...DATA_CLASSES, ...EVERYWHERE },
  { ...CACHE, ...EVERYWHERE },
];
const ENFORCED = "These formats always enforce the schema.";
const LABEL = "A label that these formats do not have.";
const DEFAULT = "The default.";
const NEAREST = "Models with effort levels get the nearest one, which can be their default.";

/** Documented no-ops of requests by surface; every other field is carried, rejected by name or listed in X-Svc-Omitted. */
export const NO_OP_FIELDS = {
  chat: [
    ...ROUTING_HINTS,
    { path: "stream", values: [false], ...EVERYWHERE, why: DEFAULT },
    { path: "n", values: [1], why: DEFAULT },
    {
      path: "stream_options.include_usage",
      ...EVERYWHERE,
      why: "The gateway always requests usage and shows it on request.",
    },
    { path: "stream_options.include_obfuscation", ...EVERYWHERE, why: "Only some providers pad their events." },
    { path: "reasoning.exclude", values: [false], ...EVERYWHERE, why: DEFAULT },
    { path: "thinking.type", values: ["enabled", "adaptive"], ...EVERYWHERE, why: "Both turn reasoning on." },
    ...["reasoning_effort", "reasoning", "reasoning.effort", "thinking"].map((path) => ({
      path,
      values: ["none"],
      formats: ["converse"] as const,
      why: "Nova reasons only on request.",
    })),
    { path: "reasoning.enabled", values: [false], formats: ["converse"], why: "Nova reasons only on request." },
    { path: "thinking.budget_tokens", formats: ["chat"], why: NEAREST },
    { path: "temperature", values: [1], formats: ["responses"], why: DEFAULT },
    { path: "top_p", values: [1], formats: ["responses"], why: DEFAULT },
    {
      path: "response_format.json_schema.description",
      formats: ["gemini"],
      why: "Sent inside the schema, if there is one.",
    },
    { path: "user", formats: ["messages", "gemini", "converse"], why: LABEL },
    { path: "safety_identifier", formats: ["messages", "gemini", "converse"], why: LABEL },
    { path: "response_format.json_schema.name", formats: ["messages", "gemini", "converse"], why: LABEL },
    { path: "response_format.json_schema.strict", formats: ["messages", "gemini", "converse"], why: ENFORCED },
    { path: "tools[].function.strict", values: [false], why: DEFAULT },
    { path: "messages[].content[].cache_control.ttl", values: ["5m"], formats: ["converse"], why: DEFAULT },
    { path: "messages[].cache_control.ttl", values: ["5m"], formats: ["converse"], why: DEFAULT },
    { path: "tools[].cache_control.ttl", values: ["5m"], formats: ["converse"], why: DEFAULT },
  ],
  messages: [
    ...ROUTING_HINTS,
    { path: "stream", values: [false], ...EVERYWHERE, why: DEFAULT },
    { path: "thinking.type", values: ["enabled", "adaptive"], why: "Both turn reasoning on." },
    { path: "thinking.budget_tokens", formats: ["chat", "converse"], why: NEAREST },
    { path: "tools[].type", values: ["custom"], why: DEFAULT },
    { path: "tools[].strict", values: [false], why: DEFAULT },
    { path: "tool_choice.disable_parallel_tool_use", values: [false], why: DEFAULT },
    { path: "messages[].content[].is_error", values: [false], why: DEFAULT },
    { path: "messages[].content[].citations.enabled", values: [false], why: DEFAULT },
    {
      path: "messages[].role",
      values: ["system"],
      formats: ["gemini", "converse"],
      why: "Instructions in the middle are sent as text of the user.",
    },
  ],
  responses: [
    ...ROUTING_HINTS,
    { path: "stream", values: [false], ...EVERYWHERE, why: DEFAULT },
    { path: "stream_options.include_obfuscation", why: "Only some providers pad their events." },
    { path: "input[].type", values: ["message"], ...EVERYWHERE, why: DEFAULT },
    { path: "input[].id", ...EVERYWHERE, why: "Echoes a reply; providers know other ids." },
    { path: "input[].status", ...EVERYWHERE, why: "Echoes a reply." },
    { path: "input[].role", values: ["system", "developer"], why: "One kind of instructions in these formats." },
    { path: "parallel_tool_calls", values: [true], why: DEFAULT },
    { path: "tools[].strict", values: [false], why: DEFAULT },
    { path: "tools[].tools[].strict", values: [false], why: DEFAULT },
    { path: "reasoning.effort", values: ["none"], formats: ["converse"], why: "Nova reasons only on request." },
    { path: "reasoning.summary", why: "The reasoning that a provider sends is returned." },
    { path: "text.verbosity", values: ["medium"], why: DEFAULT },
    { path: "include", values: [["reasoning.encrypted_content"]], why: "For the reply, which has it." },
    { path: "include", values: [["file_search_call.results"]], why: "For tools that only this format has." },
    { path: "truncation", values: ["disabled"], why: DEFAULT },
    { path: "service_tier", values: ["auto", "default"], why: DEFAULT },
  ],
  gemini: [
    ...ROUTING_HINTS,
    { path: "model", ...EVERYWHERE, why: "The path names the model." },
    {
      path: "generationConfig.thinkingConfig.includeThoughts",
      why: "The gateway shows or omits the reasoning of the response.",
    },
    { path: "generationConfig.candidateCount", values: [1], why: DEFAULT },
    { path: "systemInstruction.role", why: "Instructions have no role." },
    { path: "generationConfig.responseModalities", values: [["TEXT"]], why: DEFAULT },
    { path: "generationConfig.responseMimeType", values: ["text/plain"], why: DEFAULT },
    { path: "generationConfig.responseLogprobs", values: [false], why: DEFAULT },
    { path: "toolConfig.includeServerSideToolInvocations", values: [false], why: DEFAULT },
    { path: "contents[].role", values: ["user", "function"], why: DEFAULT },
    { path: "contents[].parts[].thought", values: [false], why: DEFAULT },
    { path: "systemInstruction.parts[].thought", values: [false], why: DEFAULT },
    { path: "toolConfig.functionCallingConfig.mode", values: ["MODE_UNSPECIFIED"], why: DEFAULT },
    { path: "generationConfig.thinkingConfig.thinkingLevel", values: ["THINKING_LEVEL_UNSPECIFIED"], why: DEFAULT },
    {
      path: "generationConfig.thinkingConfig.thinkingBudget",
      values: [0],
      formats: ["converse"],
      why: "Nova reasons only on request.",
    },
    { path: "generationConfig.presencePenalty", values: [0], why: DEFAULT },
    { path: "generationConfig.frequencyPenalty", values: [0], why: DEFAULT },
    { path: "generationConfig.temperature", values: [1], formats: ["responses"], why: DEFAULT },
    { path: "generationConfig.topP", values: [1], formats: ["responses"], why: DEFAULT },
  ],
  embeddings: [
    { path: "provider", why: OWN },
    DATA_CLASSES,
    CACHE,
    { path: "encoding_format", values: ["float"], why: DEFAULT },
    {
      path: "user",
      formats: ["mistral", "gemini", "vertex", "cohere", "bedrock_cohere", "bedrock_titan", "bedrock_nova"],
      why: LABEL,
    },
  ],
  rerank: [
    { path: "provider", why: OWN },
    DATA_CLASSES,
    CACHE,
    { path: "return_documents", values: [false], why: DEFAULT },
    { path: "rank_fields", values: [["text"]], why: DEFAULT },
  ],
  moderations: [{ path: "provider", why: OWN }, DATA_CLASSES],
  images: [
    { path: "provider", why: OWN },
    DATA_CLASSES,
    ...["size", "quality", "background", "moderation"].map(
      (path) => ({ path, values: ["auto"], why: DEFAULT }) as const,
    ),
    { path: "response_format", values: ["b64_json"], why: DEFAULT },
    { path: "n", values: [1], why: DEFAULT },
    { path: "partial_images", values: [0], why: DEFAULT },
    { path: "stream", values: [false], why: DEFAULT },
  ],
  transcriptions: [
    { path: "provider", why: OWN },
    DATA_CLASSES,
    { path: "response_format", values: ["json"], why: DEFAULT },
    { path: "timestamp_granularities", values: [["segment"]], why: DEFAULT },
    { path: "stream", values: [false], why: DEFAULT },
  ],
  speech: [
    DATA_CLASSES,
    { path: "response_format", values: ["mp3"], why: DEFAULT },
    { path: "stream_format", values: ["audio"], why: DEFAULT },
  ],
  decisions: [DATA_CLASSES],
  "decisions in OpenAI's shape": [
    { path: "input[].type", values: ["message"], why: DEFAULT },
    { path: "input[].id", why: "Echoes a reply." },
    { path: "input[].status", why: "Echoes a reply." },
    { path: "input[].content[].detail", values: ["auto"], why: DEFAULT },
    { path: "input[].output[].detail", values: ["auto"], why: DEFAULT },
  ],
} as const satisfies Readonly<Record<string, readonly NoOpField[]>>;
