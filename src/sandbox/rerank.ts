import { type JsonObject, tryParseJsonObject } from "../kit/json.ts";
import { openAiErrorBody } from "./chat.ts";
import { countTokens } from "./tokens.ts";
import {
  bearerToken,
  type ErrorResponse,
  errorResponse,
  type SimulatedResponse,
  type WireFormat,
} from "./wire-format.ts";

const NAMES = {
  "sandbox-us": { limit: "top_n", known: ["model", "query", "documents", "top_n", "max_tokens_per_doc"] },
  "sandbox-de": { limit: "top_n", known: ["model", "query", "documents", "top_n", "return_documents"] },
  "sandbox-fr": { limit: "top_k", known: ["model", "query", "documents", "top_k", "return_documents", "truncation"] },
} as const;

/** Reranking in Cohere's format, Jina's at `sandbox-de` and Voyage's at `sandbox-fr`. */
export const rerankFormat: WireFormat = {
  method: "POST",
  matches: (path) => path === "/v1/rerank",
  readCredential: bearerToken,
  parse({ body }) {
    const value = tryParseJsonObject(body);
    if (value === undefined) return errorResponse(400, "The request body must be a JSON object.");
    const { model } = value;
    if (typeof model !== "string") return errorResponse(400, "model is required", { param: "model" });
    return { is: "accepted", model, respond: ({ slug, nextId }) => ranking(value, model, slug, nextId) };
  },
  errorBody: openAiErrorBody,
};

function ranking(
  value: JsonObject,
  model: string,
  slug: string,
  nextId: (prefix: string) => string,
): SimulatedResponse | ErrorResponse {
  const names = slug === "sandbox-de" || slug === "sandbox-fr" ? NAMES[slug] : NAMES["sandbox-us"];
  const unknownField = Object.keys(value).find((key) => !names.known.some((item) => item === key));
  if (unknownField !== undefined) return errorResponse(400, `unknown field: ${unknownField}`, { param: unknownField });
  const { query, documents } = value;
  if (typeof query !== "string" || query === "")
    return errorResponse(400, "query must be a string", { param: "query" });
  const texts = Array.isArray(documents) ? documents.filter((item) => typeof item === "string") : [];
  if (!Array.isArray(documents) || texts.length === 0 || texts.length !== documents.length)
    return errorResponse(400, "documents must be strings", { param: "documents" });
  const limit = value[names.limit] ?? texts.length;
  if (typeof limit !== "number" || limit < 1) return errorResponse(400, `${names.limit} must be at least 1`);
  const ranked = texts
    .map((text, index) => ({ index, relevance_score: similarity(query, text) }))
    .toSorted((a, b) => b.relevance_score - a.relevance_score)
    .slice(0, limit);
  const tokens = texts.reduce((sum, text) => sum + countTokens(query) + countTokens(text), 0);
  const body = bodyOf(slug, { ranked, tokens, model, id: nextId("rank"), documents: texts.length });
  return { is: "body", contentType: "application/json", body: JSON.stringify(body), tokens: 1 };
}

type RankedDocuments = {
  readonly ranked: readonly object[];
  readonly tokens: number;
  readonly model: string;
  readonly id: string;
  readonly documents: number;
};

function bodyOf(slug: string, { ranked, tokens, model, id, documents }: RankedDocuments): JsonObject {
  if (slug === "sandbox-de") return { model, usage: { total_tokens: tokens, prompt_tokens: tokens }, results: ranked };
  if (slug === "sandbox-fr") return { object: "list", data: ranked, model, usage: { total_tokens: tokens } };
  const billed_units = { search_units: Math.ceil(documents / 100) };
  return { id, results: ranked, meta: { api_version: { version: "2" }, billed_units } };
}

const wordsIn = (text: string) => new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);

/** The share of the query's words that a document has, a little less for longer documents. */
function similarity(query: string, document: string): number {
  const wanted = wordsIn(query);
  const found = wordsIn(document);
  if (wanted.size === 0) return 0;
  const shared = [...wanted].filter((word) => found.has(word) || [...found].some((other) => isVariant(word, other)));
  return Math.round((1e6 * shared.length) / wanted.size / (1 + found.size / 1000)) / 1e6;
}

/** `bark` and `barks`. */
function isVariant(word: string, other: string): boolean {
  const [short, long] = word.length < other.length ? [word, other] : [other, word];
  return short.length > 3 && long.startsWith(short) && long.length - short.length <= 3;
}
