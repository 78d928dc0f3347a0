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
  batch_max: count.optional().describe("How many inputs one request takes. Absent: as many as callers may send."),
  batch_tokens_max: count
    .optional()
    .describe("How many tokens the inputs of one request may have together. Absent: none is stated."),
  tokens: z.boolean().optional().describe("Inputs may be lists of token numbers of cl100k_base. Absent: no."),
  dimensions: z.boolean().optional().describe("The length of the vectors can be asked for. Absent: no."),
  base64: z.boolean().optional().describe("Vectors come as base64 when that is asked for. Absent: no."),
  normalize: z
    .boolean()
    .optional()
    .describe(
      "Vectors of a length that was asked for are brought to length one here, because it does not. Absent: no.",
    ),
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
