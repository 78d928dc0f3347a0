import type { IncomingHttpHeaders } from "node:http";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { decodeProblem as decodePlainProblem } from "../dialects/chat/upstream/errors.ts";
import { decodeProblem } from "../dialects/converse/upstream/errors.ts";
import { countOf, type EmbeddingWire, type WireAnswer, type WireAsk } from "./wire-format.ts";

/** What is embedded here is compared with more of the same: callers of this surface say nothing else. */
const INPUT_TYPE = "search_document";
const TEXTS_MAX = 96;

/** Cohere's own API. */
export const cohereEmbeddings: EmbeddingWire = {
  auth: "bearer",
  batchMax: TEXTS_MAX,
  path: () => "/embed",
  encode: (ask) => ({ model: ask.upstreamModel, embedding_types: ["float"], ...textsOf(ask) }),
  decode: (body) => decodeTyped(body, billedTokens(body)),
  decodeProblem: decodePlainProblem,
};

const COUNT_HEADER = "x-amzn-bedrock-input-token-count";
const invoke = (upstreamModel: string) => `/model/${encodeURIComponent(upstreamModel)}/invoke`;

/** Cohere's models on Bedrock: the count of what was read stands in a header alone. */
export const bedrockCohere: EmbeddingWire = {
  auth: "bearer",
  batchMax: TEXTS_MAX,
  path: invoke,
  encode: textsOf,
  decode: (body, headers) => decodeTyped(body, headerTokens(headers)),
  decodeProblem,
};

/** Amazon's Titan: one text a request. */
export const bedrockTitan: EmbeddingWire = {
  auth: "bearer",
  batchMax: 1,
  path: invoke,
  encode: ({ inputs, dimensions }) => ({
    inputText: inputs.texts[0] ?? "",
    ...(dimensions === undefined ? {} : { dimensions }),
  }),
  decode(body, headers) {
    if (!isJsonObject(body)) return undefined;
    const tokens = countOf(body["inputTextTokenCount"]) ?? headerTokens(headers);
    return { vectors: [body["embedding"]], tokens, id: null };
  },
  decodeProblem,
};

/** Amazon's Nova: one text a request, in an envelope of tasks. */
export const bedrockNova: EmbeddingWire = {
  auth: "bearer",
  batchMax: 1,
  path: invoke,
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

function textsOf({ inputs, dimensions }: WireAsk): JsonObject {
  return {
    texts: inputs.texts,
    input_type: INPUT_TYPE,
    // A text that is too long is refused: a vector of its beginning would look like one of all of it.
    truncate: "NONE",
    ...(dimensions === undefined ? {} : { output_dimension: dimensions }),
  };
}

/** Older models answer with a plain list, newer ones by the type of number. */
function decodeTyped(body: unknown, tokens: number | undefined): WireAnswer | undefined {
  if (!isJsonObject(body)) return undefined;
  const { embeddings, id } = body;
  const vectors: unknown = isJsonObject(embeddings) ? embeddings["float"] : embeddings;
  return Array.isArray(vectors) ? { vectors, tokens, id: typeof id === "string" ? id : null } : undefined;
}

function billedTokens(body: unknown): number | undefined {
  const meta = isJsonObject(body) ? body["meta"] : undefined;
  const billed = isJsonObject(meta) ? meta["billed_units"] : undefined;
  return isJsonObject(billed) ? countOf(billed["input_tokens"]) : undefined;
}

function headerTokens(headers: IncomingHttpHeaders): number | undefined {
  return countOf(headers[COUNT_HEADER]);
}
