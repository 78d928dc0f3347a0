import { z } from "zod";
import { SURFACES } from "../../contract/surfaces.ts";
import { EFFORTS } from "../../language/canon/call.ts";
import { EXTRAS } from "../../language/canon/extras.ts";
import { QUIRKS } from "../../language/canon/quirks.ts";
import { REASONING_CONTROLS } from "../../language/canon/reasoning-control.ts";
import { DIALECTS } from "./catalogue.ts";
import { DECISION_INTERFACES, decisionsEntry } from "./decisions-support.ts";
import { embeddingsEntry } from "./embeddings-support.ts";
import { evidenceEntry, priceEvidenceEntry } from "./evidence-schema.ts";
import {
  amount,
  count,
  country,
  currencyCode,
  day,
  dayOrMonth,
  level,
  modelAlias,
  modelId,
  priceFields,
  settingSlug,
  slug,
  text,
  tokenPriceFields,
  webAddress,
  yesNo,
} from "./field-schemas.ts";
import { imagesEntry } from "./images-support.ts";
import { moderationsEntry } from "./moderations-support.ts";
import { rerankEntry } from "./rerank-support.ts";
import { speechEntry } from "./speech-support.ts";
import { transcriptionsEntry } from "./transcriptions-support.ts";

/**
 * Schemas of the operator-edited files. An absent field is unknown and never zero: an endpoint without a price is
 * listed but not callable. The JSON Schemas beside the data are generated from here.
 */
const tier = z.strictObject({
  above_input_tokens: count.describe("The row applies to requests with more input tokens than this."),
  ...tokenPriceFields,
});

const extra = z.union([
  z.strictObject({
    per_use: amount.describe("Price per reported use."),
    uses_max: count.describe("Uses to hold for if the request states no number."),
    source: text.describe("Source of the price."),
  }),
  z.strictObject({
    times: amount.describe("Multiplier of all token prices; 1: no surcharge."),
    source: text.describe("Source of the price."),
  }),
]);

const priceRow = z.strictObject({
  from: day.optional().describe("First day (UTC) on which the row applies. Absent: from the beginning."),
  currency: currencyCode.describe("A code of currencies.json."),
  ...priceFields,
  image_prices: z
    .array(z.strictObject({ size: text.optional(), quality: text.optional(), per_image: amount }))
    .min(1)
    .optional()
    .describe("Prices per image by size and quality; the first row that fits applies. Absent members fit all."),
  free: z.literal(true).optional().describe("Free of charge: every price of the row is 0."),
  tiers: z.array(tier).optional().describe("Prices for long requests, smallest threshold first."),
  extras: z
    .partialRecord(z.enum(EXTRAS), extra)
    .optional()
    .describe("Separately billed extras, in the row's currency. A request for an absent extra is refused."),
  evidence: priceEvidenceEntry.optional().describe("Source of the prices."),
});

const efforts = z.array(z.enum(EFFORTS).exclude(["none"])).min(1, "must name at least one word");

const alternative = z.strictObject({ currency: currencyCode, ...priceFields, source: text.optional() });

