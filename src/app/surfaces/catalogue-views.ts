import type {
  PublicCapability,
  PublicCreator,
  PublicCurrency,
  PublicEndpoint,
  PublicFamily,
  PublicLevel,
  PublicModel,
  PublicProvider,
} from "../../contract/schemas/catalogue.ts";
import {
  type Capability,
  type CatalogueSnapshot,
  type Creator,
  type Currency,
  type DialectId,
  type Endpoint,
  type Family,
  type Provider,
  priceAt,
} from "../../domain/catalogue/catalogue.ts";
import { weakestEvidence } from "../../domain/catalogue/level-criteria.ts";
import { LEVEL_MEANINGS } from "../../domain/catalogue/levels.ts";
import type { Availability, WorkspaceAvailability } from "../../domain/routing/availability.ts";
import { knownCountries } from "../../domain/routing/policy.ts";
import { LEVELS, type LevelState } from "../../domain/tenancy/policy.ts";
import { formatDecimal } from "../../kit/money.ts";
import { cheapest, type Offer } from "./catalogue-select.ts";
import { type PriceContext, priceView } from "./price-view.ts";

export type ViewContext = PriceContext & {
  readonly nowMs: number;
  /** Undefined for anonymous callers, who see catalogue facts only and not which providers are connected. */
  readonly availability?: WorkspaceAvailability | undefined;
};

function availabilityView(availability: Availability | undefined) {
  if (availability === undefined) return {};
  return { available: availability === null, unavailable: availability };
}

export function modelView({ model, endpoints }: Offer, context: ViewContext): PublicModel {
  const lowest = cheapest(endpoints, context.snapshot, context.nowMs);
  return {
    id: model.id,
    ...availabilityView(context.availability?.ofModel(model, endpoints)),
    slug: model.id,
    name: model.name,
    creator: model.creator,
    family: model.family,
    release_date: model.releaseDate,
    knowledge_cutoff: model.knowledgeCutoff,
    surfaces: [...model.surfaces],
    modalities_in: [...model.modalitiesIn],
    modalities_out: [...model.modalitiesOut],
    context_tokens: model.contextTokens,
    max_output_tokens: model.maxOutputTokens,
    open_weights: model.openWeights,
    capabilities: [...model.capabilities],
    embedding_dimensions: model.embeddingDimensions,
    quality: qualityView(model.quality),
    levels: levelsOf(endpoints.map(({ sovereignty }) => sovereignty.level)),
    countries: unique(endpoints.flatMap(({ sovereignty }) => knownCountries(sovereignty))),
    providers: unique(endpoints.map(({ provider }) => provider)),
    lowest_price: lowest === undefined ? null : { ...priceView(lowest.price, context), endpoint: lowest.endpoint.id },
    endpoint_count: endpoints.length,
    endpoints: endpoints.map((endpoint) => endpointView(endpoint, context)),
    sandbox: model.sandbox,
  };
}

function qualityView(quality: Offer["model"]["quality"]): PublicModel["quality"] {
  if (quality === null) return null;
  const { score, source, licence, estimated, metric = null, release = null, extrapolated = false } = quality;
  return { score, source, release, metric, licence, estimated, extrapolated };
}

export function endpointView(endpoint: Endpoint, context: ViewContext): PublicEndpoint {
  const { sovereignty, limits, features, status } = endpoint;
  const price = priceAt(endpoint, context.nowMs);
  return {
    id: endpoint.id,
    ...availabilityView(context.availability?.ofEndpoint(endpoint)),
    model: endpoint.model,
    provider: endpoint.provider,
    region: endpoint.region,
    surfaces: [...endpoint.surfaces],
    // Retired endpoints are filtered out before; the type does not express that.
    status: status === "retired" ? "deprecated" : status,
    availability: endpoint.availability ?? "listed",
    level: sovereignty.level,
    level_reason: sovereignty.reason,
    level_confidence: sovereignty.confidence,
    countries: [...sovereignty.countries],
    countries_kind: sovereignty.countriesKind,
    location_committed: sovereignty.locationCommitted ?? null,
    zero_data_retention: sovereignty.zeroDataRetention,
    trains_on_data: sovereignty.trainsOnData,
    dialects: endpoint.dialects.map((dialect) => DIALECT_NAMES[dialect]),
    responses_api: endpoint.responsesApi,
    context_tokens: limits.contextTokens,
    max_input_tokens: limits.maxInputTokens,
    max_output_tokens: limits.maxOutputTokens,
    features: {
      tools: features.tools,
      parallel_tools: features.parallelTools,
      json_schema: features.jsonSchema,
      reasoning: features.reasoning,
      reasoning_control: features.reasoningControl,
      sampling: features.sampling,
      image_input: features.imageInput,
      prompt_caching: features.promptCaching,
      logprobs: features.logprobs,
    },
    price: price === undefined ? null : priceView(price, context),
    sandbox: endpoint.sandbox,
  };
}

