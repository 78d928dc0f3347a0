import { encodeEventMessage } from "../../src/kit/aws-event-stream.ts";

/** Replies of every dialect that are valid JSON and expensive to read, relay or translate. */
export const HOSTILE_KINDS = ["members", "nesting", "text", "wide text", "escapes", "arguments", "log-probs", "parts"];
export const SMALL_PARTS = 5_000;
export type ReplyDialect = "chat" | "messages" | "responses" | "gemini" | "converse";

type Content = {
  readonly text: string;
  readonly argumentsText?: string;
  readonly logprobs?: string;
  /** Beside the content. */
  readonly extra?: string;
  readonly parts: number;
};

const repeated = (text: string, bytes: number) => text.repeat(Math.floor(bytes / Buffer.byteLength(text)));

function contentOf(kind: string, bytes: number): Content {
  const plain = { text: '"Hi"', parts: 1 };
  switch (kind) {
    case "members":
      return { ...plain, extra: `,"x":[${repeated('{"a":0},', bytes)}0]` };
    case "allowed members":
      return { ...plain, extra: `,"x":[${'{"a":0},'.repeat(45_000)}0]` };
    case "nesting":
      return { ...plain, extra: `,"x":${"[".repeat(bytes / 2)}${"]".repeat(bytes / 2)}` };
    case "text":
      return { ...plain, text: `"${repeated("word ", bytes)}"` };
    case "wide text":
      return { ...plain, text: `"${repeated("漢字", bytes)}"` };
    case "escapes":
      return { ...plain, text: `"${repeated('\\n\\"', bytes)}"` };
    case "arguments":
      return { ...plain, argumentsText: `{"k":[${repeated("0.25,", bytes)}0]}` };
    case "log-probs":
      return { ...plain, logprobs: `{"content":[${repeated('{"token":"a","logprob":-1,"bytes":[97]},', bytes)}{}]}` };
    case "small parts":
      return { text: '"word "', parts: SMALL_PARTS };
    default:
      return { text: `"${repeated("word ", bytes / 500)}"`, parts: 500 };
  }
}

const each = ({ parts }: Content, one: string) => Array.from({ length: parts }, () => one).join(",");

/** Vectors for this many inputs, and transcripts, that are expensive to read. */
export const HOSTILE_INPUTS = 8;
export const EMBEDDINGS_KINDS = ["members", "nesting", "vectors", "base64"];
export const TRANSCRIPT_KINDS = ["members", "nesting", "words", "text", "dashes", "log-probs"];

export function hostileEmbeddings(kind: string, bytes: number): Buffer {
  const { extra = "" } = contentOf(kind, bytes);
  const numbers = Math.floor(bytes / HOSTILE_INPUTS / 5);
  const vector = kind === "vectors" ? `[${repeated("0.25,", numbers * 5)}1]` : "[1,2]";
  const encoded = `"${Buffer.alloc(numbers * 4).toString("base64")}"`;
  const rows = Array.from(
    { length: HOSTILE_INPUTS },
    (_, index) => `{"index":${index},"embedding":${kind === "base64" ? encoded : vector}}`,
  );
  return Buffer.from(`{"data":[${rows.join(",")}]${extra},"usage":{"prompt_tokens":3,"total_tokens":3}}`);
}

export function hostileTranscript(kind: string, bytes: number): Buffer {
  const { text, extra = "", logprobs } = contentOf(kind, bytes);
  const word = '{"word":"w","start":1,"end":2},';
  const words = repeated(word, kind === "words" ? bytes : word.length).slice(0, -1);
  const dashes = kind === "dashes" ? repeated("-", bytes) : "Hi";
  const more = logprobs === undefined ? "" : `,"logprobs":${logprobs}`;
  const segment = `{"id":0,"start":0,"end":1,"text":"a ${dashes} b"}`;
  return Buffer.from(
    `{"text":${kind === "text" ? text : '"Hi"'},"duration":2,"segments":[${segment}],"words":[${words}]${more}${extra}}`,
  );
}

export function hostileReply(dialect: ReplyDialect, kind: string, bytes: number, isStream: boolean): Buffer {
  const content = contentOf(kind, bytes);
  if (dialect === "converse" && isStream) return converseStream(content);
  return Buffer.from(isStream ? STREAMS[dialect](content) : WHOLE[dialect](content));
}

const named = (type: string, members: string) => `event: ${type}\ndata: {"type":"${type}"${members}}\n\n`;
const quoted = (text: string | undefined) => JSON.stringify(text);

