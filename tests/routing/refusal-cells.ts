import type { SharedModel } from "../support/two-providers.ts";

/** A request that `open` cannot honour and `shut` can. */
export type Cell = SharedModel & {
  readonly route: string;
  readonly body: Record<string, unknown>;
  readonly status: number;
  readonly code: string;
  readonly param: string;
  /** What `GET /models/{id}` must not show when policy leaves `open` alone. */
  readonly capability?: string;
};

type Row = Partial<Omit<Cell, "name" | "route" | "surface" | "body">> & { readonly body: Record<string, unknown> };

const UNSUPPORTED = { status: 400, code: "unsupported_parameter" } as const;
const INVALID = { status: 400, code: "invalid_value" } as const;
const TOO_LONG = { status: 400, code: "context_length_exceeded" } as const;
const TOO_LARGE = { status: 413, code: "request_too_large" } as const;

function cells(prefix: string, route: string, surface: string, rows: Readonly<Record<string, Row>>): Cell[] {
  return Object.entries(rows).map(([param, row], at) => ({
    ...UNSUPPORTED,
    param: param.replace(/ .*/, ""),
    ...row,
    name: `${prefix}-${at}`,
    route,
    surface,
  }));
}

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const PIXEL_URL = `data:image/png;base64,${PIXEL}`;
const SCHEMA = { type: "object", properties: {}, additionalProperties: false };
const LONG = "word ".repeat(2000);
const FIVE = ["a", "b", "c", "d", "e"];
const D2_ONLY: Pick<Row, "open" | "shut"> = { open: { dialects: ["D1"] }, shut: { dialects: ["D2"] } };
const D1_ONLY: Pick<Row, "open" | "shut"> = { open: { dialects: ["D2"] }, shut: { dialects: ["D1"] } };
const without = (feature: string): Pick<Row, "open"> => ({ open: { features: { [feature]: false } } });
const CAPABLE = {
  capabilities: ["image_input", "json_schema", "logprobs", "pdf_input", "reasoning", "reasoning_control", "tools"],
};

const chatTool = { type: "function", function: { name: "look", parameters: SCHEMA } };
const chatMessage = (content: unknown) => ({ messages: [{ role: "user", content }] });
const CHAT = chatMessage("Hello");
const chatSchema = { type: "json_schema", json_schema: { name: "reply", schema: SCHEMA } };

const CHAT_CELLS = cells("chat", "/v1/chat/completions", "chat", {
  tools: { ...without("tools"), capability: "tools", body: { ...CHAT, tools: [chatTool] } },
  tool_choice: { ...without("forced_tools"), body: { ...CHAT, tools: [chatTool], tool_choice: "required" } },
  response_format: {
    ...without("json_schema"),
    capability: "json_schema",
    body: { ...CHAT, response_format: chatSchema },
  },
  "response_format with tools": {
    open: { quirks: ["json-or-tools"] },
    body: { ...CHAT, tools: [chatTool], response_format: chatSchema },
  },
  reasoning_effort: {
    ...without("reasoning"),
    capability: "reasoning_control",
    body: { ...CHAT, reasoning_effort: "low" },
  },
  "reasoning_effort without control": {
    ...without("reasoning_control"),
    capability: "reasoning_control",
    body: { ...CHAT, reasoning_effort: "high" },
  },
  "reasoning_effort none where it always reasons": {
    open: { quirks: ["thinks-always"] },
    body: { ...CHAT, reasoning_effort: "none" },
  },
  "reasoning_effort with tools": {
    open: { quirks: ["tools-or-thinking"] },
    body: { ...CHAT, tools: [chatTool], reasoning_effort: "low" },
  },
  reasoning: { ...without("reasoning"), body: { ...CHAT, reasoning: { effort: "low" } } },
  thinking: { ...without("reasoning"), body: { ...CHAT, thinking: { type: "enabled", budget_tokens: 1024 } } },
  logprobs: {
    ...without("logprobs"),
    capability: "logprobs",
    body: { ...CHAT, logprobs: true, top_logprobs: 2 },
  },
  top_logprobs: { ...without("logprobs"), capability: "logprobs", body: { ...CHAT, top_logprobs: 2 } },
  "logprobs in another dialect": { ...D1_ONLY, capability: "logprobs", body: { ...CHAT, logprobs: true } },
  top_k: { ...D2_ONLY, body: { ...CHAT, top_k: 5 } },
  seed: { ...D1_ONLY, body: { ...CHAT, seed: 1 } },
  presence_penalty: { ...D1_ONLY, body: { ...CHAT, presence_penalty: 1 } },
  frequency_penalty: { ...D1_ONLY, body: { ...CHAT, frequency_penalty: 1 } },
  logit_bias: { ...D1_ONLY, body: { ...CHAT, logit_bias: { "1": 1 } } },
  verbosity: { ...D1_ONLY, body: { ...CHAT, verbosity: "low" } },
  prediction: { ...D1_ONLY, body: { ...CHAT, prediction: { type: "content", content: "a" } } },
  prompt_cache_key: { ...D1_ONLY, body: { ...CHAT, prompt_cache_key: "k" } },
  service_tier: { ...D1_ONLY, body: { ...CHAT, service_tier: "flex" } },
  parallel_tool_calls: { ...D1_ONLY, body: { ...CHAT, tools: [chatTool], parallel_tool_calls: false } },
  allowed_tools: { ...D1_ONLY, body: { ...CHAT, tools: [chatTool], allowed_tools: ["look"] } },
  temperature: { ...without("sampling"), body: { ...CHAT, temperature: 0.5 } },
  top_p: { open: { quirks: ["one-sampling"] }, body: { ...CHAT, temperature: 0.5, top_p: 0.5 } },
  "messages.0.content.0": {
    ...without("image_input"),
    capability: "image_input",
    body: chatMessage([{ type: "image_url", image_url: { url: PIXEL_URL } }]),
  },
  max_tokens: { ...INVALID, open: { limits: { max_output_tokens: 10 } }, body: { ...CHAT, max_tokens: 11 } },
  stop: { ...INVALID, open: { quirks: ["stops-4"] }, body: { ...CHAT, stop: FIVE } },
  messages: { ...TOO_LONG, open: { limits: { context_tokens: 500 } }, body: chatMessage(LONG) },
});