const DIALECT_NAMES = {
  D1: "chat_completions",
  D2: "messages",
  D3: "generate_content",
  D4: "converse",
} as const satisfies Record<DialectId, string>;

export function providerView(provider: Provider, endpoints: readonly Endpoint[]): PublicProvider {
  return {
    slug: provider.slug,
    name: provider.name,
    operator: provider.operator,
    seat_country: provider.seatCountry,
    owner_country: provider.ownerCountry,
    eea_operated: provider.eeaOperated,
    owner_eea: provider.ownerEea ?? "unknown",
    infrastructure_eea_controlled: provider.infrastructureEeaControlled ?? "unknown",
    ownership: nullIfEmpty(provider.ownership),
    certifications: [...provider.certifications],
    zero_data_retention: provider.zeroDataRetention,
    trains_on_data: provider.trainsOnData,
    data_residency: nullIfEmpty(provider.dataResidency),
    currency: provider.currency,
    docs_url: provider.docsUrl,
    pricing_url: provider.pricingUrl,
    levels: levelsOf(provider.regions.map(({ level }) => level)),
    level_confidence: provider.levelConfidence,
    countries: unique(provider.regions.flatMap(knownCountries)),
    regions: provider.regions.map((region) => ({
      id: region.id,
      name: region.name,
      countries: [...region.countries],
      countries_kind: region.countriesKind,
      location_committed: region.locationCommitted,
      level: region.level,
      level_reason: region.levelReason,
      level_if_ch_accepted: region.levelIfChAccepted ?? null,
      level_primary_evidence_only: region.levelPrimaryEvidenceOnly ?? null,
    })),
    model_count: new Set(endpoints.map(({ model }) => model)).size,
    endpoint_count: endpoints.length,
    sandbox: provider.sandbox,
  };
}

function nullIfEmpty(text: string): string | null {
  return text === "" ? null : text;
}

export function familyView({ slug, name, creator }: Family, offers: readonly Offer[]): PublicFamily {
  const models = offers.filter(({ model }) => model.family === slug).map(({ model }) => model.id);
  return { slug, name, creator, model_count: models.length, models };
}

export function creatorView(creator: Creator, families: readonly Family[], offers: readonly Offer[]): PublicCreator {
  const { slug, name, country, eea, website } = creator;
  return {
    slug,
    name,
    country,
    eea,
    website,
    families: families.filter((family) => family.creator === slug).map((family) => family.slug),
    model_count: offers.filter(({ model }) => model.creator === slug).length,
  };
}

export function currencyView({ code, name, symbol, decimals, perEur, rateDate, rateSource }: Currency): PublicCurrency {
  return {
    code,
    name,
    symbol,
    decimals,
    per_eur: formatDecimal(perEur),
    rate_date: rateDate,
    rate_source: rateSource,
  };
}

export function levelViews(endpoints: readonly Endpoint[], snapshot: CatalogueSnapshot): PublicLevel[] {
  return LEVEL_MEANINGS.map(({ level, name, meaning, needs }) => {
    const own = endpoints.filter(({ sovereignty }) => sovereignty.level === level);
    return {
      level,
      name,
      meaning,
      needs,
      rank: level === "UNCLASSIFIED" ? null : LEVELS.indexOf(level),
      endpoint_count: own.length,
      evidence: evidenceCounts(own, snapshot),
    };
  });
}

function evidenceCounts(endpoints: readonly Endpoint[], { providers }: CatalogueSnapshot): PublicLevel["evidence"] {
  const weakest = endpoints.flatMap((endpoint) => {
    const provider = providers.get(endpoint.provider);
    return (provider && weakestEvidence(endpoint, provider)) ?? [];
  });
  const count = (wanted: string) => weakest.filter(({ status }) => status === wanted).length;
  return {
    verified: count("verified"),
    claimed: count("claimed"),
    doubtful: count("doubtful"),
    read:
      weakest
        .map(({ read }) => read)
        .toSorted()
        .at(-1) ?? null,
  };
}

export function capabilityView(
  { slug, name, group, description }: Capability,
  offers: readonly Offer[],
): PublicCapability {
  const count = offers.filter(({ model }) => model.capabilities.includes(slug)).length;
  return { slug, name, group, description, model_count: count };
}

/** Highest level first, unclassified last. */
export function levelsOf(levels: readonly LevelState[]): LevelState[] {
  const found = new Set(levels);
  const ladder: readonly LevelState[] = [...LEVELS].toReversed();
  return [...ladder, "UNCLASSIFIED" as const].filter((level) => found.has(level));
}

export function unique(values: readonly string[]): string[] {
  return [...new Set(values)].toSorted();
}