const endpoint = z.strictObject({
  model: modelId.describe("A model of the creators' files."),
  region: slug.describe("A region of this provider."),
  upstream_model: text.describe("The name the provider knows the model by."),
  surfaces: z.array(z.enum(SURFACES)).min(1, "must name at least one surface"),
  status: z.enum(["active", "preview", "deprecated", "retired"]).optional().describe("Absent: active."),
  availability: z.enum(["listed", "unverified"]).optional().describe("Absent: listed."),
  base_url: webAddress.nullable().optional().describe("Absent: the region's. null: unknown for this endpoint."),
  dialects: z
    .array(z.enum(DIALECTS))
    .optional()
    .describe(
      "Absent: the provider's, if the endpoint serves chat. Empty with responses_api: only the responses dialect.",
    ),
  responses_api: z.boolean().optional().describe("Absent: the provider's, when the endpoint serves chat."),
  decisions_interface: z.enum(DECISION_INTERFACES).optional().describe("The wire format for decisions."),
  decisions: decisionsEntry.optional().describe("Decision support. Absent: the provider's."),
  embeddings: embeddingsEntry.optional().describe("Embedding support. Absent: the provider's."),
  images: imagesEntry.optional().describe("Image support. Absent: the provider's."),
  moderations: moderationsEntry.optional().describe("Moderation support. Absent: the provider's."),
  rerank: rerankEntry.optional().describe("Rerank support. Absent: the provider's."),
  speech: speechEntry.optional().describe("Speech support. Absent: the provider's."),
  transcriptions: transcriptionsEntry.optional().describe("Transcription support. Absent: the provider's."),
  level: level.optional().describe("Only where it differs from the region's; with level_reason."),
  level_reason: text.optional(),
  countries: z.array(country).optional().describe("Only where they differ from the region's."),
  countries_kind: z.enum(["exact", "upper_bound", "unknown"]).optional(),
  zero_data_retention: z.enum(["yes", "no", "on_request", "unknown"]).optional(),
  trains_on_data: yesNo.optional(),
  evidence: z.array(evidenceEntry).optional().describe("Statements about this endpoint alone."),
  prices: z.array(priceRow).optional().describe("One row, or several with dates. Absent: unknown, so not callable."),
  price_alternatives: z.array(alternative).optional().describe("The same list in another currency. Never billed."),
  limits: z
    .strictObject({
      context_tokens: count.optional(),
      max_input_tokens: count.optional(),
      max_output_tokens: count.optional(),
      requests_per_minute: count.optional(),
      tokens_per_minute: count.optional(),
    })
    .optional(),
  features: z
    .strictObject({
      tools: z.boolean().optional(),
      parallel_tools: z.boolean().optional(),
      json_schema: z.boolean().optional(),
      reasoning: z.boolean().optional(),
      reasoning_control: z.boolean().optional(),
      sampling: z.boolean().optional(),
      image_input: z.boolean().optional(),
      prompt_caching: z.boolean().optional(),
      logprobs: z.boolean().optional(),
      forced_tools: z.boolean().optional().describe("false: tool_choice can be auto or none only."),
    })
    .optional(),
  thinking: z
    .enum(REASONING_CONTROLS)
    .optional()
    .describe("How reasoning is requested. Absent: the dialect's default."),
  efforts: efforts.optional().describe("Supported values of reasoning_effort. Absent: the model's."),
  structured_output: z
    .enum(["native", "tool"])
    .optional()
    .describe("How a JSON schema is enforced: by the dialect's own field, or by a forced tool. Absent: native."),
  quirks: z.array(z.enum(QUIRKS)).optional().describe("Named deviations of the model, beside the provider's."),
  anthropic_betas: z
    .array(text)
    .optional()
    .describe("Supported betas of the messages dialect; others are dropped. Absent: the provider's list."),
  supported_params: z.array(text).optional().describe("Parameter names that the provider documents."),
});

const region = z.strictObject({
  id: settingSlug,
  name: text,
  base_url: webAddress.optional().describe("{placeholder} stands for the operator's own account. Absent: unknown."),
  countries: z.array(country).describe("Where requests are computed. Empty: unknown."),
  countries_kind: z
    .enum(["exact", "upper_bound", "unknown"])
    .optional()
    .describe("upper_bound: an area is promised, not single countries. Absent: unknown."),
  location_committed: z.boolean().optional().describe("The provider documents that it computes nowhere else."),
  level: level.optional().describe("Absent: UNCLASSIFIED."),
  level_reason: text.optional().describe("Why this level and not the next one. Needed with a level."),
  level_if_ch_accepted: level.optional(),
  level_primary_evidence_only: level.optional(),
  evidence: z.array(evidenceEntry).optional().describe("Statements about all endpoints of the region."),
});

export const ProviderFile = z.strictObject({
  $schema: z.string().optional(),
  slug: settingSlug.describe("Also the file's name. PROVIDER_<SLUG>_API_KEY connects it."),
  name: text,
  operator: text.describe("The legal entity that runs it."),
  seat_country: country.optional(),
  owner_country: country.optional(),
  eea_operated: z.boolean().describe("The operator's own seat is in the EEA."),
  owner_eea: yesNo.optional(),
  infrastructure_eea_controlled: yesNo.optional(),
  ownership: text.optional(),
  certifications: z.array(text).optional(),
  zero_data_retention: z.enum(["yes", "no", "on_request", "unknown"]).optional(),
  trains_on_data: yesNo.optional(),
  data_residency: text.optional(),
  currency: currencyCode.describe("The currency the provider bills in."),
  dialects: z
    .array(z.enum(DIALECTS))
    .optional()
    .describe(
      "Dialects of its chat endpoints, preferred first: D1 chat completions, D2 messages, D3 Gemini, D4 Converse.",
    ),
  responses_api: z.boolean().optional().describe("Whether its chat endpoints also serve the responses dialect."),
  decisions: decisionsEntry.optional().describe("Decision support of its endpoints."),
  embeddings: embeddingsEntry.optional().describe("Embedding support of its endpoints."),
  images: imagesEntry.optional().describe("Image support of its endpoints."),
  moderations: moderationsEntry.optional().describe("Moderation support of its endpoints."),
  rerank: rerankEntry.optional().describe("Rerank support of its endpoints."),
  speech: speechEntry.optional().describe("Speech support of its endpoints."),
  transcriptions: transcriptionsEntry.optional().describe("Transcription support of its endpoints."),
  quirks: z.array(z.enum(QUIRKS)).optional().describe("Named deviations of an almost-compatible server."),
  anthropic_betas: z
    .array(text)
    .optional()
    .describe("Supported betas of the messages dialect; others are dropped. Absent: all are sent."),
  docs_url: webAddress.optional(),
  pricing_url: webAddress.optional(),
  level_confidence: z.enum(["high", "medium", "low"]).optional().describe("Grades the evidence. Absent: low."),
  sandbox: z.literal(true).optional().describe("Simulated: replies are generated by the sandbox."),
  regions: z.array(region).min(1, "must name at least one region"),
  evidence: z
    .array(evidenceEntry)
    .optional()
    .describe("Statements about the provider. The first one of a subject supports the level."),
  endpoints: z.array(endpoint),
});
export type ProviderFile = z.infer<typeof ProviderFile>;
export type EndpointEntry = ProviderFile["endpoints"][number];
export type PriceEntry = NonNullable<EndpointEntry["prices"]>[number];