const messageTool = { name: "look", input_schema: SCHEMA };
const message = (content: unknown) => ({ max_tokens: 2000, messages: [{ role: "user", content }] });
const MESSAGE = message("Hello");
const base64 = (type: string, media_type: string, data: string) => ({
  type,
  source: { type: "base64", media_type, data },
});
const MESSAGE_ROWS: Readonly<Record<string, Row>> = {
  tools: { ...without("tools"), body: { ...MESSAGE, tools: [messageTool] } },
  tool_choice: { ...without("forced_tools"), body: { ...MESSAGE, tools: [messageTool], tool_choice: { type: "any" } } },
  "output_config.format": {
    ...without("json_schema"),
    body: { ...MESSAGE, output_config: { format: { type: "json_schema", schema: SCHEMA } } },
  },
  thinking: {
    ...without("reasoning"),
    capability: "reasoning_control",
    body: { ...MESSAGE, thinking: { type: "enabled", budget_tokens: 1024 } },
  },
  "thinking in its own dialect": {
    open: { dialects: ["D2"], features: { reasoning: false } },
    body: { ...MESSAGE, thinking: { type: "enabled", budget_tokens: 1024 } },
  },
  "thinking without control": {
    ...without("reasoning_control"),
    body: { ...MESSAGE, thinking: { type: "enabled", budget_tokens: 1024 } },
  },
  top_k: { ...D2_ONLY, body: { ...MESSAGE, top_k: 5 } },
  stop_sequences: { ...INVALID, open: { quirks: ["stops-4"] }, body: { ...MESSAGE, stop_sequences: FIVE } },
  fallback_credit_token: { ...D2_ONLY, body: { ...MESSAGE, fallback_credit_token: "t" } },
  "messages.0.content.0 image": {
    ...without("image_input"),
    capability: "image_input",
    body: message([base64("image", "image/png", PIXEL)]),
  },
  "messages.0.content.0 URL": {
    open: { dialects: ["D3"] },
    body: message([{ type: "image", source: { type: "url", url: "https://example.invalid/a.png" } }]),
  },
};
const MESSAGES_CELLS = cells("messages", "/v1/messages", "chat", {
  ...MESSAGE_ROWS,
  messages: { ...TOO_LONG, open: { limits: { context_tokens: 500 } }, body: message(LONG) },
});

const COUNT_CELLS = cells("count", "/v1/messages/count_tokens", "chat", MESSAGE_ROWS);

