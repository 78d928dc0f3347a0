import { respondWithDecision } from "./chat-decisions.ts";
import { parseChat, type SandboxChatRequest } from "./chat-request.ts";
import { isDecisionModel } from "./fault-injection.ts";
import { generateReply, type ReplyResult, type SandboxToolCall, type SandboxUsage } from "./reply.ts";
import { splitRuns, splitWords } from "./tokens.ts";
import {
  bearerToken,
  type ErrorResponse,
  errorResponse,
  type SimulatedProvider,
  type SimulatedResponse,
  type WireFormat,
} from "./wire-format.ts";

type ChatReply = Extract<ReplyResult, { is: "reply" }>;
/** Fields shared by the body and all chunks of one reply. */
type CompletionHead = {
  readonly id: string;
  readonly created: number;
  readonly model: string;
  readonly fingerprint: string;
};

/** Chat completions, as JSON and as server-sent events. */
export const chatFormat: WireFormat = {
  method: "POST",
  matches: (path) => path === "/v1/chat/completions",
  readCredential: bearerToken,
  parse(incoming) {
    const request = parseChat(incoming.body);
    if (request.is === "error") return request;
    return { is: "accepted", model: request.model, respond: (provider) => respond(request, provider) };
  },
  errorBody: openAiErrorBody,
};

/** `GET /v1/models` */
export const modelsFormat: WireFormat = {
  method: "GET",
  matches: (path) => path === "/v1/models",
  readCredential: bearerToken,
  parse: () => ({
    is: "accepted",
    model: "",
    respond: (provider) => {
      const data = provider.listedModels.map((id) => ({
        id,
        object: "model",
        created: 1_767_225_600,
        owned_by: provider.slug,
      }));
      return jsonResponse({ object: "list", data }, 0);
    },
  }),
  errorBody: openAiErrorBody,
};

export function openAiErrorBody(error: ErrorResponse): string {
  const type = error.status === 429 ? "requests" : error.status >= 500 ? "server_error" : "invalid_request_error";
  return JSON.stringify(
    { error: { message: error.message, type, param: error.param, code: error.code } },
    undefined,
    2,
  );
}

function respond(request: SandboxChatRequest, provider: SimulatedProvider): SimulatedResponse | ErrorResponse {
  if (isDecisionModel(request.model)) return respondWithDecision(request, provider);
  const reply = generateReply(request.prompt, provider.slug);
  if (reply.is === "rejected") {
    const what = reply.part === null ? "response_format" : `function '${reply.part}'`;
    return errorResponse(400, `Invalid schema for ${what}: ${reply.problem}.`, {
      param: reply.part === null ? "response_format" : "tools",
      code: "invalid_json_schema",
    });
  }
  const head: CompletionHead = {
    id: provider.nextId("chatcmpl-sim"),
    created: provider.nowSeconds(),
    model: request.model,
    fingerprint: `fp_${provider.slug.replaceAll("-", "_")}`,
  };
  if (request.mode === "json")
    return jsonResponse(completionBody(request, reply, head, provider), countStreamPieces(reply));
  const frames = completionChunks(request, reply, head, provider).map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
  return { is: "frames", contentType: "text/event-stream; charset=utf-8", frames: [...frames, "data: [DONE]\n\n"] };
}

function jsonResponse(body: unknown, tokens: number): SimulatedResponse {
  return { is: "body", contentType: "application/json", body: JSON.stringify(body, undefined, 2), tokens };
}

function countStreamPieces(reply: ChatReply): number {
  const content =
    reply.content.is === "text"
      ? splitWords(reply.content.text).length
      : reply.content.calls.reduce((sum, call) => sum + 1 + splitRuns(call.argumentsJson).length, 0);
  return content + splitWords(reply.reasoning ?? "").length;
}

const FINISH_REASONS = { stop: "stop", length: "length", calls: "tool_calls" } as const;

