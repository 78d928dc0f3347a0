import { type Decimal, parseDecimal } from "../../kit/money.ts";
import { sha256Hex } from "../../kit/secret.ts";
import type { Surface } from "../record/record.ts";
import type {
  CatalogueSnapshot,
  Creator,
  Currency,
  Endpoint,
  Evidence,
  ExtraPrice,
  FactSource,
  ImagePrice,
  Model,
  Price,
  Provider,
  Region,
} from "./catalogue.ts";
import { canUseLogprobs, compileDecisionSupport } from "./decisions-support.ts";
import { compileEmbeddingSupport } from "./embeddings-support.ts";
import type { EvidenceEntry, PriceEvidenceEntry } from "./evidence-schema.ts";
import { deepFreeze, FrozenMap } from "./frozen-map.ts";
import { compileImageSupport } from "./images-support.ts";
import { isStale } from "./levels.ts";
import { modelNamesOf } from "./model-names.ts";
import { compileModerationSupport } from "./moderations-support.ts";
import { type CatalogueRecords, endpointId, type ProviderRecord } from "./records.ts";
import { compileRerankSupport } from "./rerank-support.ts";
import type { EndpointEntry, ModelEntry, PriceEntry } from "./schema.ts";
import { compileSpeechSupport } from "./speech-support.ts";
import { compileTranscriptionSupport } from "./transcriptions-support.ts";

/** Compiles validated records into the snapshot. Unknown values become null. */
export function compileCatalogue(parsed: CatalogueRecords, texts: readonly string[], nowMs: number): CatalogueSnapshot {
  const providers = parsed.providers.map(({ value }) => ({ facts: value, provider: compileProvider(value, nowMs) }));
  const bySlug = new Map(providers.map((entry) => [entry.facts.slug, entry]));
  const endpoints = parsed.endpoints.flatMap(({ value, provider: slug }) => {
    const owner = bySlug.get(slug);
    const region = owner?.provider.regions.find(({ id }) => id === value.region);
    return owner === undefined || region === undefined
      ? []
      : [compileEndpoint(value, owner.facts, owner.provider, region, nowMs)];
  });
  const models = parsed.models.map(({ value, creator, family }) => compileModel(value, creator, family, nowMs));
  return deepFreeze({
    version: sha256Hex(texts.toSorted().join("\n")).slice(0, 16),
    builtAtMs: nowMs,
    creators: freezeByKey(parsed.creators.map(compileCreator), ({ slug }) => slug),
    families: freezeByKey(
      parsed.families.map(({ value: { slug, name, creator } }) => ({ slug, name, creator })),
      ({ slug }) => slug,
    ),
    models: freezeByKey(models, ({ id }) => id),
    modelNames: new FrozenMap(deepFreeze(modelNamesOf(models, endpoints))),
    providers: freezeByKey(
      providers.map(({ provider }) => provider),
      ({ slug }) => slug,
    ),
    endpoints: freezeByKey(endpoints, ({ id }) => id),
    endpointsByModel: new FrozenMap(
      [...Map.groupBy(endpoints, ({ model }) => model)].map(([id, list]) => [id, deepFreeze(sortById(list))]),
    ),
    currencies: freezeByKey(parsed.currencies.map(compileCurrency), ({ code }) => code),
    capabilities: freezeByKey(
      parsed.capabilities.map(({ value: { slug, name, group, description } }) => ({ slug, name, group, description })),
      ({ slug }) => slug,
    ),
  });
}