const responsesTool = { type: "function", name: "look", parameters: SCHEMA };
const RESPONSE = { input: "Hello" };
const NATIVE = { endpoint: { responses_api: true } } as const;
const RESPONSES_CELLS = cells("responses", "/v1/responses", "chat", {
  tools: { ...without("tools"), body: { ...RESPONSE, tools: [responsesTool] } },
  tool_choice: {
    ...without("forced_tools"),
    body: { ...RESPONSE, tools: [responsesTool], tool_choice: "required" },
  },
  "text.format": {
    ...without("json_schema"),
    body: { ...RESPONSE, text: { format: { type: "json_schema", name: "reply", schema: SCHEMA } } },
  },
  "reasoning.effort": { ...without("reasoning"), body: { ...RESPONSE, reasoning: { effort: "low" } } },
  "reasoning.effort in its own dialect": {
    ...NATIVE,
    ...without("reasoning"),
    capability: "reasoning_control",
    body: { ...RESPONSE, reasoning: { effort: "low" } },
  },
  "reasoning.effort none in its own dialect": {
    ...NATIVE,
    ...without("reasoning_control"),
    body: { ...RESPONSE, reasoning: { effort: "none" } },
  },
  "top_logprobs in its own dialect": {
    ...NATIVE,
    ...without("logprobs"),
    capability: "logprobs",
    body: { ...RESPONSE, top_logprobs: 2 },
  },
  top_logprobs: { shut: { responses_api: true }, body: { ...RESPONSE, top_logprobs: 2 } },
  "include.0 in its own dialect": {
    ...NATIVE,
    ...without("logprobs"),
    param: "logprobs",
    body: { ...RESPONSE, include: ["message.output_text.logprobs"] },
  },
  max_output_tokens: {
    ...INVALID,
    open: { limits: { max_output_tokens: 20 } },
    body: { ...RESPONSE, max_output_tokens: 21 },
  },
  input: { ...TOO_LONG, open: { limits: { context_tokens: 500 } }, body: { input: LONG } },
});

const EMBEDDINGS: Pick<Row, "endpoint" | "model"> = {
  endpoint: { embeddings: { interface: "openai", dimensions: true } },
  model: { modalities_out: ["embedding"], embedding_dimensions: 8 },
};
const EMBEDDINGS_CELLS = cells("embeddings", "/v1/embeddings", "embeddings", {
  dimensions: {
    ...EMBEDDINGS,
    open: { embeddings: { interface: "openai" } },
    body: { input: "Hello", dimensions: 4 },
  },
  input: { ...EMBEDDINGS, ...TOO_LONG, open: { limits: { max_input_tokens: 100 } }, body: { input: LONG } },
});

const FORMATS = ["mp3", "opus", "aac", "flac", "wav", "pcm"] as const;
const SPEECH_ALL = { interface: "openai", formats: [...FORMATS], speed: true, instructions: true } as const;
const SPEECH: Pick<Row, "endpoint" | "model"> = {
  endpoint: { prices: [{ currency: "EUR", per_1m_characters: 10 }], speech: { ...SPEECH_ALL, formats: [...FORMATS] } },
  model: { modalities_out: ["audio"] },
};
const SAY = { input: "Hello", voice: "ada" };
const NO_FORMAT = { status: 400, code: "speech_format_not_supported" } as const;
const SPEECH_CELLS = cells("speech", "/v1/audio/speech", "speech", {
  response_format: {
    ...SPEECH,
    ...NO_FORMAT,
    open: { speech: { interface: "gemini", formats: ["wav", "pcm"] } },
    body: SAY,
  },
  "response_format aac by the minute": {
    ...SPEECH,
    ...NO_FORMAT,
    open: { prices: [{ currency: "EUR", per_minute_audio: 1 }] },
    body: { ...SAY, response_format: "aac" },
  },
  speed: {
    ...SPEECH,
    open: { speech: { ...SPEECH_ALL, formats: [...FORMATS], speed: false } },
    body: { ...SAY, speed: 2 },
  },
  instructions: {
    ...SPEECH,
    open: { speech: { ...SPEECH_ALL, formats: [...FORMATS], instructions: false } },
    body: { ...SAY, instructions: "calm" },
  },
  input: {
    ...SPEECH,
    status: 413,
    code: "speech_input_too_long",
    open: { speech: { ...SPEECH_ALL, formats: [...FORMATS], max_input_chars: 3 } },
    body: SAY,
  },
});

