import { type Decimal, parseDecimal } from "../../kit/money.ts";
import { sha256Hex } from "../../kit/secret.ts";
import type { Surface } from "../record/record.ts";
import type {
  Creator,
  Currency,
  Endpoint,
  Evidence,
  ExtraPrice,
  Model,
  Price,
  Provider,
  Region,
  Snapshot,
} from "./catalogue.ts";
import { canBeRead, decisionFactsOf } from "./facts-decisions.ts";
import { embeddingFactsOf } from "./facts-embeddings.ts";
import { speechFactsOf } from "./facts-speech.ts";
import { transcriptionFactsOf } from "./facts-transcriptions.ts";
import { deepFreeze, FrozenMap } from "./frozen.ts";
import { isStale } from "./levels.ts";
import { endpointId, type Parsed, type ProviderFacts } from "./parsed.ts";
import type { EndpointEntry, ModelEntry, PriceEntry } from "./schema.ts";

/** Checked records to the one snapshot that everything reads. Unknown becomes null here and stays null. */
export function compile(parsed: Parsed, texts: readonly string[], nowMs: number): Snapshot {
  const providers = parsed.providers.map(({ value }) => ({ facts: value, provider: providerOf(value, nowMs) }));
  const bySlug = new Map(providers.map((entry) => [entry.facts.slug, entry]));
  const endpoints = parsed.endpoints.flatMap(({ value, provider: slug }) => {
    const home = bySlug.get(slug);
    const region = home?.provider.regions.find(({ id }) => id === value.region);
    return home === undefined || region === undefined
      ? []
      : [endpointOf(value, home.facts, home.provider, region, nowMs)];
  });
  const models = parsed.models.map(({ value, creator, family }) => modelOf(value, creator, family));
  return deepFreeze({
    version: sha256Hex(texts.toSorted().join("\n")).slice(0, 16),
    builtAtMs: nowMs,
    creators: frozenBy(parsed.creators.map(creatorOf), ({ slug }) => slug),
    families: frozenBy(
      parsed.families.map(({ value: { slug, name, creator } }) => ({ slug, name, creator })),
      ({ slug }) => slug,
    ),
    models: frozenBy(models, ({ id }) => id),
    providers: frozenBy(
      providers.map(({ provider }) => provider),
      ({ slug }) => slug,
    ),
    endpoints: frozenBy(endpoints, ({ id }) => id),
    endpointsByModel: new FrozenMap(
      [...Map.groupBy(endpoints, ({ model }) => model)].map(([id, list]) => [id, deepFreeze(byId(list))]),
    ),
    currencies: frozenBy(parsed.currencies.map(currencyOf), ({ code }) => code),
    capabilities: frozenBy(
      parsed.capabilities.map(({ value: { slug, name, group, description } }) => ({ slug, name, group, description })),
      ({ slug }) => slug,
    ),
  });
}

