import { type Answer, answerTo, type Call, type Usage } from "./answer.ts";
import { type ChatAsked, readChat } from "./chat-request.ts";
import { decideInChat } from "./decide-chat.ts";
import { isDecider } from "./misdeeds.ts";
import { runsOf, wordsOf } from "./tokens.ts";
import { bearerOf, type Delivery, type Desk, type Refusal, refusal, type WireFormat } from "./wire.ts";

type Given = Extract<Answer, { is: "answer" }>;
/** The fields that every body and chunk of one answer shares. */
type Stamp = { readonly id: string; readonly created: number; readonly model: string; readonly fingerprint: string };

/** The chat-completions format, as JSON and as server-sent events. */
export const chatFormat: WireFormat = {
  method: "POST",
  claims: (path) => path === "/v1/chat/completions",
  tokenOf: bearerOf,
  open(incoming) {
    const asked = readChat(incoming.body);
    if (asked.is === "refusal") return asked;
    return { is: "opened", model: asked.model, deliver: (desk) => deliver(asked, desk) };
  },
  refusalBody: openAiError,
};

/** `GET /v1/models`: what the simulated provider admits to having. */
export const modelsFormat: WireFormat = {
  method: "GET",
  claims: (path) => path === "/v1/models",
  tokenOf: bearerOf,
  open: () => ({
    is: "opened",
    model: "",
    deliver: (desk) => {
      const data = desk.listedModels.map((id) => ({
        id,
        object: "model",
        created: 1_767_225_600,
        owned_by: desk.provider,
      }));
      return whole({ object: "list", data }, 0);
    },
  }),
  refusalBody: openAiError,
};

export function openAiError(given: Refusal): string {
  const type = given.status === 429 ? "requests" : given.status >= 500 ? "server_error" : "invalid_request_error";
  return JSON.stringify(
    { error: { message: given.message, type, param: given.param, code: given.code } },
    undefined,
    2,
  );
}

function deliver(asked: ChatAsked, desk: Desk): Delivery | Refusal {
  if (isDecider(asked.model)) return decideInChat(asked, desk);
  const answer = answerTo(asked.prompt, desk.provider);
  if (answer.is === "refused") {
    const what = answer.part === null ? "response_format" : `function '${answer.part}'`;
    return refusal(400, `Invalid schema for ${what}: ${answer.problem}.`, {
      param: answer.part === null ? "response_format" : "tools",
      code: "invalid_json_schema",
    });
  }
  const stamp: Stamp = {
    id: desk.nextId("chatcmpl-sim"),
    created: desk.nowSeconds(),
    model: asked.model,
    fingerprint: `fp_${desk.provider.replaceAll("-", "_")}`,
  };
  if (asked.streaming === "whole") return whole(completion(asked, answer, stamp, desk), wordsIn(answer));
  const frames = chunks(asked, answer, stamp, desk).map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
  return { is: "frames", contentType: "text/event-stream; charset=utf-8", frames: [...frames, "data: [DONE]\n\n"] };
}

function whole(body: unknown, tokens: number): Delivery {
  return { is: "whole", contentType: "application/json", body: JSON.stringify(body, undefined, 2), tokens };
}

function wordsIn(answer: Given): number {
  const content =
    answer.content.is === "text"
      ? wordsOf(answer.content.text).length
      : answer.content.calls.reduce((sum, call) => sum + 1 + runsOf(call.argumentsJson).length, 0);
  return content + wordsOf(answer.reasoning ?? "").length;
}

const FINISH = { stop: "stop", length: "length", calls: "tool_calls" } as const;

function completion(asked: ChatAsked, answer: Given, stamp: Stamp, desk: Desk): unknown {
  const { content } = answer;
  const text = content.is === "text" ? content.text : null;
  const calls = content.is === "calls" ? content.calls : [];
  const message = {
    role: "assistant",
    content: text,
    ...(answer.reasoning === null ? {} : { reasoning_content: answer.reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map((call) => wireCall(call, desk.nextId("call_"))) }),
    refusal: null,
    annotations: [],
  };
  return {
    id: stamp.id,
    object: "chat.completion",
    created: stamp.created,
    model: stamp.model,
    choices: [
      { index: 0, message, logprobs: logprobsOf(asked, wordsOf(text ?? "")), finish_reason: FINISH[answer.end] },
    ],
    usage: wireUsage(answer.usage),
    service_tier: asked.tier,
    system_fingerprint: stamp.fingerprint,
  };
}

function wireCall(call: Call, id: string): unknown {
  return { id, type: "function", function: { name: call.name, arguments: call.argumentsJson } };
}

function wireUsage(usage: Usage): unknown {
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
function logprobsOf(asked: ChatAsked, words: readonly string[]): unknown {
  if (asked.logprobs === null) return null;
  const alternatives = asked.logprobs;
  const content = words.map((token) => {
    const one = { token, logprob: -0.01, bytes: [...Buffer.from(token)] };
    return { ...one, top_logprobs: alternatives === 0 ? [] : [one] };
  });
  return { content, refusal: null };
}

function chunks(asked: ChatAsked, answer: Given, stamp: Stamp, desk: Desk): unknown[] {
  const withUsage = asked.streaming === "frames_with_usage";
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
  const list: unknown[] = deltas(answer, desk).map(({ delta, word }) =>
    chunk(delta, null, word === null ? null : logprobsOf(asked, [word])),
  );
  list.push(chunk({}, FINISH[answer.end]));
  if (withUsage) list.push(base([], wireUsage(answer.usage)));
  return list;
}

type Delta = { readonly delta: unknown; readonly word: string | null };

function deltas(answer: Given, desk: Desk): Delta[] {
  const list: Delta[] = [];
  const plain = (delta: unknown) => list.push({ delta, word: null });
  const { content } = answer;
  if (answer.reasoning !== null) {
    plain({ role: "assistant", content: null, reasoning_content: "", refusal: null });
    for (const word of wordsOf(answer.reasoning)) plain({ reasoning_content: word });
  }
  if (content.is === "text") {
    if (answer.reasoning === null) plain({ role: "assistant", content: "", refusal: null });
    for (const word of wordsOf(content.text)) list.push({ delta: { content: word }, word });
    return list;
  }
  for (const [index, call] of content.calls.entries()) {
    const start = { index, id: desk.nextId("call_"), type: "function", function: { name: call.name, arguments: "" } };
    const opening = index === 0 && answer.reasoning === null;
    plain(opening ? { role: "assistant", content: null, tool_calls: [start], refusal: null } : { tool_calls: [start] });
    for (const run of runsOf(call.argumentsJson)) plain({ tool_calls: [{ index, function: { arguments: run } }] });
  }
  return list;
}
