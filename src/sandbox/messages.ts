import { isJsonObject, tryParseJson } from "../kit/json.ts";
import { parseMessages, type SandboxMessagesRequest, thinkingSignature } from "./messages-request.ts";
import { countInputTokens, generateReply, type ReplyResult, type SandboxUsage } from "./reply.ts";
import { splitRuns, splitWords } from "./tokens.ts";
import {
  bearerToken,
  type ErrorResponse,
  errorResponse,
  type SimulatedProvider,
  type SimulatedResponse,
  type WireFormat,
} from "./wire-format.ts";

type MessagesReply = Extract<ReplyResult, { is: "reply" }>;

/** The messages format, as JSON and as server-sent events. */
export const messagesFormat: WireFormat = {
  method: "POST",
  matches: (path) => path === "/v1/messages",
  readCredential(headers) {
    const key = headers["x-api-key"];
    return typeof key === "string" && key !== "" ? key : bearerToken(headers);
  },
  parse({ body, headers }) {
    const version = headers["anthropic-version"];
    const request = parseMessages(body, typeof version === "string" ? version : undefined);
    if (request.is === "error") return request;
    return { is: "accepted", model: request.model, respond: (provider) => respond(request, provider) };
  },
  errorBody,
};

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  503: "overloaded_error",
};

function errorBody({ status, message }: ErrorResponse): string {
  const type = ERROR_TYPES[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
  return JSON.stringify({ type: "error", error: { type, message }, request_id: null });
}

function respond(request: SandboxMessagesRequest, provider: SimulatedProvider): SimulatedResponse | ErrorResponse {
  const reply = generateReply(request.prompt, provider.slug);
  if (reply.is === "rejected") {
    const what = reply.part === null ? "output_config.format.schema" : `tools: input_schema of '${reply.part}'`;
    return errorResponse(400, `${what}: ${reply.problem}`);
  }
  const content = blocksOf(reply, provider);
  const head = {
    id: provider.nextId("msg_sim"),
    type: "message",
    role: "assistant",
    model: request.model,
  };
  if (request.mode === "json") {
    const body = { ...head, content, ...stopFields(reply), usage: encodeUsage(reply.usage) };
    const tokens = content.reduce((sum, block) => sum + blockDeltas(block).length, 0);
    return { is: "body", contentType: "application/json", body: JSON.stringify(body), tokens };
  }
  const frames = streamEvents(head, content, reply).map(
    (data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`,
  );
  return { is: "frames", contentType: "text/event-stream; charset=utf-8", frames };
}

type MessagesBlock =
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: unknown };

function blocksOf({ reasoning, content }: MessagesReply, provider: SimulatedProvider): MessagesBlock[] {
  const thought: MessagesBlock[] =
    reasoning === null ? [] : [{ type: "thinking", thinking: reasoning, signature: thinkingSignature(reasoning) }];
  if (content.is === "text") return content.text === "" ? thought : [...thought, { type: "text", text: content.text }];
  return [
    ...thought,
    ...content.calls.map((call): MessagesBlock => {
      return {
        type: "tool_use",
        id: provider.nextId("toolu_sim"),
        name: call.name,
        input: parseToolInput(call.argumentsJson),
      };
    }),
  ];
}

/** Truncated arguments are not valid JSON; the real service then returns an empty input. */
function parseToolInput(argumentsJson: string): unknown {
  try {
    return JSON.parse(argumentsJson);
  } catch {
    return {};
  }
}

const STOP_REASONS = { stop: "end_turn", length: "max_tokens", calls: "tool_use" } as const;

function stopFields({ end, stopSequence }: MessagesReply) {
  return { stop_reason: stopSequence === null ? STOP_REASONS[end] : "stop_sequence", stop_sequence: stopSequence };
}

function encodeUsage({ inputTokens, outputTokens, reasoningTokens }: SandboxUsage) {
  return {
    input_tokens: inputTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { thinking_tokens: reasoningTokens },
    service_tier: "standard",
  };
}

type MessagesEvent = { readonly type: string; readonly [field: string]: unknown };

function streamEvents(head: object, content: readonly MessagesBlock[], reply: MessagesReply): MessagesEvent[] {
  const { output_tokens: _all, output_tokens_details: _thought, ...input } = encodeUsage(reply.usage);
  const message = {
    ...head,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...input, output_tokens: 1 },
  };
  const list: MessagesEvent[] = [{ type: "message_start", message }];
  for (const [index, block] of content.entries()) {
    list.push({ type: "content_block_start", index, content_block: emptyBlock(block) });
    if (index === 0) list.push({ type: "ping" });
    for (const delta of blockDeltas(block)) list.push({ type: "content_block_delta", index, delta });
    list.push({ type: "content_block_stop", index });
  }
  list.push(
    { type: "message_delta", delta: stopFields(reply), usage: encodeUsage(reply.usage) },
    { type: "message_stop" },
  );
  return list;
}

function emptyBlock(block: MessagesBlock): MessagesBlock {
  switch (block.type) {
    case "thinking":
      return { type: "thinking", thinking: "", signature: "" };
    case "text":
      return { type: "text", text: "" };
    case "tool_use":
      return { ...block, input: {} };
  }
}

function blockDeltas(block: MessagesBlock): object[] {
  switch (block.type) {
    case "thinking":
      return [
        ...splitWords(block.thinking).map((thinking) => ({ type: "thinking_delta", thinking })),
        { type: "signature_delta", signature: block.signature },
      ];
    case "text":
      return splitWords(block.text).map((text) => ({ type: "text_delta", text }));
    case "tool_use":
      return ["", ...splitRuns(JSON.stringify(block.input))].map((partial_json) => ({
        type: "input_json_delta",
        partial_json,
      }));
  }
}

/** Fields of count_tokens; those that only affect a reply are rejected. */
const COUNTED_FIELDS: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "system",
  "tools",
  "tool_choice",
  "thinking",
  "output_config",
]);
/** No reply is generated, so no output limit applies. */
const NO_OUTPUT_LIMIT = 10_000_000;

/** `POST /v1/messages/count_tokens` */
export const countTokensFormat: WireFormat = {
  ...messagesFormat,
  matches: (path) => path === "/v1/messages/count_tokens",
  parse({ body, headers }) {
    const value = tryParseJson(body);
    if (!isJsonObject(value)) return errorResponse(400, "The request body must be a JSON object.");
    const extra = Object.keys(value).find((key) => !COUNTED_FIELDS.has(key));
    if (extra !== undefined) return errorResponse(400, `${extra}: Extra inputs are not permitted`);
    const version = headers["anthropic-version"];
    const request = parseMessages(
      Buffer.from(JSON.stringify({ ...value, max_tokens: NO_OUTPUT_LIMIT })),
      typeof version === "string" ? version : undefined,
    );
    if (request.is === "error") return request;
    const reply = JSON.stringify({ input_tokens: countInputTokens(request.prompt) });
    return {
      is: "accepted",
      model: request.model,
      respond: () => ({ is: "body", contentType: "application/json", body: reply, tokens: 1 }),
    };
  },
};