/** Sorted by key, independent of file order. */
function freezeByKey<T>(list: readonly T[], name: (item: T) => string): ReadonlyMap<string, T> {
  const entries = list.map((item): readonly [string, T] => [name(item), deepFreeze(item)]);
  return new FrozenMap(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function sortById(list: readonly Endpoint[]): Endpoint[] {
  return list.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

function compileCreator({ value }: CatalogueRecords["creators"][number]): Creator {
  const { slug, name, country = null, eea = null, website = null } = value;
  return { slug, name, country, eea, website };
}

function compileCurrency({ value }: CatalogueRecords["currencies"][number]): Currency {
  return {
    code: value.code,
    name: value.name,
    symbol: value.symbol,
    decimals: value.decimals,
    perEur: requireDecimal(value.per_eur),
    rateDate: value.rate_date,
    rateSource: value.rate_source,
  };
}

/** The schema admits plain decimals only. */
function requireDecimal(amount: number | string): Decimal {
  const decimal = parseDecimal(amount);
  if (decimal === undefined) throw new TypeError(`not a decimal: ${amount}`);
  return decimal;
}

function decimalOrNull(amount: number | string | undefined): Decimal | null {
  return amount === undefined ? null : requireDecimal(amount);
}

function compileModel(entry: ModelEntry, creator: string, family: string, nowMs: number): Model {
  const { quality } = entry;
  return {
    id: entry.id,
    aliases: entry.aliases ?? [],
    name: entry.name,
    creator,
    family,
    releaseDate: entry.release_date ?? null,
    knowledgeCutoff: entry.knowledge_cutoff ?? null,
    surfaces: entry.surfaces,
    modalitiesIn: entry.modalities_in,
    modalitiesOut: entry.modalities_out,
    contextTokens: entry.context_tokens ?? null,
    maxOutputTokens: entry.max_output_tokens ?? null,
    openWeights: entry.open_weights ?? null,
    capabilities: entry.capabilities,
    efforts: entry.efforts ?? null,
    embeddingDimensions: entry.embedding_dimensions ?? null,
    quality:
      quality === undefined
        ? null
        : {
            score: quality.score,
            source: quality.source,
            licence: quality.licence ?? null,
            estimated: quality.estimated ?? false,
            metric: quality.metric ?? null,
            release: quality.source_release ?? null,
            extrapolated: quality.extrapolated ?? false,
          },
    benchmarks: (entry.benchmarks ?? []).map(({ date = null, ...rest }) => ({ ...rest, date })),
    sandbox: entry.sandbox ?? false,
    hidden: entry.hidden ?? false,
    description: entry.description ?? null,
    evidence: compileStatements(entry.evidence, nowMs),
    sources: entry.sources ?? [],
  };
}

function compileProvider(facts: ProviderRecord, nowMs: number): Provider {
  return {
    slug: facts.slug,
    name: facts.name,
    operator: facts.operator,
    seatCountry: facts.seat_country ?? null,
    ownerCountry: facts.owner_country ?? null,
    eeaOperated: facts.eea_operated,
    ownerEea: facts.owner_eea ?? "unknown",
    infrastructureEeaControlled: facts.infrastructure_eea_controlled ?? "unknown",
    ownership: facts.ownership ?? "",
    certifications: facts.certifications ?? [],
    zeroDataRetention: facts.zero_data_retention ?? "unknown",
    trainsOnData: facts.trains_on_data ?? "unknown",
    dataResidency: facts.data_residency ?? "",
    currency: facts.currency,
    docsUrl: facts.docs_url ?? null,
    pricingUrl: facts.pricing_url ?? null,
    levelConfidence: facts.level_confidence ?? "low",
    regions: facts.regions.map((region) => compileRegion(region, nowMs)),
    evidence: compileStatements(facts.evidence, nowMs),
    quirks: facts.quirks ?? [],
    sandbox: facts.sandbox ?? false,
  };
}

function compileRegion(entry: ProviderRecord["regions"][number], nowMs: number): Region {
  return {
    id: entry.id,
    name: entry.name,
    baseUrl: entry.base_url ?? null,
    countries: entry.countries,
    countriesKind: entry.countries_kind ?? "unknown",
    locationCommitted: entry.location_committed ?? null,
    level: entry.level ?? "UNCLASSIFIED",
    levelReason: entry.level_reason ?? "Not yet assessed",
    levelIfChAccepted: entry.level_if_ch_accepted ?? null,
    levelPrimaryEvidenceOnly: entry.level_primary_evidence_only ?? null,
    evidence: compileStatements(entry.evidence, nowMs),
  };
}

function compileStatements(entries: readonly EvidenceEntry[] | undefined, nowMs: number): Evidence[] {
  return (entries ?? []).map(({ subject, claim, ...source }) => ({
    subject,
    claim,
    ...compileSource(source, nowMs),
  }));
}

function compileSource({ status, url, see_also, kind, read, missing }: PriceEvidenceEntry, nowMs: number): FactSource {
  return { status, url, seeAlso: see_also ?? [], kind, read, missing: missing ?? null, stale: isStale(read, nowMs) };
}

function compileEndpoint(
  entry: EndpointEntry,
  facts: ProviderRecord,
  provider: Provider,
  region: Region,
  nowMs: number,
): Endpoint {
  const chats = entry.surfaces.includes("chat");
  const { features = {}, limits = {} } = entry;
  const dialects = entry.dialects ?? (chats ? (facts.dialects ?? []) : []);
  const quirks = [...provider.quirks, ...(entry.quirks ?? [])];
  return {
    id: endpointId(provider.slug, entry),
    model: entry.model,
    provider: provider.slug,
    region: region.id,
    upstreamModel: entry.upstream_model,
    baseUrl: entry.base_url === undefined ? region.baseUrl : entry.base_url,
    dialects,
    responsesApi: entry.responses_api ?? (chats && (facts.responses_api ?? false)),
    surfaces: entry.surfaces,
    status: entry.status ?? "active",
    availability: entry.availability ?? "listed",
    sovereignty: compileSovereignty(entry, provider, region, nowMs),
    prices: (entry.prices ?? []).map((row) => compilePrice(row, nowMs)),
    limits: {
      contextTokens: limits.context_tokens ?? null,
      maxInputTokens: limits.max_input_tokens ?? null,
      maxOutputTokens: limits.max_output_tokens ?? null,
    },
    features: {
      tools: features.tools ?? null,
      parallelTools: features.parallel_tools ?? null,
      jsonSchema: features.json_schema ?? null,
      reasoning: features.reasoning ?? null,
      reasoningControl: features.reasoning_control ?? null,
      sampling: features.sampling ?? null,
      imageInput: features.image_input ?? null,
      promptCaching: features.prompt_caching ?? null,
      logprobs: features.logprobs ?? null,
      forcedTools: features.forced_tools ?? null,
    },
    thinking: entry.thinking ?? null,
    efforts: entry.efforts ?? null,
    structuredOutput: entry.structured_output ?? null,
    quirks,
    anthropicBetas: entry.anthropic_betas ?? facts.anthropic_betas ?? null,
    supportedParams: entry.supported_params ?? null,
    decisionsInterface: canUseLogprobs(entry, dialects[0], quirks) ? (entry.decisions_interface ?? null) : null,
    ...compileSurfaceSupport(entry, facts),
    sandbox: provider.sandbox,
  };
}

/** Provider-level support applies only to surfaces that the endpoint serves. */
function compileSurfaceSupport(
  entry: EndpointEntry,
  facts: ProviderRecord,
): Pick<Endpoint, "decisions" | "embeddings" | "images" | "moderations" | "rerank" | "speech" | "transcriptions"> {
  const serves = (surface: Surface) => entry.surfaces.includes(surface);
  const embeddings = entry.embeddings ?? facts.embeddings;
  const images = entry.images ?? facts.images;
  const moderations = entry.moderations ?? facts.moderations;
  const rerank = entry.rerank ?? facts.rerank;
  const speech = entry.speech ?? facts.speech;
  const transcriptions = entry.transcriptions ?? facts.transcriptions;
  return {
    decisions: serves("decisions")
      ? compileDecisionSupport(entry.decisions ?? facts.decisions, logprobsImageSupport(entry))
      : null,
    embeddings: serves("embeddings") && embeddings !== undefined ? compileEmbeddingSupport(embeddings) : null,
    images: serves("images") && images !== undefined ? compileImageSupport(images) : null,
    moderations: serves("moderations") && moderations !== undefined ? compileModerationSupport(moderations) : null,
    rerank: serves("rerank") && rerank !== undefined ? compileRerankSupport(rerank) : null,
    speech: serves("speech") && speech !== undefined ? compileSpeechSupport(speech) : null,
    transcriptions:
      serves("transcriptions") && transcriptions !== undefined ? compileTranscriptionSupport(transcriptions) : null,
  };
}

function logprobsImageSupport({
  decisions_interface: requested,
  features,
}: EndpointEntry): "reads_images" | "no_images" {
  return requested === "logprobs" && features?.image_input === true ? "reads_images" : "no_images";
}

function compileSovereignty(
  entry: EndpointEntry,
  provider: Provider,
  region: Region,
  nowMs: number,
): Endpoint["sovereignty"] {
  return {
    level: entry.level ?? region.level,
    reason: entry.level_reason ?? region.levelReason,
    confidence: provider.levelConfidence,
    countries: entry.countries ?? region.countries,
    countriesKind: entry.countries_kind ?? region.countriesKind,
    locationCommitted: region.locationCommitted,
    zeroDataRetention: entry.zero_data_retention ?? provider.zeroDataRetention,
    trainsOnData: entry.trains_on_data ?? provider.trainsOnData,
    evidence: [...compileStatements(entry.evidence, nowMs), ...region.evidence],
  };
}

function compilePrice(row: PriceEntry, nowMs: number): Price {
  return {
    currency: row.currency,
    from: row.from ?? null,
    inputPer1mTokens: decimalOrNull(row.input_per_1m_tokens),
    outputPer1mTokens: decimalOrNull(row.output_per_1m_tokens),
    cachedReadPer1mTokens: decimalOrNull(row.cached_read_per_1m_tokens),
    cacheWritePer1mTokens: decimalOrNull(row.cache_write_per_1m_tokens),
    cacheWrite1hPer1mTokens: decimalOrNull(row.cache_write_1h_per_1m_tokens),
    reasoningPer1mTokens: decimalOrNull(row.reasoning_per_1m_tokens),
    audioInputPer1mTokens: decimalOrNull(row.audio_input_per_1m_tokens),
    audioOutputPer1mTokens: decimalOrNull(row.audio_output_per_1m_tokens),
    imageInputPer1mTokens: decimalOrNull(row.image_input_per_1m_tokens),
    imageOutputPer1mTokens: decimalOrNull(row.image_output_per_1m_tokens),
    per1mCharacters: decimalOrNull(row.per_1m_characters),
    perMinuteAudio: decimalOrNull(row.per_minute_audio),
    perImage: decimalOrNull(row.per_image),
    perRequest: decimalOrNull(row.per_request),
    per1kSearchUnits: decimalOrNull(row.per_1k_search_units),
    ...(row.image_prices === undefined ? {} : { imagePrices: compileImagePrices(row.image_prices) }),
    tiers: (row.tiers ?? []).map((tier) => ({
      aboveInputTokens: tier.above_input_tokens,
      inputPer1mTokens: decimalOrNull(tier.input_per_1m_tokens),
      outputPer1mTokens: decimalOrNull(tier.output_per_1m_tokens),
      cachedReadPer1mTokens: decimalOrNull(tier.cached_read_per_1m_tokens),
      cacheWritePer1mTokens: decimalOrNull(tier.cache_write_per_1m_tokens),
      cacheWrite1hPer1mTokens: decimalOrNull(tier.cache_write_1h_per_1m_tokens),
      reasoningPer1mTokens: decimalOrNull(tier.reasoning_per_1m_tokens),
      audioInputPer1mTokens: decimalOrNull(tier.audio_input_per_1m_tokens),
      audioOutputPer1mTokens: decimalOrNull(tier.audio_output_per_1m_tokens),
    })),
    ...(row.extras === undefined ? {} : { extras: compileExtras(row.extras) }),
    evidence: row.evidence === undefined ? null : compileSource(row.evidence, nowMs),
  };
}

function compileImagePrices(rows: NonNullable<PriceEntry["image_prices"]>): ImagePrice[] {
  return rows.map((row) => ({
    size: row.size ?? null,
    quality: row.quality ?? null,
    perImage: requireDecimal(row.per_image),
  }));
}

function compileExtras(extras: NonNullable<PriceEntry["extras"]>): Record<string, ExtraPrice> {
  return Object.fromEntries(
    Object.entries(extras).map(([name, extra]): [string, ExtraPrice] => [
      name,
      "times" in extra
        ? { perUse: null, usesMax: 0, times: requireDecimal(extra.times) }
        : { perUse: requireDecimal(extra.per_use), usesMax: extra.uses_max, times: null },
    ]),
  );
}
