import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { decodeProblem } from "../dialects/chat/upstream/errors.ts";
import { all, type MemberRule, members } from "../dialects/reply-members.ts";
import type { EmbeddingInputs } from "./call.ts";
import { type EmbeddingReply, type EmbeddingWireFormat, type EmbeddingWireRequest, tokenCount } from "./wire-format.ts";

const REPLY: MemberRule = members({
  ...all("exempt", "id", "object", "created", "model", "system_fingerprint"),
  data: members({ ...all("carried", "embedding", "index"), object: "exempt" }),
  // Embeddings have no output, so the total is the input.
  usage: members({ prompt_tokens: "carried", total_tokens: "exempt" }),
});

/** OpenAI's format. */
export const openaiEmbeddings: EmbeddingWireFormat = {
  auth: "bearer",
  batchMax: null,
  reply: REPLY,
  path: () => "/embeddings",
  encode: ({ upstreamModel, inputs, dimensions, encoding, user }) => ({
    model: upstreamModel,
    input: encodeInput(inputs),
    // Floats are the default everywhere, and some servers reject an explicit `float`.
    ...(encoding === "base64" ? { encoding_format: encoding } : {}),
    ...(dimensions === undefined ? {} : { dimensions }),
    ...(user === undefined ? {} : { user }),
  }),
  decode: decodeEmbeddingList,
  decodeProblem,
};

/** Mistral's format: OpenAI's with another name for the dimensions, and floats only. */
export const mistralEmbeddings: EmbeddingWireFormat = {
  ...openaiEmbeddings,
  encode: ({ upstreamModel, inputs, dimensions }: EmbeddingWireRequest): JsonObject => ({
    model: upstreamModel,
    input: inputs.texts,
    ...(dimensions === undefined ? {} : { output_dimension: dimensions }),
  }),
};

function encodeInput(inputs: EmbeddingInputs): unknown {
  const all = inputs.is === "texts" ? inputs.texts : inputs.lists;
  return all.length === 1 ? all[0] : all;
}

/** Rows are ordered by `index`, not by position. */
function decodeEmbeddingList(body: unknown): EmbeddingReply | undefined {
  if (!isJsonObject(body) || !Array.isArray(body["data"])) return undefined;
  const rows: unknown[] = body["data"];
  const vectors: unknown[] = [];
  for (const [position, row] of rows.entries()) {
    if (!isJsonObject(row)) return undefined;
    const index = row["index"] ?? position;
    if (typeof index !== "number" || !Number.isInteger(index) || index < 0 || index >= rows.length) return undefined;
    if (vectors[index] !== undefined) return undefined;
    vectors[index] = row["embedding"];
  }
  const { id, usage } = body;
  const tokens = isJsonObject(usage)
    ? (tokenCount(usage["prompt_tokens"]) ?? tokenCount(usage["total_tokens"]))
    : undefined;
  return { vectors, tokens, id: typeof id === "string" ? id : null };
}
