import { z } from "zod";
import { count } from "./field-schemas.ts";

const RERANK_INTERFACES = ["cohere", "bedrock_cohere", "jina", "voyage", "vllm", "tei"] as const;

export const rerankEntry = z.strictObject({
  interface: z.enum(RERANK_INTERFACES),
  documents_max: count.optional().describe("Maximum documents per request. Absent: no stated limit."),
  batch_max: count
    .optional()
    .describe(
      "Above this, documents are split over several requests. Only for models that score each document alone. Absent: never.",
    ),
});
export type RerankEntry = z.infer<typeof rerankEntry>;

/** Rerank support of an endpoint. */
export type RerankSupport = {
  readonly interface: (typeof RERANK_INTERFACES)[number];
  readonly documentsMax: number | null;
  readonly batchMax: number | null;
};

export function compileRerankSupport(entry: RerankEntry): RerankSupport {
  return {
    interface: entry.interface,
    documentsMax: entry.documents_max ?? null,
    batchMax: entry.batch_max ?? null,
  };
}
