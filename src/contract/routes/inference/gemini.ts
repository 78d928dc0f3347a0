import { z } from "zod";
import type { FaultCode } from "../../faults.ts";
import type { Route } from "../../route.ts";
import {
  BatchEmbedContentsRequest,
  BatchEmbedContentsResponse,
  EmbedContentRequest,
  EmbedContentResponse,
  GeminiCountRequest,
  GeminiModel,
  GeminiModelList,
  GeminiModelsQuery,
  GeminiTokenCount,
  GenerateContentRequest,
  GenerateContentResponse,
} from "../../schemas/gemini.ts";
import { CallHeaders } from "../../schemas/idempotency.ts";
import { CHARGED_FAULTS, CHAT_FAULTS } from "./faults.ts";

const MODEL = "/v1beta/models/{model+}";

const HELLO = { contents: [{ role: "user", parts: [{ text: "Hello!" }] }] };
const ANSWER = {
  candidates: [{ content: { parts: [{ text: "Hello to you." }], role: "model" }, finishReason: "STOP", index: 0 }],
  usageMetadata: {
    promptTokenCount: 6,
    candidatesTokenCount: 5,
    totalTokenCount: 11,
    cost: 0.0000021,
    currency: "EUR",
  },
  modelVersion: "sandbox/chat",
  responseId: "req_0198f3c2a7b47d1e8f00a1b2c3d4e5f6",
};

const MODEL_EXAMPLE = {
  name: "models/sandbox/chat",
  version: "2026-11-15",
  displayName: "Sandbox Chat",
  description: "A simulated model.",
  inputTokenLimit: 32768,
  outputTokenLimit: 4096,
  supportedGenerationMethods: ["generateContent", "streamGenerateContent", "countTokens"],
};

type GeminiRouteSpec = Pick<Route, "id" | "method" | "path" | "access" | "intake" | "summary" | "answer"> &
  Partial<Route>;

/** What all operations of the dialect share: its errors, and the switch. */
function gemini({ faults = [], ...spec }: GeminiRouteSpec): Route {
  return {
    counted: true,
    switchedBy: "gemini",
    tag: "Gemini",
    errors: "gemini",
    faults: [...faults, "gemini_not_enabled"],
    ...spec,
  };
}

/** What counting cannot run into, because it costs nothing. */
const OF_MONEY: readonly FaultCode[] = ["insufficient_credits", "spend_limit_reached"];

const CHAT = { by: "key", scope: "inference:chat" } as const;
const MODELS = { by: "key", scope: "inference:models" } as const;
const EMBEDDINGS = { by: "key", scope: "inference:embeddings" } as const;