const TRANSCRIBES_ALL = {
  interface: "openai",
  segments: true,
  words: true,
  stream: true,
  parameters: ["prompt", "temperature", "include", "language"],
} as const;
const TRANSCRIPTIONS: Pick<Row, "endpoint"> = {
  endpoint: {
    prices: [{ currency: "EUR", per_minute_audio: 1 }],
    transcriptions: { ...TRANSCRIBES_ALL, parameters: [...TRANSCRIBES_ALL.parameters] },
  },
};
const transcribes = (less: object): Pick<Row, "open"> => ({
  open: { transcriptions: { ...TRANSCRIBES_ALL, parameters: [...TRANSCRIBES_ALL.parameters], ...less } },
});
const TRANSCRIPTION_CELLS = cells("transcriptions", "/v1/audio/transcriptions", "transcriptions", {
  response_format: { ...TRANSCRIPTIONS, ...transcribes({ segments: false }), body: { response_format: "srt" } },
  timestamp_granularities: {
    ...TRANSCRIPTIONS,
    ...transcribes({ words: false }),
    body: { response_format: "verbose_json", "timestamp_granularities[]": "word" },
  },
  stream: { ...TRANSCRIPTIONS, ...transcribes({ stream: false }), body: { stream: "true" } },
  prompt: { ...TRANSCRIPTIONS, ...transcribes({ parameters: [] }), body: { prompt: "Names" } },
  temperature: { ...TRANSCRIPTIONS, ...transcribes({ parameters: ["prompt"] }), body: { temperature: "0.5" } },
  file: { ...TRANSCRIPTIONS, ...TOO_LARGE, ...transcribes({ max_bytes: 100 }), body: {} },
});

const JUDGES: Pick<Row, "endpoint"> = {
  endpoint: {
    decisions_interface: "system_one",
    decisions: { images: "state_items", options_max: 255, levels_max: 10, decimals: 2 },
  },
};
const judges = (less: object): Pick<Row, "open"> => ({
  open: { decisions: { images: "state_items", options_max: 255, levels_max: 10, decimals: 2, ...less } },
});
const QUESTION = { type: "noul", instructions: "Is it?" };
const decision = (more: object, q: object = QUESTION) => ({ state: "It is on.", questions: { q }, ...more });
const DECISIONS_CELLS = cells("decisions", "/v1/decisions", "decisions", {
  images: {
    ...JUDGES,
    status: 400,
    code: "image_input_not_supported",
    open: { decisions: { options_max: 255, levels_max: 10, decimals: 2 } },
    body: decision({ images: [PIXEL_URL] }),
  },
  "images, too many": {
    ...JUDGES,
    ...INVALID,
    ...judges({ images_max: 1 }),
    param: "images",
    body: decision({ images: [PIXEL_URL, PIXEL_URL] }),
  },
  questions: {
    ...JUDGES,
    ...INVALID,
    ...judges({ questions_max: 1 }),
    body: decision({ questions: { q: QUESTION, r: QUESTION } }),
  },
  "questions.q.criteria options": {
    ...JUDGES,
    ...INVALID,
    ...judges({ options_max: 2 }),
    body: decision({}, { type: "choice", instructions: "Which?", criteria: { a: "A", b: "B", c: "C" } }),
  },
  "questions.q.criteria levels": {
    ...JUDGES,
    ...INVALID,
    ...judges({ levels_max: 2 }),
    body: decision({}, { type: "score", instructions: "How?", criteria: ["a", "b", "c"] }),
  },
  state: {
    ...JUDGES,
    ...TOO_LONG,
    open: { limits: { context_tokens: 500 } },
    body: { state: LONG, questions: { q: QUESTION } },
  },
});

const withCapabilities = (all: readonly Cell[]): Cell[] =>
  all.map((cell) => (cell.surface === "chat" ? { ...cell, model: { ...CAPABLE, ...cell.model } } : cell));

/** Every refusal for a missing capability, on every surface. */
export const CELLS: readonly Cell[] = withCapabilities([
  ...CHAT_CELLS,
  ...MESSAGES_CELLS,
  ...COUNT_CELLS,
  ...RESPONSES_CELLS,
  ...EMBEDDINGS_CELLS,
  ...SPEECH_CELLS,
  ...TRANSCRIPTION_CELLS,
  ...DECISIONS_CELLS,
]);

/** Models of both providers for refusals that are no cell of the table. */
export const OTHER_MODELS: readonly SharedModel[] = [
  { name: "plain", surface: "chat" },
  { name: "six", surface: "chat", open: { dialects: ["D3"] } },
  { name: "unthinking", surface: "chat", endpoint: { features: { reasoning: false, logprobs: false } } },
  {
    name: "unthinking-native",
    surface: "chat",
    endpoint: { responses_api: true, features: { reasoning: false, logprobs: false } },
  },
];
