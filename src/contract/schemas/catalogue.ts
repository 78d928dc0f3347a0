import { z } from "zod";
import {
  Country,
  CurrencyValue,
  Cursor,
  Day,
  Filters,
  LevelValue,
  Limit,
  ModelSortValue,
  NameSortValue,
  PriceView,
  SurfaceValue,
} from "./catalogue-values.ts";

const Retention = z.enum(["yes", "no", "on_request", "unknown"]);
const YesNo = z.enum(["yes", "no", "unknown"]);
const Confidence = z.enum(["high", "medium", "low"]).meta({ description: "Grades the evidence, not the provider." });
const CountriesKind = z.enum(["exact", "upper_bound", "unknown"]).meta({
  description: "`upper_bound`: an area is promised, not single countries. `unknown`: those that are named are a guess.",
});
const Sandbox = z.boolean().meta({ description: "Simulated: answers are made up." });
const Flag = z.boolean().nullable().meta({ description: "Null when not known." });

export const EvidenceView = z
  .object({
    claim: z.string().nullable(),
    url: z.string(),
    kind: z.enum(["primary", "secondary"]).meta({ description: "`primary`: read on the provider's own page." }),
    read: Day,
    stale: z.boolean().meta({ description: "Read more than 180 days ago." }),
  })
  .meta({ id: "Evidence" });

export const PublicPrice = PriceView.extend({
  source: z
    .object({
      text: z.string(),
      date: Day.nullable(),
      kind: z.enum(["first_party", "community", "secondary"]).nullable(),
      basis: z.enum(["as_listed", "community_conversion", "unverified"]),
      conflict: z.string().nullable().meta({ description: "What another source says." }),
    })
    .nullable(),
}).meta({ id: "PublicPrice" });

export const PublicEndpoint = z
  .object({
    id: z.string().meta({ description: "`provider:region:model`." }),
    model: z.string(),
    provider: z.string(),
    region: z.string(),
    surfaces: z.array(SurfaceValue),
    status: z.enum(["active", "preview", "deprecated"]),
    availability: z.enum(["listed", "unverified"]),
    level: LevelValue,
    level_reason: z.string(),
    level_confidence: Confidence,
    countries: z.array(Country),
    countries_kind: CountriesKind,
    location_committed: Flag,
    zero_data_retention: Retention,
    trains_on_data: YesNo,
    evidence: z.array(EvidenceView).meta({ description: "What the level rests on; the provider has the whole list." }),
    dialects: z.array(z.string()),
    responses_api: z.boolean(),
    context_tokens: z.int().nullable(),
    max_input_tokens: z.int().nullable(),
    max_output_tokens: z.int().nullable(),
    features: z.record(z.string(), Flag),
    price: PublicPrice.nullable().meta({ description: "The row in force today; null when no price is known." }),
    upcoming_prices: z.array(PublicPrice).meta({ description: "Rows whose day has not come." }),
    sandbox: Sandbox,
    note: z.string().nullable(),
  })
  .meta({ id: "PublicEndpoint" });
export type PublicEndpoint = z.infer<typeof PublicEndpoint>;

export const PublicModel = z
  .object({
    id: z.string().meta({ example: "mistral/mistral-small-2506" }),
    slug: z.string().meta({ description: "The same as `id`." }),
    name: z.string(),
    creator: z.string(),
    family: z.string(),
    release_date: z.string().nullable(),
    knowledge_cutoff: z.string().nullable(),
    surfaces: z.array(SurfaceValue),
    modalities_in: z.array(z.string()),
    modalities_out: z.array(z.string()),
    context_tokens: z.int().nullable(),
    max_output_tokens: z.int().nullable(),
    open_weights: Flag,
    capabilities: z.array(z.string()),
    embedding_dimensions: z.int().nullable(),
    quality: z
      .object({
        score: z.number(),
        source: z.string(),
        release: z.string().nullable(),
        metric: z.string().nullable(),
        licence: z.string().nullable(),
        estimated: z.boolean(),
        extrapolated: z.boolean(),
      })
      .nullable(),
    benchmarks: z.array(
      z.object({
        name: z.string(),
        score: z.number(),
        metric: z.string(),
        source: z.string(),
        date: z.string().nullable(),
      }),
    ),
    levels: z.array(LevelValue).meta({ description: "Levels of the endpoints shown." }),
    countries: z.array(Country).meta({ description: "Where the endpoints shown compute, as far as that is known." }),
    providers: z.array(z.string()),
    lowest_price: PriceView.extend({ endpoint: z.string() }).nullable().meta({
      description:
        "The cheapest of the endpoints shown: by input plus output tokens, of models that only speak or transcribe by a minute of audio. A speech model shows the unit that is billed.",
    }),
    endpoint_count: z.int(),
    endpoints: z.array(PublicEndpoint),
    sandbox: Sandbox,
    note: z.string().nullable(),
    sources: z.array(z.string()),
  })
  .meta({ id: "PublicModel" });
export type PublicModel = z.infer<typeof PublicModel>;

