import { isJsonObject } from "../../kit/json.ts";
import { decodeProblem } from "../dialects/gemini/upstream/errors.ts";
import { all, members } from "../dialects/reply-members.ts";
import { type EmbeddingWireFormat, tokenCount } from "./wire-format.ts";

const vectorValues = (row: unknown) => (isJsonObject(row) ? row["values"] : undefined);

/** Gemini's batchEmbedContents: one nested request per text. */
export const geminiEmbeddings: EmbeddingWireFormat = {
  auth: "x-goog-api-key",
  batchMax: 100,
  reply: members({
    embeddings: members({ values: "carried" }),
    usageMetadata: members({ promptTokenCount: "carried", promptTokenDetails: "exempt" }),
  }),
  path: (upstreamModel) => `/models/${encodeURIComponent(upstreamModel)}:batchEmbedContents`,
  takesTask: true,
  encode: ({ upstreamModel, inputs, dimensions, task }) => ({
    requests: inputs.texts.map((text) => ({
      model: `models/${upstreamModel}`,
      content: { parts: [{ text }] },
      ...(task?.type === undefined ? {} : { taskType: task.type }),
      ...(task?.title === undefined ? {} : { title: task.title }),
      ...(dimensions === undefined ? {} : { outputDimensionality: dimensions }),
    })),
  }),
  decode(body) {
    if (!isJsonObject(body) || !Array.isArray(body["embeddings"])) return undefined;
    const { usageMetadata } = body;
    const tokens = isJsonObject(usageMetadata) ? tokenCount(usageMetadata["promptTokenCount"]) : undefined;
    return { vectors: body["embeddings"].map(vectorValues), tokens, id: null };
  },
  decodeProblem,
};

/** Vertex `predict`, which reports tokens per text. */
export const vertexEmbeddings: EmbeddingWireFormat = {
  auth: "x-goog-api-key",
  // Newer models accept one text per request.
  batchMax: 1,
  reply: members({
    ...all("exempt", "deployedModelId", "model", "modelDisplayName", "modelVersionId", "metadata"),
    predictions: members({
      embeddings: members({ values: "carried", statistics: members({ token_count: "carried" }) }),
    }),
  }),
  path: (upstreamModel) => `/models/${encodeURIComponent(upstreamModel)}:predict`,
  takesTask: true,
  encode: ({ inputs, dimensions, task }) => ({
    instances: inputs.texts.map((content) => ({
      content,
      ...(task?.type === undefined ? {} : { task_type: task.type }),
      ...(task?.title === undefined ? {} : { title: task.title }),
    })),
    parameters: { autoTruncate: false, ...(dimensions === undefined ? {} : { outputDimensionality: dimensions }) },
  }),
  decode(body) {
    if (!isJsonObject(body) || !Array.isArray(body["predictions"])) return undefined;
    const rows = body["predictions"].map((row: unknown) => (isJsonObject(row) ? row["embeddings"] : undefined));
    let tokens: number | undefined = 0;
    for (const row of rows) {
      const { statistics } = isJsonObject(row) ? row : {};
      const count = isJsonObject(statistics) ? tokenCount(statistics["token_count"]) : undefined;
      tokens = tokens === undefined || count === undefined ? undefined : tokens + count;
    }
    return { vectors: rows.map(vectorValues), tokens, id: null };
  },
  decodeProblem,
};