/** In the order of the name, whatever order the files had. */
function frozenBy<T>(list: readonly T[], name: (item: T) => string): ReadonlyMap<string, T> {
  const entries = list.map((item): readonly [string, T] => [name(item), deepFreeze(item)]);
  return new FrozenMap(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function byId(list: readonly Endpoint[]): Endpoint[] {
  return list.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

function creatorOf({ value }: Parsed["creators"][number]): Creator {
  const { slug, name, country = null, eea = null, website = null } = value;
  return { slug, name, country, eea, website };
}

function currencyOf({ value }: Parsed["currencies"][number]): Currency {
  return {
    code: value.code,
    name: value.name,
    symbol: value.symbol,
    decimals: value.decimals,
    perEur: decimalOf(value.per_eur),
    rateDate: value.rate_date,
    rateSource: value.rate_source,
  };
}

/** The schema has admitted nothing but plain decimals. */
function decimalOf(amount: number | string): Decimal {
  const decimal = parseDecimal(amount);
  if (decimal === undefined) throw new TypeError(`not a decimal: ${amount}`);
  return decimal;
}

function maybeDecimal(amount: number | string | undefined): Decimal | null {
  return amount === undefined ? null : decimalOf(amount);
}

function modelOf(entry: ModelEntry, creator: string, family: string): Model {
  const { quality } = entry;
  return {
    id: entry.id,
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
    note: entry.note ?? null,
    sources: entry.sources ?? [],
  };
}

function providerOf(facts: ProviderFacts, nowMs: number): Provider {
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
    regions: facts.regions.map(regionOf),
    evidence: (facts.evidence ?? []).map((entry) => evidenceOf(entry, nowMs)),
    quirks: facts.quirks ?? [],
    sandbox: facts.sandbox ?? false,
    notes: facts.notes ?? null,
  };
}

function regionOf(entry: ProviderFacts["regions"][number]): Region {
  return {
    id: entry.id,
    name: entry.name,
    baseUrl: entry.base_url ?? null,
    countries: entry.countries,
    countriesKind: entry.countries_kind ?? "unknown",
    locationCommitted: entry.location_committed ?? null,
    level: entry.level ?? "UNCLASSIFIED",
    levelReason: entry.level_reason ?? "not yet assessed",
    levelIfChAccepted: entry.level_if_ch_accepted ?? null,
    levelPrimaryEvidenceOnly: entry.level_primary_evidence_only ?? null,
    note: entry.note ?? null,
  };
}

function evidenceOf(entry: Omit<Evidence, "stale">, nowMs: number): Evidence {
  const { claim, url, kind, read } = entry;
  return { claim, url, kind, read, stale: isStale(read, nowMs) };
}

function endpointOf(
  entry: EndpointEntry,
  facts: ProviderFacts,
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
    sovereignty: sovereigntyOf(entry, provider, region, nowMs),
    prices: (entry.prices ?? []).map(priceOf),
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
    decisionsInterface: canBeRead(entry, dialects[0], quirks) ? (entry.decisions_interface ?? null) : null,
    ...surfaceFactsOf(entry, facts),
    sandbox: provider.sandbox,
    note: entry.note ?? null,
  };
}

/** Only of surfaces that the endpoint serves: what its provider says of the others says nothing of it. */
function surfaceFactsOf(
  entry: EndpointEntry,
  facts: ProviderFacts,
): Pick<Endpoint, "decisions" | "embeddings" | "speech" | "transcriptions"> {
  const serves = (surface: Surface) => entry.surfaces.includes(surface);
  const embeddings = entry.embeddings ?? facts.embeddings;
  const speech = entry.speech ?? facts.speech;
  const transcriptions = entry.transcriptions ?? facts.transcriptions;
  return {
    decisions: serves("decisions") ? decisionFactsOf(entry.decisions ?? facts.decisions, chatImages(entry)) : null,
    embeddings: serves("embeddings") && embeddings !== undefined ? embeddingFactsOf(embeddings) : null,
    speech: serves("speech") && speech !== undefined ? speechFactsOf(speech) : null,
    transcriptions:
      serves("transcriptions") && transcriptions !== undefined ? transcriptionFactsOf(transcriptions) : null,
  };
}

function chatImages({ decisions_interface: asked, features }: EndpointEntry): "reads_images" | "no_images" {
  return asked === "logprobs" && features?.image_input === true ? "reads_images" : "no_images";
}

function sovereigntyOf(
  entry: EndpointEntry,
  provider: Provider,
  region: Region,
  nowMs: number,
): Endpoint["sovereignty"] {
  const own = entry.evidence === undefined ? undefined : evidenceOf(entry.evidence, nowMs);
  return {
    level: entry.level ?? region.level,
    reason: entry.level_reason ?? region.levelReason,
    confidence: provider.levelConfidence,
    countries: entry.countries ?? region.countries,
    countriesKind: entry.countries_kind ?? region.countriesKind,
    locationCommitted: region.locationCommitted,
    zeroDataRetention: entry.zero_data_retention ?? provider.zeroDataRetention,
    trainsOnData: entry.trains_on_data ?? provider.trainsOnData,
    evidence: own ?? provider.evidence[0] ?? null,
  };
}

function priceOf(row: PriceEntry): Price {
  return {
    currency: row.currency,
    from: row.from ?? null,
    inputPer1mTokens: maybeDecimal(row.input_per_1m_tokens),
    outputPer1mTokens: maybeDecimal(row.output_per_1m_tokens),
    cachedReadPer1mTokens: maybeDecimal(row.cached_read_per_1m_tokens),
    cacheWritePer1mTokens: maybeDecimal(row.cache_write_per_1m_tokens),
    cacheWrite1hPer1mTokens: maybeDecimal(row.cache_write_1h_per_1m_tokens),
    reasoningPer1mTokens: maybeDecimal(row.reasoning_per_1m_tokens),
    audioInputPer1mTokens: maybeDecimal(row.audio_input_per_1m_tokens),
    audioOutputPer1mTokens: maybeDecimal(row.audio_output_per_1m_tokens),
    per1mCharacters: maybeDecimal(row.per_1m_characters),
    perMinuteAudio: maybeDecimal(row.per_minute_audio),
    perImage: maybeDecimal(row.per_image),
    perRequest: maybeDecimal(row.per_request),
    tiers: (row.tiers ?? []).map((tier) => ({
      aboveInputTokens: tier.above_input_tokens,
      inputPer1mTokens: maybeDecimal(tier.input_per_1m_tokens),
      outputPer1mTokens: maybeDecimal(tier.output_per_1m_tokens),
      cachedReadPer1mTokens: maybeDecimal(tier.cached_read_per_1m_tokens),
      cacheWritePer1mTokens: maybeDecimal(tier.cache_write_per_1m_tokens),
      cacheWrite1hPer1mTokens: maybeDecimal(tier.cache_write_1h_per_1m_tokens),
      reasoningPer1mTokens: maybeDecimal(tier.reasoning_per_1m_tokens),
      audioInputPer1mTokens: maybeDecimal(tier.audio_input_per_1m_tokens),
      audioOutputPer1mTokens: maybeDecimal(tier.audio_output_per_1m_tokens),
    })),
    ...(row.extras === undefined ? {} : { extras: extrasOf(row.extras) }),
    source:
      row.source === undefined
        ? null
        : {
            text: row.source,
            date: row.source_date ?? null,
            kind: row.source_kind ?? null,
            basis: row.basis ?? "as_listed",
            conflict: row.conflict ?? null,
          },
  };
}

function extrasOf(extras: NonNullable<PriceEntry["extras"]>): Record<string, ExtraPrice> {
  return Object.fromEntries(
    Object.entries(extras).map(([name, extra]): [string, ExtraPrice] => [
      name,
      "times" in extra
        ? { perUse: null, usesMax: 0, times: decimalOf(extra.times) }
        : { perUse: decimalOf(extra.per_use), usesMax: extra.uses_max, times: null },
    ]),
  );
}
