import { respondWithDecision } from "./chat-decisions.ts";
import { parseChat, type SandboxChatRequest } from "./chat-request.ts";
import { isDecisionModel } from "./misdeeds.ts";
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

type ChatReply = Extract<ReplyResult, { is: "answer" }>;
/** The fields that every body and chunk of one answer shares. */
type CompletionHead = {
  readonly id: string;
  readonly created: number;
  readonly model: string;
  readonly fingerprint: string;
};

/** The chat-completions format, as JSON and as server-sent events. */
export const chatFormat: WireFormat = {
  method: "POST",
  matches: (path) => path === "/v1/chat/completions",
  readCredential: bearerToken,
  parse(incoming) {
    const asked = parseChat(incoming.body);
    if (asked.is === "refusal") return asked;
    return { is: "opened", model: asked.model, respond: (desk) => respond(asked, desk) };
  },
  errorBody: openAiErrorBody,
};

/** `GET /v1/models`: what the simulated provider admits to having. */
export const modelsFormat: WireFormat = {
  method: "GET",
  matches: (path) => path === "/v1/models",
  readCredential: bearerToken,
  parse: () => ({
    is: "opened",
    model: "",
    respond: (desk) => {
      const data = desk.listedModels.map((id) => ({
        id,
        object: "model",
        created: 1_767_225_600,
        owned_by: desk.slug,
      }));
      return jsonResponse({ object: "list", data }, 0);
    },
  }),
  errorBody: openAiErrorBody,
};

export function openAiErrorBody(given: ErrorResponse): string {
  const type = given.status === 429 ? "requests" : given.status >= 500 ? "server_error" : "invalid_request_error";
  return JSON.stringify(
    { error: { message: given.message, type, param: given.param, code: given.code } },
    undefined,
    2,
  );
}

function respond(asked: SandboxChatRequest, desk: SimulatedProvider): SimulatedResponse | ErrorResponse {
  if (isDecisionModel(asked.model)) return respondWithDecision(asked, desk);
  const answer = generateReply(asked.prompt, desk.slug);
  if (answer.is === "refused") {
    const what = answer.part === null ? "response_format" : `function '${answer.part}'`;
    return errorResponse(400, `Invalid schema for ${what}: ${answer.problem}.`, {
      param: answer.part === null ? "response_format" : "tools",
      code: "invalid_json_schema",
    });
  }
  const stamp: CompletionHead = {
    id: desk.nextId("chatcmpl-sim"),
    created: desk.nowSeconds(),
    model: asked.model,
    fingerprint: `fp_${desk.slug.replaceAll("-", "_")}`,
  };
  if (asked.mode === "whole")
    return jsonResponse(completionBody(asked, answer, stamp, desk), countStreamPieces(answer));
  const frames = completionChunks(asked, answer, stamp, desk).map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
  return { is: "frames", contentType: "text/event-stream; charset=utf-8", frames: [...frames, "data: [DONE]\n\n"] };
}

function jsonResponse(body: unknown, tokens: number): SimulatedResponse {
  return { is: "whole", contentType: "application/json", body: JSON.stringify(body, undefined, 2), tokens };
}

function countStreamPieces(answer: ChatReply): number {
  const content =
    answer.content.is === "text"
      ? splitWords(answer.content.text).length
      : answer.content.calls.reduce((sum, call) => sum + 1 + splitRuns(call.argumentsJson).length, 0);
  return content + splitWords(answer.reasoning ?? "").length;
}

const FINISH_REASONS = { stop: "stop", length: "length", calls: "tool_calls" } as const;

function completionBody(
  asked: SandboxChatRequest,
  answer: ChatReply,
  stamp: CompletionHead,
  desk: SimulatedProvider,
): unknown {
  const { content } = answer;
  const text = content.is === "text" ? content.text : null;
  const calls = content.is === "calls" ? content.calls : [];
  const message = {
    role: "assistant",
    content: text,
    ...(answer.reasoning === null ? {} : { reasoning_content: answer.reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map((call) => encodeToolCall(call, desk.nextId("call_"))) }),
    refusal: null,
    annotations: [],
  };
  return {
    id: stamp.id,
    object: "chat.completion",
    created: stamp.created,
    model: stamp.model,
    choices: [
      {
        index: 0,
        message,
        logprobs: encodeLogprobs(asked, splitWords(text ?? "")),
        finish_reason: FINISH_REASONS[answer.end],
      },
    ],
    usage: encodeUsage(answer.usage),
    service_tier: asked.tier,
    system_fingerprint: stamp.fingerprint,
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

/** Every word as one token that the simulated model was nearly sure of. */
function encodeLogprobs(asked: SandboxChatRequest, words: readonly string[]): unknown {
  if (asked.logprobs === null) return null;
  const alternatives = asked.logprobs;
  const content = words.map((token) => {
    const one = { token, logprob: -0.01, bytes: [...Buffer.from(token)] };
    return { ...one, top_logprobs: alternatives === 0 ? [] : [one] };
  });
  return { content, refusal: null };
}

function completionChunks(
  asked: SandboxChatRequest,
  answer: ChatReply,
  stamp: CompletionHead,
  desk: SimulatedProvider,
): unknown[] {
  const withUsage = asked.mode === "frames_with_usage";
  const base = (choices: readonly unknown[], usage: unknown) => ({
    id: stamp.id,
    object: "chat.completion.chunk",
    created: stamp.created,
    model: stamp.model,
    service_tier: asked.tier,
    system_fingerprint: stamp.fingerprint,
    choices,
    // Asked for, usage is null on every chunk but the last; not asked for, the field is not there at all.
    ...(withUsage ? { usage } : {}),
  });
  const chunk = (delta: unknown, finish: string | null, logprobs: unknown = null) =>
    base([{ index: 0, delta, logprobs, finish_reason: finish }], null);
  const list: unknown[] = chatDeltas(answer, desk).map(({ delta, word }) =>
    chunk(delta, null, word === null ? null : encodeLogprobs(asked, [word])),
  );
  list.push(chunk({}, FINISH_REASONS[answer.end]));
  if (withUsage) list.push(base([], encodeUsage(answer.usage)));
  return list;
}

type ChatDelta = { readonly delta: unknown; readonly word: string | null };

function chatDeltas(answer: ChatReply, desk: SimulatedProvider): ChatDelta[] {
  const list: ChatDelta[] = [];
  const plain = (delta: unknown) => list.push({ delta, word: null });
  const { content } = answer;
  if (answer.reasoning !== null) {
    plain({ role: "assistant", content: null, reasoning_content: "", refusal: null });
    for (const word of splitWords(answer.reasoning)) plain({ reasoning_content: word });
  }
  if (content.is === "text") {
    if (answer.reasoning === null) plain({ role: "assistant", content: "", refusal: null });
    for (const word of splitWords(content.text)) list.push({ delta: { content: word }, word });
    return list;
  }
  for (const [index, call] of content.calls.entries()) {
    const start = { index, id: desk.nextId("call_"), type: "function", function: { name: call.name, arguments: "" } };
    const opening = index === 0 && answer.reasoning === null;
    plain(opening ? { role: "assistant", content: null, tool_calls: [start], refusal: null } : { tool_calls: [start] });
    for (const run of splitRuns(call.argumentsJson)) plain({ tool_calls: [{ index, function: { arguments: run } }] });
  }
  return list;
}