const model = z.strictObject({
  id: modelId.describe("What callers send."),
  aliases: z
    .array(modelAlias)
    .optional()
    .describe("Other names of the model. Its name without the creator, with a date and with -latest need no entry."),
  name: text,
  release_date: dayOrMonth.optional(),
  knowledge_cutoff: dayOrMonth.optional(),
  surfaces: z.array(z.enum(SURFACES)).min(1, "must name at least one surface"),
  modalities_in: z.array(text),
  modalities_out: z.array(text),
  context_tokens: count.optional(),
  max_output_tokens: count.optional(),
  open_weights: z.boolean().optional(),
  capabilities: z.array(slug).describe("Slugs of capabilities.json."),
  efforts: efforts.optional().describe("Supported values of reasoning_effort. Absent: unknown."),
  embedding_dimensions: count.optional(),
  quality: z
    .strictObject({
      score: z.number().min(0).max(1),
      source: text,
      source_row: text.optional(),
      source_release: text.optional(),
      licence: text.optional(),
      metric: text.optional(),
      estimated: z.boolean().optional().describe("Moved from an older release to the current scale."),
      extrapolated: z.boolean().optional(),
      raw_score: z.number().optional().describe("The score before an estimate, on the scale of the original release."),
      fit: z
        .strictObject({
          to_release: text.describe("The release whose scale the estimate has."),
          steps: z.array(z.strictObject({ models: count, r2: z.number().min(0).max(1) })),
        })
        .optional()
        .describe("Linear fits over the models that two releases share."),
    })
    .optional(),
  benchmarks: z
    .array(z.strictObject({ name: text, score: z.number(), metric: text, source: text, date: dayOrMonth.optional() }))
    .optional(),
  sandbox: z.literal(true).optional().describe("Simulated: replies are generated by the sandbox."),
  hidden: z.literal(true).optional().describe("Unlisted; demonstrates failures."),
  description: text.optional().describe("One or two sentences. Absent: composed from the facts."),
  evidence: z.array(evidenceEntry).optional().describe("Statements about the model itself."),
  sources: z.array(webAddress).optional().describe("Pages with the facts."),
});

export const CreatorFile = z.strictObject({
  $schema: z.string().optional(),
  slug: slug.describe("Also the file's name."),
  name: text,
  country: country.optional(),
  eea: z.boolean().optional(),
  website: webAddress.optional(),
  families: z.array(z.strictObject({ slug, name: text, models: z.array(model) })),
});
export type CreatorFile = z.infer<typeof CreatorFile>;
export type ModelEntry = CreatorFile["families"][number]["models"][number];

export const CurrenciesFile = z.strictObject({
  $schema: z.string().optional(),
  currencies: z.array(
    z.strictObject({
      code: currencyCode,
      name: text,
      symbol: text,
      decimals: z.int().min(0).max(4),
      per_eur: amount.describe("Units of this currency for one euro."),
      rate_date: day,
      rate_source: text,
    }),
  ),
});
export type CurrenciesFile = z.infer<typeof CurrenciesFile>;

export const CapabilitiesFile = z.strictObject({
  $schema: z.string().optional(),
  capabilities: z.array(z.strictObject({ slug, name: text, group: slug, description: text })),
});
export type CapabilitiesFile = z.infer<typeof CapabilitiesFile>;

/** File schemas by JSON Schema name: `<name>.schema.json`. */
const FILE_SCHEMAS = {
  provider: ProviderFile,
  creator: CreatorFile,
  currencies: CurrenciesFile,
  capabilities: CapabilitiesFile,
} as const;

export const FILE_SCHEMA_NAMES = ["provider", "creator", "currencies", "capabilities"] as const;

export function printSchema(name: (typeof FILE_SCHEMA_NAMES)[number]): string {
  const schema = z.toJSONSchema(FILE_SCHEMAS[name], { target: "draft-2020-12", io: "input" });
  return `${JSON.stringify({ ...schema, title: `Catalogue file: ${name}` }, null, 2)}\n`;
}
