import { z } from "zod";
import { ModelName } from "./model-name.ts";
import { wishFields } from "./routing-hints.ts";

/** An explicit null is the same as absent (PARAM-04). */
const optional = <T extends z.ZodType>(schema: T) => schema.nullish();

/** What one request may rank at once, as the formats' own servers have it. */
export const RERANK_DOCUMENTS_MAX = 10_000;

const query = z.string().min(1).describe("What the documents are ranked by.");

const shared = {
  model: ModelName,
  query,
  top_n: optional(z.int().min(1)).describe("Return at most this many results. Default: all."),
  max_tokens_per_doc: optional(z.int().min(1).max(1_000_000)).describe(
    "Documents are cut after this many tokens. Only endpoints that support it are called.",
  ),
  provider: wishFields.provider,
  data_classes: wishFields.data_classes,
  cache: wishFields.cache,
};

const v1Fields = {
  ...shared,
  rank_fields: optional(z.array(z.string().min(1).max(256)).min(1).max(64)).describe(
    "For documents that are objects: the fields that are ranked, in this order. Default: `text`.",
  ),
  return_documents: optional(z.boolean()).describe("Repeat each document in its result. Default: false."),
};

const documents = (item: z.ZodType) =>
  z.array(item).min(1).max(RERANK_DOCUMENTS_MAX).describe("Results refer to documents by their place in this list.");

/** The requests without their documents, which a faster parser reads. */
export const RerankV1Fields = z.strictObject({ ...v1Fields, documents: z.unknown() });
export const RerankV2Fields = z.strictObject({ ...shared, documents: z.unknown() });

export const RerankRequest = z
  .strictObject({
    ...v1Fields,
    documents: documents(z.union([z.string().min(1), z.looseObject({ text: z.string().optional() })])),
  })
  .meta({ id: "RerankRequest" });

export const RerankV2Request = z
  .strictObject({ ...shared, documents: documents(z.string().min(1)) })
  .meta({ id: "RerankV2Request" });

export const Ranking = z
  .looseObject({
    id: z.string(),
    model: z.string(),
    results: z
      .array(
        z.looseObject({
          index: z.int().describe("The document's place in the request."),
          relevance_score: z
            .number()
            .describe("As the provider reports it: scores of different models do not compare."),
          document: z.looseObject({}).optional(),
        }),
      )
      .describe("Most relevant first."),
    meta: z.looseObject({
      api_version: z.looseObject({ version: z.string() }),
      billed_units: z.looseObject({ search_units: z.number().optional() }).optional(),
    }),
    usage: z.looseObject({
      total_tokens: z.int().optional(),
      prompt_tokens: z.int().optional(),
      cost: z.number().optional(),
      currency: z.string().optional(),
    }),
  })
  .meta({ id: "Ranking" });
