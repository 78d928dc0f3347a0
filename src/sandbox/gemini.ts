import { type Answer, answerTo, type Usage } from "./answer.ts";
import { type GeminiAsked, readGemini, sealOf } from "./gemini-request.ts";
import { wordsOf } from "./tokens.ts";
import { bearerOf, type Delivery, type Desk, type Refusal, refusal, type WireFormat } from "./wire.ts";

type Given = Extract<Answer, { is: "answer" }>;
type Part = Readonly<Record<string, unknown>>;

const PATH = /^\/v1\/models\/([^/:]+):(generateContent|streamGenerateContent)$/;

/** Gemini's generateContent, as JSON and as server-sent events; its calls and texts are sealed. */
export const geminiFormat: WireFormat = {
  method: "POST",
  claims: (path) => PATH.test(path),
  tokenOf(headers) {
    const key = headers["x-goog-api-key"];
    return typeof key === "string" && key !== "" ? key : bearerOf(headers);
  },
  open({ path, query, body }) {
    const [, name = "", method] = PATH.exec(path) ?? [];
    const asked = readGemini(body);
    if (asked.is === "refusal") return asked;
    const model = decodeURIComponent(name);
    const streamed = new URLSearchParams(query).get("alt") === "sse" ? "events" : "list";
    const form = method === "generateContent" ? "whole" : streamed;
    return { is: "opened", model, deliver: (desk) => deliver(asked, model, form, desk) };
  },
  refusalBody,
};

const STATUSES: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  503: "UNAVAILABLE",
};

function refusalBody({ status: code, message }: Refusal): string {
  const status = STATUSES[code] ?? (code < 500 ? "INVALID_ARGUMENT" : "INTERNAL");
  return JSON.stringify({ error: { code, message, status } }, undefined, 2);
}

/** `list` is what a stream is without `alt=sse`: one JSON array. */
type Form = "whole" | "events" | "list";

function deliver(asked: GeminiAsked, model: string, form: Form, desk: Desk): Delivery | Refusal {
  const answer = answerTo(asked.prompt, desk.provider);
  if (answer.is === "refused") {
    const what = answer.part === null ? "generation_config.response_json_schema" : `function ${answer.part}`;
    return refusal(400, `Invalid schema of ${what}: ${answer.problem}`);
  }
  const head = { modelVersion: model, responseId: desk.nextId("sim") };
  const calls = callsOf(answer, desk);
  if (form === "whole") {
    const parts = [...thoughtsOf(answer), ...textsOf(answer), ...calls];
    const body = JSON.stringify({ ...bodyOf(parts, endOf(answer), wireUsage(answer.usage)), ...head }, undefined, 2);
    return {
      is: "whole",
      contentType: "application/json; charset=UTF-8",
      body,
      tokens: chunksOf(answer, calls).length,
    };
  }
  const chunks = chunksOf(answer, calls).map((chunk) => ({ ...chunk, ...head }));
  if (form === "list")
    return {
      is: "whole",
      contentType: "application/json; charset=UTF-8",
      body: JSON.stringify(chunks),
      tokens: chunks.length,
    };
  const frames = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`);
  return { is: "frames", contentType: "text/event-stream", frames };
}

function bodyOf(parts: readonly Part[], finishReason: string | null, usageMetadata: object): object {
  const content = parts.length === 0 ? { role: "model" } : { parts, role: "model" };
  const finish = finishReason === null ? {} : { finishReason };
  return { candidates: [{ content, ...finish, index: 0 }], usageMetadata };
}

function thoughtsOf({ reasoning }: Given): Part[] {
  return reasoning === null || reasoning === "" ? [] : [{ text: reasoning, thought: true }];
}

function textsOf({ content }: Given): Part[] {
  if (content.is !== "text" || content.text === "") return [];
  return [{ text: content.text, thoughtSignature: sealOf({ text: content.text }) }];
}

/** Of parallel calls only the first one is signed. */
function callsOf({ content }: Given, desk: Desk): Part[] {
  if (content.is !== "calls") return [];
  return content.calls.map(({ name, argumentsJson }, at) => {
    const functionCall = { id: desk.nextId("sim"), name, args: argsOf(argumentsJson) };
    return at === 0 ? { functionCall, thoughtSignature: sealOf({ functionCall }) } : { functionCall };
  });
}

/** Arguments that were cut off at the limit are no JSON any more; a real answer has none then. */
function argsOf(argumentsJson: string): unknown {
  try {
    return JSON.parse(argumentsJson);
  } catch {
    return {};
  }
}

function endOf({ end }: Given): string {
  return end === "length" ? "MAX_TOKENS" : "STOP";
}

function wireUsage({ inputTokens, outputTokens, reasoningTokens }: Usage): object {
  return {
    promptTokenCount: inputTokens,
    ...(outputTokens > reasoningTokens ? { candidatesTokenCount: outputTokens - reasoningTokens } : {}),
    totalTokenCount: inputTokens + outputTokens,
    promptTokensDetails: [{ modality: "TEXT", tokenCount: inputTokens }],
    ...(reasoningTokens > 0 ? { thoughtsTokenCount: reasoningTokens } : {}),
  };
}

/** A chunk for every word or call; the seal of a text comes on an empty part, with the end. */
function chunksOf(answer: Given, calls: readonly Part[]): object[] {
  const { content, reasoning, usage } = answer;
  const text = content.is === "text" ? content.text : "";
  const parts: Part[] = [
    ...wordsOf(reasoning ?? "").map((word) => ({ text: word, thought: true })),
    ...wordsOf(text).map((word) => ({ text: word })),
    ...calls,
  ];
  const early = { promptTokenCount: usage.inputTokens, totalTokenCount: usage.inputTokens };
  const last = text === "" ? { text: "" } : { text: "", thoughtSignature: sealOf({ text }) };
  return [...parts.map((part) => bodyOf([part], null, early)), bodyOf([last], endOf(answer), wireUsage(usage))];
}
