import { createHash } from "node:crypto";
import { openAiErrorBody } from "./chat.ts";
import { generateReply, type ReplyResult, type SandboxUsage } from "./reply.ts";
import { parseResponses, type SandboxResponsesRequest } from "./responses-request.ts";
import { splitRuns, splitWords } from "./tokens.ts";
import {
  bearerToken,
  type ErrorResponse,
  errorResponse,
  type SimulatedProvider,
  type SimulatedResponse,
  type WireFormat,
} from "./wire-format.ts";

type ResponsesReply = Extract<ReplyResult, { is: "reply" }>;

/** The responses format of a stateless provider, as JSON and as server-sent events. */
export const responsesFormat: WireFormat = {
  method: "POST",
  matches: (path) => path === "/v1/responses",
  readCredential: bearerToken,
  parse({ body }) {
    const request = parseResponses(body);
    if (request.is === "error") return request;
    return { is: "accepted", model: request.model, respond: (provider) => respond(request, provider) };
  },
  errorBody: openAiErrorBody,
};

function respond(request: SandboxResponsesRequest, provider: SimulatedProvider): SimulatedResponse | ErrorResponse {
  const rejected = request.encryptedReasoning.find(({ content }) => !isEncryptedBy(provider.slug, content));
  if (rejected !== undefined)
    return errorResponse(
      400,
      `The encrypted content ${rejected.content.slice(0, 4)}... could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
      { param: rejected.param, code: "invalid_encrypted_content" },
    );
  const reply = generateReply(request.prompt, provider.slug);
  if (reply.is === "rejected") {
    const param = reply.part === null ? "text.format.schema" : "tools";
    const what = reply.part === null ? "response_format" : `function '${reply.part}'`;
    return errorResponse(400, `Invalid schema for ${what}: ${reply.problem}.`, { param, code: "invalid_json_schema" });
  }
  const head = { id: provider.nextId("resp_sim"), object: "response", created_at: provider.nowSeconds() };
  const items = outputItems(request, reply, provider);
  const response = (state: Record<string, unknown>) => ({
    ...head,
    error: null,
    incomplete_details: null,
    model: request.model,
    ...request.echo,
    ...state,
  });
  const started = response({ status: "in_progress", completed_at: null, output: [], usage: null });
  const isTruncated = reply.end === "length";
  const finished = response({
    status: isTruncated ? "incomplete" : "completed",
    completed_at: isTruncated ? null : provider.nowSeconds(),
    ...(isTruncated ? { incomplete_details: { reason: "max_output_tokens" } } : {}),
    output: items,
    usage: encodeUsage(reply.usage),
  });
  if (request.mode === "json") {
    const tokens = items.reduce((sum, item) => sum + streamPieces(item).length, 0);
    return { is: "body", contentType: "application/json", body: JSON.stringify(finished, undefined, 2), tokens };
  }
  const events: ResponsesEvent[] = [
    { type: "response.created", response: started },
    { type: "response.in_progress", response: started },
    ...items.flatMap((item, index) => itemEvents(item, index, request)),
    { type: isTruncated ? "response.incomplete" : "response.completed", response: finished },
  ];
  const frames = events.map(({ type, ...rest }, sequence) => {
    const data = JSON.stringify({ type, sequence_number: sequence, ...rest });
    return `event: ${type}\ndata: ${data}\n\n`;
  });
  return { is: "frames", contentType: "text/event-stream; charset=utf-8", frames };
}

function encodeUsage(usage: SandboxUsage): unknown {
  return {
    input_tokens: usage.inputTokens,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.inputTokens + usage.outputTokens,
  };
}

/** Opaque reasoning that only its provider accepts: text plus a hash over provider and text. */
function encryptReasoning(provider: string, thought: string): string {
  const text = Buffer.from(thought).toString("base64url");
  return `sim.${text}.${createHash("sha256").update(`${provider} ${thought}`).digest("base64url")}`;
}

function isEncryptedBy(provider: string, content: string): boolean {
  const [, text = ""] = content.split(".");
  return content === encryptReasoning(provider, Buffer.from(text, "base64url").toString("utf8"));
}

type SandboxReasoningItem = {
  readonly id: string;
  readonly type: "reasoning";
  readonly encrypted_content?: string;
  readonly summary: readonly { readonly type: "summary_text"; readonly text: string }[];
};
type SandboxMessageItem = {
  readonly id: string;
  readonly type: "message";
  readonly status: string;
  readonly content: readonly {
    readonly type: "output_text";
    readonly annotations: readonly unknown[];
    readonly logprobs: readonly unknown[];
    readonly text: string;
  }[];
  readonly role: "assistant";
};
type SandboxCallItem = {
  readonly id: string;
  readonly type: "function_call";
  readonly status: string;
  readonly arguments: string;
  readonly call_id: string;
  readonly name: string;
};
type SandboxOutputItem = SandboxReasoningItem | SandboxMessageItem | SandboxCallItem;

function outputItems(
  request: SandboxResponsesRequest,
  { reasoning, content, end }: ResponsesReply,
  provider: SimulatedProvider,
): SandboxOutputItem[] {
  const status = end === "length" ? "incomplete" : "completed";
  const items: SandboxOutputItem[] = [];
  if (reasoning !== null)
    items.push({
      id: provider.nextId("rs_sim"),
      type: "reasoning",
      ...(request.includesEncryptedReasoning ? { encrypted_content: encryptReasoning(provider.slug, reasoning) } : {}),
      summary: request.includesSummary ? [{ type: "summary_text", text: reasoning }] : [],
    });
  if (content.is === "text") {
    // Reasoning that used the whole limit leaves no message.
    if (content.text === "" && reasoning !== null) return items;
    const text = { type: "output_text", annotations: [], logprobs: [], text: content.text } as const;
    return [...items, { id: provider.nextId("msg_sim"), type: "message", status, content: [text], role: "assistant" }];
  }
  for (const call of content.calls)
    items.push({
      id: provider.nextId("fc_sim"),
      type: "function_call",
      status,
      arguments: call.argumentsJson,
      call_id: provider.nextId("call_"),
      name: call.name,
    });
  return items;
}

function streamPieces(item: SandboxOutputItem): string[] {
  switch (item.type) {
    case "reasoning":
      return item.summary.flatMap(({ text }) => splitWords(text));
    case "message":
      return item.content.flatMap(({ text }) => splitWords(text));
    case "function_call":
      return splitRuns(item.arguments);
  }
}

type ResponsesEvent = { readonly type: string; readonly [field: string]: unknown };

function itemEvents(item: SandboxOutputItem, index: number, request: SandboxResponsesRequest): ResponsesEvent[] {
  const itemLocation = { item_id: item.id, output_index: index };
  const delta = (type: string, partLocation: Record<string, unknown>, text: string): ResponsesEvent => ({
    type,
    ...itemLocation,
    ...partLocation,
    delta: text,
    ...(request.hasObfuscation ? { obfuscation: "x".repeat(16 - (text.length % 16)) } : {}),
  });
  return [
    { type: "response.output_item.added", output_index: index, item: openedItem(item) },
    ...itemContentEvents(item, itemLocation, delta),
    { type: "response.output_item.done", output_index: index, item },
  ];
}

function openedItem(item: SandboxOutputItem): unknown {
  switch (item.type) {
    case "reasoning":
      return { ...item, summary: [] };
    case "message":
      return { ...item, status: "in_progress", content: [] };
    case "function_call":
      return { ...item, status: "in_progress", arguments: "" };
  }
}

type DeltaEventBuilder = (type: string, partLocation: Record<string, unknown>, text: string) => ResponsesEvent;

function itemContentEvents(
  item: SandboxOutputItem,
  itemLocation: Record<string, unknown>,
  delta: DeltaEventBuilder,
): ResponsesEvent[] {
  switch (item.type) {
    case "reasoning":
      return item.summary.flatMap(({ text }, summary_index): ResponsesEvent[] => {
        const partLocation = { summary_index };
        const deltas = splitWords(text).map((word) =>
          delta("response.reasoning_summary_text.delta", partLocation, word),
        );
        return [
          {
            type: "response.reasoning_summary_part.added",
            ...itemLocation,
            ...partLocation,
            part: { type: "summary_text", text: "" },
          },
          ...deltas,
          { type: "response.reasoning_summary_text.done", ...itemLocation, ...partLocation, text },
          {
            type: "response.reasoning_summary_part.done",
            ...itemLocation,
            ...partLocation,
            part: { type: "summary_text", text },
          },
        ];
      });
    case "message":
      return item.content.flatMap((part, content_index): ResponsesEvent[] => {
        const partLocation = { content_index };
        const deltas = splitWords(part.text).map((word) =>
          delta("response.output_text.delta", { ...partLocation, logprobs: [] }, word),
        );
        return [
          { type: "response.content_part.added", ...itemLocation, ...partLocation, part: { ...part, text: "" } },
          ...deltas,
          { type: "response.output_text.done", ...itemLocation, ...partLocation, text: part.text, logprobs: [] },
          { type: "response.content_part.done", ...itemLocation, ...partLocation, part },
        ];
      });
    case "function_call":
      return [
        ...splitRuns(item.arguments).map((run) => delta("response.function_call_arguments.delta", {}, run)),
        { type: "response.function_call_arguments.done", ...itemLocation, arguments: item.arguments },
      ];
  }
}