/** Google's API: errors have its shape too. */
export const GEMINI_ROUTES: readonly Route[] = [
  gemini({
    id: "listGeminiModels",
    method: "GET",
    path: "/v1beta/models",
    access: MODELS,
    intake: "none",
    summary: "List models in Google's format",
    description: "The models that the key can use in this dialect, with the operations that serve each of them.",
    query: GeminiModelsQuery,
    answer: { is: "json", status: 200, schema: GeminiModelList, tagged: true },
    compressed: true,
    example: { answer: { models: [MODEL_EXAMPLE] } },
  }),
  gemini({
    id: "getGeminiModel",
    method: "GET",
    path: MODEL,
    access: MODELS,
    intake: "none",
    summary: "Show a model in Google's format",
    answer: { is: "json", status: 200, schema: GeminiModel, tagged: true },
    compressed: true,
    faults: ["model_not_found", "model_not_permitted"],
    example: { answer: MODEL_EXAMPLE },
  }),
  gemini({
    id: "generateContent",
    method: "POST",
    path: `${MODEL}:generateContent`,
    access: CHAT,
    intake: "json",
    summary: "Generate content",
    description:
      "The Gemini dialect. Clients of this dialect use the base URL without `/v1beta`. Gemini models receive the body unchanged; every other chat model responds in the same format. `model` is a catalogue id, `auto`, or `@workspace/router`; slashes in it may be sent as they are or encoded. Fields may be in camel case or snake case. The key is sent as `Authorization: Bearer`, `x-api-key`, `x-goog-api-key` or, on these paths only, as the query parameter `key`; the first of them counts.",
    headers: CallHeaders,
    body: GenerateContentRequest,
    servingHeaders: "chat",
    answer: { is: "json", status: 200, schema: GenerateContentResponse },
    faults: [...CHAT_FAULTS, ...CHARGED_FAULTS],
    example: { body: HELLO, answer: ANSWER },
  }),
  gemini({
    id: "streamGenerateContent",
    method: "POST",
    path: `${MODEL}:streamGenerateContent`,
    access: CHAT,
    intake: "json",
    summary: "Stream generated content",
    description:
      "Like `generateContent`, in pieces that are whole answers: with `alt=sse` as server-sent events that end without a marker, otherwise as one JSON array. The last answer has the finish reason and the usage. An error after the first byte is a bare `error` object, after which the connection is cut; in an array it is the last element.",
    query: z.object({
      alt: z.string().optional().describe("`sse` for server-sent events; otherwise the response is a JSON array."),
    }),
    headers: CallHeaders,
    body: GenerateContentRequest,
    servingHeaders: "chat",
    answer: { is: "json_or_events", schema: z.array(GenerateContentResponse), frame: GenerateContentResponse },
    faults: [...CHAT_FAULTS, ...CHARGED_FAULTS],
    example: { body: HELLO, answer: [ANSWER] },
  }),
  gemini({
    id: "geminiCountTokens",
    method: "POST",
    path: `${MODEL}:countTokens`,
    access: CHAT,
    intake: "json",
    summary: "Count the tokens of a generateContent request",
    description:
      "Accepts `contents`, or a whole request as `generateContentRequest`. For Gemini models the provider counts. For all others, and if the provider cannot count, the gateway estimates with a tokenizer that is not the model's own (o200k); images and documents count as a fixed number of tokens. Free of charge.",
    body: GeminiCountRequest,
    servingHeaders: "count",
    answer: { is: "json", status: 200, schema: GeminiTokenCount },
    faults: CHAT_FAULTS.filter((code) => !OF_MONEY.includes(code)),
    example: { body: HELLO, answer: { totalTokens: 6 } },
  }),
  gemini({
    id: "embedContent",
    method: "POST",
    path: `${MODEL}:embedContent`,
    access: EMBEDDINGS,
    intake: "json",
    summary: "Embed a text",
    description: "One vector for one text, over every embeddings model. Several parts are one text.",
    headers: CallHeaders,
    body: EmbedContentRequest,
    servingHeaders: "embeddings",
    answer: { is: "json", status: 200, schema: EmbedContentResponse },
    faults: [...CHAT_FAULTS, "router_not_supported", ...CHARGED_FAULTS],
    example: {
      body: { content: { parts: [{ text: "The first text" }] } },
      answer: {
        embedding: { values: [0.5, -0.5] },
        usageMetadata: { promptTokenCount: 4, cost: 0.00000004, currency: "EUR" },
      },
    },
  }),
  gemini({
    id: "batchEmbedContents",
    method: "POST",
    path: `${MODEL}:batchEmbedContents`,
    access: EMBEDDINGS,
    intake: "json",
    summary: "Embed several texts",
    description:
      "One vector per request, in their order. All requests have the same `taskType`, `title` and `outputDimensionality`. If there are more than an endpoint accepts at once, the gateway splits them; the response is complete or an error.",
    headers: CallHeaders,
    body: BatchEmbedContentsRequest,
    servingHeaders: "embeddings",
    answer: { is: "json", status: 200, schema: BatchEmbedContentsResponse },
    faults: [...CHAT_FAULTS, "router_not_supported", ...CHARGED_FAULTS],
    example: {
      body: { requests: [{ content: { parts: [{ text: "The first text" }] } }] },
      answer: {
        embeddings: [{ values: [0.5, -0.5] }],
        usageMetadata: { promptTokenCount: 4, cost: 0.00000004, currency: "EUR" },
      },
    },
  }),
];
