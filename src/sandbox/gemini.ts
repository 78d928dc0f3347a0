import { isJsonObject, tryParseJson } from "../kit/json.ts";
import { parseGemini, type SandboxGeminiRequest, signatureOf } from "./gemini-request.ts";
import { countInputTokens, generateReply, type ReplyResult, type SandboxUsage } from "./reply.ts";
import { splitWords } from "./tokens.ts";
import {
  bearerToken,
  type ErrorResponse,
  errorResponse,
  type SimulatedProvider,
  type SimulatedResponse,
  type WireFormat,
} from "./wire-format.ts";

type GeminiReply = Extract<ReplyResult, { is: "reply" }>;
type GeminiPart = Readonly<Record<string, unknown>>;

const PATH = /^\/v1\/models\/([^/:]+):(generateContent|streamGenerateContent|countTokens)$/;

/** Gemini's generateContent, as JSON and as server-sent events, with signed texts and calls. */
export const geminiFormat: WireFormat = {
  method: "POST",
  matches: (path) => PATH.test(path),
  readCredential(headers) {
    const key = headers["x-goog-api-key"];
    return typeof key === "string" && key !== "" ? key : bearerToken(headers);
  },
  parse({ path, query, body }) {
    const [, name = "", method] = PATH.exec(path) ?? [];
    const request = parseGemini(method === "countTokens" ? countedRequest(body) : body);
    if (request.is === "error") return request;
    const model = decodeURIComponent(name);
    if (method === "countTokens") return { is: "accepted", model, respond: () => respondCount(request) };
    const streamed = new URLSearchParams(query).get("alt") === "sse" ? "events" : "list";
    const transport = method === "generateContent" ? "whole" : streamed;
    return { is: "accepted", model, respond: (provider) => respond(request, model, transport, provider) };
  },
  errorBody,
};

/** Contents alone, or a whole request with its model. */
function countedRequest(body: Buffer): Buffer {
  const value = tryParseJson(body);
  const whole = isJsonObject(value) ? value["generateContentRequest"] : undefined;
  if (!isJsonObject(whole)) return body;
  const { model: _, ...request } = whole;
  return Buffer.from(JSON.stringify(request));
}

function respondCount({ prompt }: SandboxGeminiRequest): SimulatedResponse {
  const totalTokens = countInputTokens(prompt);
  const body = JSON.stringify({ totalTokens, promptTokensDetails: [{ modality: "TEXT", tokenCount: totalTokens }] });
  return { is: "body", contentType: "application/json; charset=UTF-8", body, tokens: 1 };
}

const ERROR_STATUSES: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  503: "UNAVAILABLE",
};

function errorBody({ status: code, message }: ErrorResponse): string {
  const status = ERROR_STATUSES[code] ?? (code < 500 ? "INVALID_ARGUMENT" : "INTERNAL");
  return JSON.stringify({ error: { code, message, status } }, undefined, 2);
}

/** `list` is a stream without `alt=sse`: one JSON array. */
type GeminiTransport = "whole" | "events" | "list";

function respond(
  request: SandboxGeminiRequest,
  model: string,
  transport: GeminiTransport,
  provider: SimulatedProvider,
): SimulatedResponse | ErrorResponse {
  const reply = generateReply(request.prompt, provider.slug);
  if (reply.is === "rejected") {
    const what = reply.part === null ? "generation_config.response_json_schema" : `function ${reply.part}`;
    return errorResponse(400, `Invalid schema of ${what}: ${reply.problem}`);
  }
  const head = { modelVersion: model, responseId: provider.nextId("sim") };
  const calls = functionCallParts(reply, provider);
  if (transport === "whole") {
    const parts = [...thoughtParts(reply), ...textParts(reply), ...calls];
    const body = JSON.stringify(
      { ...responseBody(parts, finishReasonOf(reply), encodeUsage(reply.usage)), ...head },
      undefined,
      2,
    );
    return {
      is: "body",
      contentType: "application/json; charset=UTF-8",
      body,
      tokens: streamChunks(reply, calls).length,
    };
  }
  const chunks = streamChunks(reply, calls).map((chunk) => ({ ...chunk, ...head }));
  if (transport === "list")
    return {
      is: "body",
      contentType: "application/json; charset=UTF-8",
      body: JSON.stringify(chunks),
      tokens: chunks.length,
    };
  const frames = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`);
  return { is: "frames", contentType: "text/event-stream", frames };
}

function responseBody(parts: readonly GeminiPart[], finishReason: string | null, usageMetadata: object): object {
  const content = parts.length === 0 ? { role: "model" } : { parts, role: "model" };
  const finish = finishReason === null ? {} : { finishReason };
  return { candidates: [{ content, ...finish, index: 0 }], usageMetadata };
}

function thoughtParts({ reasoning }: GeminiReply): GeminiPart[] {
  return reasoning === null || reasoning === "" ? [] : [{ text: reasoning, thought: true }];
}

function textParts({ content }: GeminiReply): GeminiPart[] {
  if (content.is !== "text" || content.text === "") return [];
  return [{ text: content.text, thoughtSignature: signatureOf({ text: content.text }) }];
}

/** Only the first of parallel calls is signed. */
function functionCallParts({ content }: GeminiReply, provider: SimulatedProvider): GeminiPart[] {
  if (content.is !== "calls") return [];
  return content.calls.map(({ name, argumentsJson }, at) => {
    const functionCall = { id: provider.nextId("sim"), name, args: parseArgs(argumentsJson) };
    return at === 0 ? { functionCall, thoughtSignature: signatureOf({ functionCall }) } : { functionCall };
  });
}

/** Truncated arguments are not valid JSON; the real service then returns empty args. */
function parseArgs(argumentsJson: string): unknown {
  try {
    return JSON.parse(argumentsJson);
  } catch {
    return {};
  }
}

function finishReasonOf({ end }: GeminiReply): string {
  return end === "length" ? "MAX_TOKENS" : "STOP";
}

function encodeUsage({ inputTokens, outputTokens, reasoningTokens }: SandboxUsage): object {
  return {
    promptTokenCount: inputTokens,
    ...(outputTokens > reasoningTokens ? { candidatesTokenCount: outputTokens - reasoningTokens } : {}),
    totalTokenCount: inputTokens + outputTokens,
    promptTokensDetails: [{ modality: "TEXT", tokenCount: inputTokens }],
    ...(reasoningTokens > 0 ? { thoughtsTokenCount: reasoningTokens } : {}),
  };
}

/** One chunk per word or call; the signature of a text comes with the final, empty part. */
function streamChunks(reply: GeminiReply, calls: readonly GeminiPart[]): object[] {
  const { content, reasoning, usage } = reply;
  const text = content.is === "text" ? content.text : "";
  const parts: GeminiPart[] = [
    ...splitWords(reasoning ?? "").map((word) => ({ text: word, thought: true })),
    ...splitWords(text).map((word) => ({ text: word })),
    ...calls,
  ];
  const initialUsage = { promptTokenCount: usage.inputTokens, totalTokenCount: usage.inputTokens };
  const last = text === "" ? { text: "" } : { text: "", thoughtSignature: signatureOf({ text }) };
  return [
    ...parts.map((part) => responseBody([part], null, initialUsage)),
    responseBody([last], finishReasonOf(reply), encodeUsage(usage)),
  ];
}
