import { z } from "zod";
import { SURFACES } from "../../contract/surfaces.ts";
import { DIALECTS } from "./catalogue.ts";
import { DECISION_INTERFACES } from "./decisions-support.ts";
import {
  amount,
  count,
  country,
  currencyCode,
  day,
  dayOrMonth,
  level,
  modelId,
  settingSlug,
  slug,
  text,
  webAddress,
} from "./field-schemas.ts";

/**
 * The seven-file layout: flat lists with every key present and null for unknown. Keys that only count other records are
 * ignored.
 */
export const SEED_FILES = [
  "providers",
  "endpoints",
  "models",
  "creators",
  "families",
  "currencies",
  "capabilities",
] as const;
export type SeedFileName = (typeof SEED_FILES)[number];

/** This layout writes unknown as null; inside the program unknown is absent. */
const maybe = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined);
const known = <T extends z.ZodType>(schema: T) =>
  z
    .union([schema, z.literal("unknown"), z.null()])
    .transform((value) => (value === "unknown" ? undefined : (value ?? undefined)));

const seedPriceFields = {
  currency: currencyCode,
  input_per_1m_tokens: maybe(amount),
  output_per_1m_tokens: maybe(amount),
  cached_read_per_1m_tokens: maybe(amount),
  cache_write_per_1m_tokens: maybe(amount),
  cache_write_1h_per_1m_tokens: maybe(amount),
  audio_input_per_1m_tokens: maybe(amount),
  audio_output_per_1m_tokens: maybe(amount),
  per_1m_characters: maybe(amount),
  per_minute_audio: maybe(amount),
  per_request: maybe(amount),
};
const seedTier = z.object({
  above_input_tokens: count,
  input_per_1m_tokens: maybe(amount),
  output_per_1m_tokens: maybe(amount),
  cached_read_per_1m_tokens: maybe(amount),
});
const basis = z.enum(["as_listed", "community_conversion", "unverified"]);
const countriesKind = z.enum(["exact", "upper_bound", "unknown"]);
const retention = z.enum(["yes", "no", "on_request", "unknown"]);
const yesNo = z.enum(["yes", "no", "unknown"]);
const confidence = z.enum(["high", "medium", "low"]);

export const SeedProvider = z.object({
  slug: settingSlug,
  name: text,
  operator: text,
  seat_country: maybe(country),
  owner_country: maybe(country),
  eea_operated: z.boolean(),
  owner_eea: maybe(yesNo),
  infrastructure_eea_controlled: maybe(yesNo),
  ownership: maybe(text),
  certifications: z.array(text),
  zero_data_retention: retention,
  trains_on_data: yesNo,
  data_residency: maybe(text),
  dialects: z.array(z.enum(DIALECTS)),
  responses_api: z.boolean(),
  logprobs_note: maybe(text),
  currency: currencyCode,
  docs_url: maybe(webAddress),
  pricing_url: maybe(webAddress),
  regions: z.array(
    z.object({
      id: settingSlug,
      name: text,
      base_url: maybe(webAddress),
      countries: z.array(country),
      countries_kind: countriesKind,
      location_committed: maybe(z.boolean()),
      level,
      level_reason: text,
      level_primary_evidence_only: maybe(level),
      level_if_ch_accepted: maybe(level),
      note: maybe(text),
    }),
  ),
  level_confidence: confidence,
  evidence: z.array(z.object({ claim: text, url: text, kind: z.enum(["primary", "secondary"]), read: day })),
  notes: maybe(text),
});
export type SeedProvider = z.infer<typeof SeedProvider>;

export const SeedEndpoint = z.object({
  id: text,
  model: modelId,
  provider: slug,
  upstream_model_id: text,
  region: slug,
  base_url: maybe(webAddress),
  dialects: z.array(z.enum(DIALECTS)),
  responses_api: z.boolean(),
  surfaces: z.array(z.enum(SURFACES)).min(1, "must name at least one surface"),
  status: z.enum(["active", "preview", "deprecated", "retired"]),
  availability: maybe(z.enum(["listed", "unverified"])),
  decisions_interface: maybe(z.enum(DECISION_INTERFACES)),
  sovereignty: z.object({
    level,
    level_reason: text,
    compute_countries: z.array(country),
    compute_countries_kind: countriesKind,
    zero_data_retention: retention,
    trains_on_data: yesNo,
    evidence_url: text,
    evidence_kind: z.enum(["primary", "secondary"]),
    evidence_date: day,
  }),
  price: z.object({ ...seedPriceFields, tiers: z.array(seedTier) }),
  price_alternatives: z.array(z.object({ ...seedPriceFields, source: maybe(text) })),
  price_basis: maybe(basis),
  price_source: maybe(text),
  price_source_date: maybe(day),
  price_source_kind: maybe(z.enum(["first_party", "community", "secondary", "none"])),
  price_conflict: maybe(text),
  limits: z.object({
    context_tokens: maybe(count),
    max_input_tokens: maybe(count),
    max_output_tokens: maybe(count),
    requests_per_minute: maybe(count),
    tokens_per_minute: maybe(count),
  }),
  features: z.object({
    tools: maybe(z.boolean()),
    parallel_tools: maybe(z.boolean()),
    json_schema: maybe(z.boolean()),
    reasoning: maybe(z.boolean()),
    reasoning_control: maybe(z.boolean()),
    sampling: maybe(z.boolean()),
    image_input: maybe(z.boolean()),
    prompt_caching: maybe(z.boolean()),
    logprobs: known(z.boolean()),
  }),
  supported_params: maybe(z.array(text)),
  note: maybe(text),
});
export type SeedEndpoint = z.infer<typeof SeedEndpoint>;

export const SeedModel = z.object({
  slug: modelId,
  name: text,
  creator: slug,
  family: slug,
  release_date: maybe(dayOrMonth),
  knowledge_cutoff: maybe(dayOrMonth),
  surfaces: z.array(z.enum(SURFACES)).min(1, "must name at least one surface"),
  modalities_in: z.array(text),
  modalities_out: z.array(text),
  context_tokens: maybe(count),
  max_output_tokens: maybe(count),
  open_weights: maybe(z.boolean()),
  capabilities: z.array(slug),
  embedding_dimensions: maybe(count),
  quality: z.object({
    score: maybe(z.number().min(0).max(1)),
    source: maybe(text),
    source_row: maybe(text),
    source_release: maybe(text),
    licence: maybe(text),
    metric: maybe(text),
    estimated: maybe(z.boolean()),
    extrapolated: maybe(z.boolean()),
  }),
  benchmarks: z.array(z.object({ name: text, score: z.number(), metric: text, source: text, date: maybe(dayOrMonth) })),
  note: maybe(text),
  sources: maybe(z.array(text)),
});
export type SeedModel = z.infer<typeof SeedModel>;

export const SeedCreator = z.object({
  slug,
  name: text,
  country: maybe(country),
  eea: maybe(z.boolean()),
  website: maybe(webAddress),
});
export const SeedFamily = z.object({ slug, name: text, creator: slug });
export const SeedCurrency = z.object({
  code: currencyCode,
  name: text,
  symbol: text,
  decimals: z.int().min(0).max(4),
  per_eur: amount,
  rate_date: day,
  rate_source: text,
});
export const SeedCapability = z.object({ slug, name: text, group: slug, description: text });