const WHOLE: Readonly<Record<ReplyDialect, (content: Content) => string>> = {
  chat(content) {
    const { text, argumentsText, logprobs, extra = "", parts } = content;
    const value = parts === 1 ? text : `[${each(content, `{"type":"text","text":${text}}`)}]`;
    const call = `{"id":"t","type":"function","function":{"name":"f","arguments":${argumentsText}}}`;
    const calls = argumentsText === undefined ? "" : `,"tool_calls":[${call}]`;
    const more = logprobs === undefined ? "" : `,"logprobs":${logprobs}`;
    return `{"id":"c","object":"chat.completion","created":1,"model":"m"${extra},"choices":[{"index":0,"message":{"role":"assistant","content":${value}${calls}}${more},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`;
  },
  messages(content) {
    const { text, argumentsText, extra = "" } = content;
    const call = argumentsText === undefined ? "" : `,{"type":"tool_use","id":"t","name":"f","input":${argumentsText}}`;
    return `{"id":"m","type":"message","role":"assistant","model":"m"${extra},"content":[${each(content, `{"type":"text","text":${text}}`)}${call}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":1}}`;
  },
  responses(content) {
    const { text, argumentsText, logprobs = "[]", extra = "" } = content;
    const part = `{"type":"output_text","text":${text},"annotations":[],"logprobs":${logprobs}}`;
    const call = `,{"type":"function_call","id":"f","call_id":"t","name":"f","arguments":${quoted(argumentsText)}}`;
    const item = `{"type":"message","id":"i","role":"assistant","content":[${each(content, part)}]}`;
    return `{"id":"r","object":"response","created_at":1,"status":"completed","model":"m"${extra},"output":[${item}${argumentsText === undefined ? "" : call}],"usage":{"input_tokens":3,"output_tokens":1,"total_tokens":4}}`;
  },
  gemini(content) {
    const { text, argumentsText, logprobs, extra = "" } = content;
    const call = argumentsText === undefined ? "" : `,{"functionCall":{"name":"f","args":${argumentsText}}}`;
    const more = logprobs === undefined ? "" : `,"logprobsResult":${logprobs}`;
    return `{"responseId":"r"${extra},"candidates":[{"index":0,"content":{"role":"model","parts":[${each(content, `{"text":${text}}`)}${call}]}${more},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":1,"totalTokenCount":4}}`;
  },
  converse(content) {
    const { text, argumentsText, extra = "" } = content;
    const call =
      argumentsText === undefined ? "" : `,{"toolUse":{"toolUseId":"t","name":"f","input":${argumentsText}}}`;
    return `{"output":{"message":{"role":"assistant","content":[${each(content, `{"text":${text}}`)}${call}]}}${extra},"stopReason":"end_turn","usage":{"inputTokens":3,"outputTokens":1,"totalTokens":4}}`;
  },
};

const STREAMS: Readonly<Record<ReplyDialect, (content: Content) => string>> = {
  chat(content) {
    const chunk = (choices: string, more: string) =>
      `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m"${more},"choices":[${choices}]}\n\n`;
    const { text, argumentsText, logprobs, extra = "", parts } = content;
    const value = parts === 1 ? text : `[${each(content, `{"type":"text","text":${text}}`)}]`;
    const call = `{"index":0,"id":"t","type":"function","function":{"name":"f","arguments":${argumentsText}}}`;
    const calls = argumentsText === undefined ? "" : `,"tool_calls":[${call}]`;
    const more = logprobs === undefined ? "" : `,"logprobs":${logprobs}`;
    const end = chunk('{"index":0,"delta":{},"finish_reason":"stop"}', "");
    return `${chunk(`{"index":0,"delta":{"content":${value}${calls}}${more},"finish_reason":null}`, extra)}${end}data: [DONE]\n\n`;
  },
  messages(content) {
    const { text, argumentsText = "{}", extra = "", parts } = content;
    const start = `,"message":{"id":"m","type":"message","role":"assistant","model":"m"${extra},"content":[],"usage":{"input_tokens":3,"output_tokens":1}}`;
    const block = (index: number, opened: string, delta: string) =>
      named("content_block_start", `,"index":${index},"content_block":${opened}`) +
      named("content_block_delta", `,"index":${index},"delta":${delta}`) +
      named("content_block_stop", `,"index":${index}`);
    const texts = Array.from({ length: parts }, (_, index) =>
      block(index, '{"type":"text","text":""}', `{"type":"text_delta","text":${text}}`),
    );
    const call = block(
      parts,
      '{"type":"tool_use","id":"t","name":"f","input":{}}',
      `{"type":"input_json_delta","partial_json":${quoted(argumentsText)}}`,
    );
    const end = named("message_delta", ',"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}');
    return named("message_start", start) + texts.join("") + call + end + named("message_stop", "");
  },
  responses(content) {
    const delta = `,"sequence_number":0,"output_index":0,"content_index":0,"item_id":"i","delta":${content.text}`;
    const end = named("response.completed", `,"sequence_number":1,"response":${WHOLE.responses(content)}`);
    return named("response.output_text.delta", delta) + end;
  },
  gemini: (content) => `data: ${WHOLE.gemini(content)}\n\n`,
  converse: () => "",
};

function converseStream({ text, argumentsText, extra = "" }: Content): Buffer {
  const event = (type: string, members: string) =>
    encodeEventMessage(
      { ":message-type": "event", ":event-type": type, ":content-type": "application/json" },
      `{${members}}`,
    );
  const call = `"contentBlockIndex":1,"delta":{"toolUse":{"input":${quoted(argumentsText ?? "{}")}}}`;
  return Buffer.concat([
    event("messageStart", '"role":"assistant"'),
    event("contentBlockDelta", `"contentBlockIndex":0,"delta":{"text":${text}}${extra}`),
    event("contentBlockStop", '"contentBlockIndex":0'),
    event("contentBlockStart", '"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"t","name":"f"}}'),
    event("contentBlockDelta", call),
    event("contentBlockStop", '"contentBlockIndex":1'),
    event("messageStop", '"stopReason":"end_turn"'),
    event("metadata", '"usage":{"inputTokens":3,"outputTokens":1,"totalTokens":4}'),
  ]);
}