function completionBody(
  request: SandboxChatRequest,
  reply: ChatReply,
  head: CompletionHead,
  provider: SimulatedProvider,
): unknown {
  const { content } = reply;
  const text = content.is === "text" ? content.text : null;
  const calls = content.is === "calls" ? content.calls : [];
  const message = {
    role: "assistant",
    content: text,
    ...(reply.reasoning === null ? {} : { reasoning_content: reply.reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map((call) => encodeToolCall(call, provider.nextId("call_"))) }),
    refusal: null,
    annotations: [],
  };
  return {
    id: head.id,
    object: "chat.completion",
    created: head.created,
    model: head.model,
    choices: [
      {
        index: 0,
        message,
        logprobs: encodeLogprobs(request, splitWords(text ?? "")),
        finish_reason: FINISH_REASONS[reply.end],
      },
    ],
    usage: encodeUsage(reply.usage),
    service_tier: request.tier,
    system_fingerprint: head.fingerprint,
  };
}

function encodeToolCall(call: SandboxToolCall, id: string): unknown {
  return { id, type: "function", function: { name: call.name, arguments: call.argumentsJson } };
}

function encodeUsage(usage: SandboxUsage): unknown {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoningTokens,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

/** Each word is one token of high probability. */
function encodeLogprobs(request: SandboxChatRequest, words: readonly string[]): unknown {
  if (request.logprobs === null) return null;
  const alternatives = request.logprobs;
  const content = words.map((token) => {
    const entry = { token, logprob: -0.01, bytes: [...Buffer.from(token)] };
    return { ...entry, top_logprobs: alternatives === 0 ? [] : [entry] };
  });
  return { content, refusal: null };
}

function completionChunks(
  request: SandboxChatRequest,
  reply: ChatReply,
  head: CompletionHead,
  provider: SimulatedProvider,
): unknown[] {
  const withUsage = request.mode === "stream_with_usage";
  const base = (choices: readonly unknown[], usage: unknown) => ({
    id: head.id,
    object: "chat.completion.chunk",
    created: head.created,
    model: head.model,
    service_tier: request.tier,
    system_fingerprint: head.fingerprint,
    choices,
    // If requested, usage is null on all chunks but the last; otherwise the field is absent.
    ...(withUsage ? { usage } : {}),
  });
  const chunk = (delta: unknown, finish: string | null, logprobs: unknown = null) =>
    base([{ index: 0, delta, logprobs, finish_reason: finish }], null);
  const list: unknown[] = chatDeltas(reply, provider).map(({ delta, word }) =>
    chunk(delta, null, word === null ? null : encodeLogprobs(request, [word])),
  );
  list.push(chunk({}, FINISH_REASONS[reply.end]));
  if (withUsage) list.push(base([], encodeUsage(reply.usage)));
  return list;
}

type ChatDelta = { readonly delta: unknown; readonly word: string | null };

function chatDeltas(reply: ChatReply, provider: SimulatedProvider): ChatDelta[] {
  const list: ChatDelta[] = [];
  const plain = (delta: unknown) => list.push({ delta, word: null });
  const { content } = reply;
  if (reply.reasoning !== null) {
    plain({ role: "assistant", content: null, reasoning_content: "", refusal: null });
    for (const word of splitWords(reply.reasoning)) plain({ reasoning_content: word });
  }
  if (content.is === "text") {
    if (reply.reasoning === null) plain({ role: "assistant", content: "", refusal: null });
    for (const word of splitWords(content.text)) list.push({ delta: { content: word }, word });
    return list;
  }
  for (const [index, call] of content.calls.entries()) {
    const start = {
      index,
      id: provider.nextId("call_"),
      type: "function",
      function: { name: call.name, arguments: "" },
    };
    const opening = index === 0 && reply.reasoning === null;
    plain(opening ? { role: "assistant", content: null, tool_calls: [start], refusal: null } : { tool_calls: [start] });
    for (const run of splitRuns(call.argumentsJson)) plain({ tool_calls: [{ index, function: { arguments: run } }] });
  }
  return list;
}
