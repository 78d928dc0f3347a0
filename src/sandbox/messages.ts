import { type Answer, answerTo, type Usage } from "./answer.ts";
import { type MessagesAsked, readMessages, signatureOf } from "./messages-request.ts";
import { runsOf, wordsOf } from "./tokens.ts";
import { bearerOf, type Delivery, type Desk, type Refusal, refusal, type WireFormat } from "./wire.ts";

type Given = Extract<Answer, { is: "answer" }>;

/** The messages format, as JSON and as server-sent events. */
export const messagesFormat: WireFormat = {
  method: "POST",
  claims: (path) => path === "/v1/messages",
  tokenOf(headers) {
    const key = headers["x-api-key"];
    return typeof key === "string" && key !== "" ? key : bearerOf(headers);
  },
  open({ body, headers }) {
    const version = headers["anthropic-version"];
    const asked = readMessages(body, typeof version === "string" ? version : undefined);
    if (asked.is === "refusal") return asked;
    return { is: "opened", model: asked.model, deliver: (desk) => deliver(asked, desk) };
  },
  refusalBody,
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

function refusalBody({ status, message }: Refusal): string {
  const type = ERROR_TYPES[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
  return JSON.stringify({ type: "error", error: { type, message }, request_id: null });
}

function deliver(asked: MessagesAsked, desk: Desk): Delivery | Refusal {
  const answer = answerTo(asked.prompt, desk.provider);
  if (answer.is === "refused") {
    const what = answer.part === null ? "output_config.format.schema" : `tools: input_schema of '${answer.part}'`;
    return refusal(400, `${what}: ${answer.problem}`);
  }
  const content = blocksOf(answer, desk);
  const head = {
    id: desk.nextId("msg_sim"),
    type: "message",
    role: "assistant",
    model: asked.model,
  };
  if (asked.streaming === "whole") {
    const body = { ...head, content, ...stopOf(answer), usage: wireUsage(answer.usage) };
    const tokens = content.reduce((sum, block) => sum + deltasOf(block).length, 0);
    return { is: "whole", contentType: "application/json", body: JSON.stringify(body), tokens };
  }
  const frames = events(head, content, answer).map((data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`);
  return { is: "frames", contentType: "text/event-stream; charset=utf-8", frames };
}

type Block =
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: unknown };

function blocksOf({ reasoning, content }: Given, desk: Desk): Block[] {
  const thought: Block[] =
    reasoning === null ? [] : [{ type: "thinking", thinking: reasoning, signature: signatureOf(reasoning) }];
  if (content.is === "text") return content.text === "" ? thought : [...thought, { type: "text", text: content.text }];
  return [
    ...thought,
    ...content.calls.map((call): Block => {
      return { type: "tool_use", id: desk.nextId("toolu_sim"), name: call.name, input: inputOf(call.argumentsJson) };
    }),
  ];
}

/** Arguments that were cut off at the limit are no JSON any more; a real answer has no input then. */
function inputOf(argumentsJson: string): unknown {
  try {
    return JSON.parse(argumentsJson);
  } catch {
    return {};
  }
}

const STOPS = { stop: "end_turn", length: "max_tokens", calls: "tool_use" } as const;

function stopOf({ end, stopSequence }: Given) {
  return { stop_reason: stopSequence === null ? STOPS[end] : "stop_sequence", stop_sequence: stopSequence };
}

function wireUsage({ inputTokens, outputTokens, reasoningTokens }: Usage) {
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

type Event = { readonly type: string; readonly [field: string]: unknown };

function events(head: object, content: readonly Block[], answer: Given): Event[] {
  const { output_tokens: _all, output_tokens_details: _thought, ...input } = wireUsage(answer.usage);
  const message = {
    ...head,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...input, output_tokens: 1 },
  };
  const list: Event[] = [{ type: "message_start", message }];
  for (const [index, block] of content.entries()) {
    list.push({ type: "content_block_start", index, content_block: emptied(block) });
    if (index === 0) list.push({ type: "ping" });
    for (const delta of deltasOf(block)) list.push({ type: "content_block_delta", index, delta });
    list.push({ type: "content_block_stop", index });
  }
  list.push({ type: "message_delta", delta: stopOf(answer), usage: wireUsage(answer.usage) }, { type: "message_stop" });
  return list;
}

/** A block as it opens in a stream. */
function emptied(block: Block): Block {
  switch (block.type) {
    case "thinking":
      return { type: "thinking", thinking: "", signature: "" };
    case "text":
      return { type: "text", text: "" };
    case "tool_use":
      return { ...block, input: {} };
  }
}

function deltasOf(block: Block): object[] {
  switch (block.type) {
    case "thinking":
      return [
        ...wordsOf(block.thinking).map((thinking) => ({ type: "thinking_delta", thinking })),
        { type: "signature_delta", signature: block.signature },
      ];
    case "text":
      return wordsOf(block.text).map((text) => ({ type: "text_delta", text }));
    case "tool_use":
      return ["", ...runsOf(JSON.stringify(block.input))].map((partial_json) => ({
        type: "input_json_delta",
        partial_json,
      }));
  }
}