export const PublicFamily = z
  .object({
    slug: z.string(),
    name: z.string(),
    creator: z.string(),
    model_count: z.int(),
    models: z.array(z.string()),
  })
  .meta({ id: "PublicFamily" });
export type PublicFamily = z.infer<typeof PublicFamily>;

export const PublicCreator = z
  .object({
    slug: z.string(),
    name: z.string(),
    country: Country.nullable(),
    eea: Flag,
    website: z.string().nullable(),
    families: z.array(z.string()),
    model_count: z.int(),
  })
  .meta({ id: "PublicCreator" });
export type PublicCreator = z.infer<typeof PublicCreator>;

export const PublicProvider = z
  .object({
    slug: z.string(),
    name: z.string(),
    operator: z.string(),
    seat_country: Country.nullable(),
    owner_country: Country.nullable(),
    eea_operated: z.boolean(),
    owner_eea: YesNo,
    infrastructure_eea_controlled: YesNo,
    ownership: z.string().nullable(),
    certifications: z.array(z.string()),
    zero_data_retention: Retention,
    trains_on_data: YesNo,
    data_residency: z.string().nullable(),
    currency: z.string(),
    docs_url: z.string().nullable(),
    pricing_url: z.string().nullable(),
    levels: z.array(LevelValue),
    level_confidence: Confidence,
    countries: z.array(Country).meta({ description: "Countries of its regions, as far as they are known." }),
    regions: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        countries: z.array(Country),
        countries_kind: CountriesKind,
        location_committed: Flag,
        level: LevelValue,
        level_reason: z.string(),
        level_if_ch_accepted: LevelValue.nullable(),
        level_primary_evidence_only: LevelValue.nullable(),
        note: z.string().nullable(),
      }),
    ),
    evidence: z.array(EvidenceView),
    model_count: z.int(),
    endpoint_count: z.int(),
    sandbox: Sandbox,
    notes: z.string().nullable(),
  })
  .meta({ id: "PublicProvider" });
export type PublicProvider = z.infer<typeof PublicProvider>;

export const PublicProviderDetail = PublicProvider.extend({ endpoints: z.array(PublicEndpoint) }).meta({
  id: "PublicProviderDetail",
});

export const PublicCurrency = z
  .object({
    code: z.string(),
    name: z.string(),
    symbol: z.string(),
    decimals: z.int(),
    per_eur: z.string().meta({ description: "Units of this currency for one euro, exact.", example: "0.946769" }),
    rate_date: Day,
    rate_source: z.string(),
  })
  .meta({ id: "PublicCurrency" });
export type PublicCurrency = z.infer<typeof PublicCurrency>;

export const PublicLevel = z
  .object({
    level: LevelValue,
    name: z.string(),
    meaning: z.string(),
    needs: z.string().meta({ description: "What has to be shown before an endpoint gets the level." }),
    rank: z.int().nullable().meta({ description: "0 to 4; null for UNCLASSIFIED, which satisfies no floor." }),
    endpoint_count: z.int(),
  })
  .meta({ id: "PublicLevel" });
export type PublicLevel = z.infer<typeof PublicLevel>;

export const PublicCapability = z
  .object({
    slug: z.string(),
    name: z.string(),
    group: z.string(),
    description: z.string(),
    model_count: z.int(),
  })
  .meta({ id: "PublicCapability" });
export type PublicCapability = z.infer<typeof PublicCapability>;

export function pageOf<T extends z.ZodType>(item: T) {
  return z.object({
    data: z.array(item),
    next: z.string().nullable().meta({ description: "Cursor of the next page; null on the last one." }),
  });
}

const paging = { limit: Limit.default(100), cursor: Cursor.optional() };

export const ModelsQuery = z.strictObject({
  ...Filters,
  modality: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .meta({ description: "What a model takes or gives (`text`, `image`, `audio` …): all of them." }),
  context_min: z.coerce
    .number("write a whole number of tokens")
    .int("write a whole number of tokens")
    .min(0, "write a whole number of tokens")
    .optional()
    .meta({ description: "Tokens a model must read at least; models whose context is not known fall out." }),
  price_max: z
    .string()
    .regex(/^\d{1,9}(?:\.\d{1,9})?$/, "write a price such as 2.50")
    .optional()
    .meta({
      description:
        "Most that input plus output of a million tokens may cost at the cheapest endpoint shown, in `currency` or else in euro; models that are not priced by tokens fall out.",
    }),
  sort: ModelSortValue.default("id"),
  currency: CurrencyValue.optional(),
  ...paging,
});
export const NamedQuery = z.strictObject({ ...Filters, sort: NameSortValue.default("slug"), ...paging });
export const PlainQuery = z.strictObject({
  q: z.string().min(1).max(256).optional().meta({ description: "Words that must all occur in the record." }),
  ...paging,
});
/** For single records that take nothing: a stray parameter is a mistake too. */
export const NoQuery = z.strictObject({});
export const CurrencyQuery = z.strictObject({ currency: CurrencyValue.optional() });
