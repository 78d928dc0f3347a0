import { z } from "zod";
import { count } from "./fields.ts";

/** The wire formats that embeddings are asked in. */
export const EMBEDDING_INTERFACES = [
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
  tokens: z.boolean().optional().describe("Inputs may be lists of token numbers. Absent: no."),
  dimensions: z.boolean().optional().describe("The length of the vectors can be asked for. Absent: no."),
});

/** How an endpoint is asked for embeddings. */
export type EmbeddingFacts = {
  readonly interface: (typeof EMBEDDING_INTERFACES)[number];
  readonly batchMax: number | null;
  readonly tokens: boolean;
  readonly dimensions: boolean;
};

export function embeddingFactsOf(entry: z.infer<typeof embeddingsEntry>): EmbeddingFacts {
  return {
    interface: entry.interface,
    batchMax: entry.batch_max ?? null,
    tokens: entry.tokens ?? false,
    dimensions: entry.dimensions ?? false,
  };
}
