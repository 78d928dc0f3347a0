import type { IncomingHttpHeaders } from "node:http";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { decodeProblem as decodeCohereProblem } from "../dialects/chat/upstream/errors.ts";
import { decodeProblem } from "../dialects/converse/upstream/errors.ts";
import { all, type MemberRule, members } from "../dialects/reply-members.ts";
import { type EmbeddingReply, type EmbeddingWireFormat, type EmbeddingWireRequest, tokenCount } from "./wire-format.ts";

/** Callers cannot state an input type, so both sides of a comparison use the same one. */
const INPUT_TYPE = "search_document";
const BATCH_MAX_TEXTS = 96;

const COHERE_REPLY: MemberRule = members({
  // `texts` echoes the request.
  ...all("exempt", "id", "texts", "response_type"),
  embeddings: "carried",
  meta: members({ api_version: "exempt", tokens: "exempt", billed_units: members({ input_tokens: "carried" }) }),
});

/** Cohere's own API. */
export const cohereEmbeddings: EmbeddingWireFormat = {
  auth: "bearer",
  batchMax: BATCH_MAX_TEXTS,
  reply: COHERE_REPLY,
  path: () => "/embed",
  encode: (batch) => ({ model: batch.upstreamModel, embedding_types: ["float"], ...encodeTexts(batch) }),
  decode: (body) => decodeEmbeddings(body, billedTokens(body)),
  decodeProblem: decodeCohereProblem,
};

const TOKEN_COUNT_HEADER = "x-amzn-bedrock-input-token-count";
const invokePath = (upstreamModel: string) => `/model/${encodeURIComponent(upstreamModel)}/invoke`;

/** Cohere on Bedrock, where the token count is in a header only. */
export const bedrockCohere: EmbeddingWireFormat = {
  auth: "bearer",
  batchMax: BATCH_MAX_TEXTS,
  reply: COHERE_REPLY,
  path: invokePath,
  encode: encodeTexts,
  decode: (body, headers) => decodeEmbeddings(body, headerTokens(headers)),
  decodeProblem,
};

/** Amazon Titan: one text per request. */
export const bedrockTitan: EmbeddingWireFormat = {
  auth: "bearer",
  batchMax: 1,
  reply: members({
    ...all("carried", "embedding", "inputTextTokenCount"),
    embeddingsByType: members({ float: "exempt" }),
  }),
  path: invokePath,
  encode: ({ inputs, dimensions }) => ({
    inputText: inputs.texts[0] ?? "",
    ...(dimensions === undefined ? {} : { dimensions }),
  }),
  decode(body, headers) {
    if (!isJsonObject(body)) return undefined;
    const tokens = tokenCount(body["inputTextTokenCount"]) ?? headerTokens(headers);
    return { vectors: [body["embedding"]], tokens, id: null };
  },
  decodeProblem,
};

/** Amazon Nova: one text per request, in a task envelope. */
export const bedrockNova: EmbeddingWireFormat = {
  auth: "bearer",
  batchMax: 1,
  reply: members({ embeddings: members({ embedding: "carried", embeddingType: "exempt" }) }),
  path: invokePath,
  encode: ({ inputs, dimensions }) => ({
    schemaVersion: "nova-multimodal-embed-v1",
    taskType: "SINGLE_EMBEDDING",
    singleEmbeddingParams: {
      embeddingPurpose: "GENERIC_INDEX",
      ...(dimensions === undefined ? {} : { embeddingDimension: dimensions }),
      text: { truncationMode: "NONE", value: inputs.texts[0] ?? "" },
    },
  }),
  decode(body, headers) {
    if (!isJsonObject(body) || !Array.isArray(body["embeddings"])) return undefined;
    const vectors = body["embeddings"].map((row: unknown) => (isJsonObject(row) ? row["embedding"] : undefined));
    return { vectors, tokens: headerTokens(headers), id: null };
  },
  decodeProblem,
};

function encodeTexts({ inputs, dimensions }: EmbeddingWireRequest): JsonObject {
  return {
    texts: inputs.texts,
    input_type: INPUT_TYPE,
    // Overlong texts are rejected: a vector of a truncated text would look complete.
    truncate: "NONE",
    ...(dimensions === undefined ? {} : { output_dimension: dimensions }),
  };
}

/** Older models return a list, newer ones an object by number type. */
function decodeEmbeddings(body: unknown, tokens: number | undefined): EmbeddingReply | undefined {
  if (!isJsonObject(body)) return undefined;
  const { embeddings, id } = body;
  const vectors: unknown = isJsonObject(embeddings) ? embeddings["float"] : embeddings;
  return Array.isArray(vectors) ? { vectors, tokens, id: typeof id === "string" ? id : null } : undefined;
}

function billedTokens(body: unknown): number | undefined {
  const meta = isJsonObject(body) ? body["meta"] : undefined;
  const billed = isJsonObject(meta) ? meta["billed_units"] : undefined;
  return isJsonObject(billed) ? tokenCount(billed["input_tokens"]) : undefined;
}

function headerTokens(headers: IncomingHttpHeaders): number | undefined {
  return tokenCount(headers[TOKEN_COUNT_HEADER]);
}
