import { z } from "zod";
import { count } from "./field-schemas.ts";

const EMBEDDING_INTERFACES = [
  "openai",
  "mistral",
  "gemini",
  "vertex",
  "cohere",
  "bedrock_cohere",
  "bedrock_titan",
  "bedrock_nova",
] as const;

export const embeddingsEntry = z.strictObject({
  interface: z.enum(EMBEDDING_INTERFACES),
  batch_max: count.optional().describe("Maximum inputs per request. Absent: as many as callers may send."),
  batch_tokens_max: count.optional().describe("Maximum tokens of all inputs of one request. Absent: no stated limit."),
  tokens: z.boolean().optional().describe("Accepts lists of cl100k_base token ids. Absent: no."),
  dimensions: z.boolean().optional().describe("Supports a requested vector length. Absent: no."),
  base64: z.boolean().optional().describe("Returns base64 vectors if requested. Absent: no."),
  normalize: z
    .boolean()
    .optional()
    .describe("The gateway normalises vectors of a requested length, because the endpoint does not. Absent: no."),
});
export type EmbeddingsEntry = z.infer<typeof embeddingsEntry>;

/** Embedding support of an endpoint. */
export type EmbeddingSupport = {
  readonly interface: (typeof EMBEDDING_INTERFACES)[number];
  readonly batchMax: number | null;
  readonly batchTokensMax: number | null;
  readonly tokens: boolean;
  readonly dimensions: boolean;
  readonly base64: boolean;
  readonly normalize: boolean;
};

export function compileEmbeddingSupport(entry: EmbeddingsEntry): EmbeddingSupport {
  return {
    interface: entry.interface,
    batchMax: entry.batch_max ?? null,
    batchTokensMax: entry.batch_tokens_max ?? null,
    tokens: entry.tokens ?? false,
    dimensions: entry.dimensions ?? false,
    base64: entry.base64 ?? false,
    normalize: entry.normalize ?? false,
  };
}
