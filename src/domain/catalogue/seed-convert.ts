import { PRICE_FIELDS } from "./field-schemas.ts";
import type { ProviderRecord } from "./records.ts";
import type { EndpointEntry, ModelEntry, PriceEntry } from "./schema.ts";
import { seedDecisionsInterface, seedEndpointDecisions, seedProviderDecisions } from "./seed-decisions.ts";
import { seedEndpointEmbeddings, seedProviderEmbeddings } from "./seed-embeddings.ts";
import type { SeedEndpoint, SeedModel, SeedProvider } from "./seed-schema.ts";
import { seedEndpointSpeech, seedProviderSpeech } from "./seed-speech.ts";
import { seedEndpointTranscriptions } from "./seed-transcriptions.ts";

export function providerFromSeed(seed: SeedProvider): ProviderRecord {
  const { dialects, responses_api, certifications, ...rest } = seed;
  return {
    ...rest,
    certifications: nonEmpty(certifications),
    dialects: nonEmpty(dialects),
    responses_api: responses_api ? true : undefined,
    speech: seedProviderSpeech(seed.slug),
    embeddings: seedProviderEmbeddings(seed.slug),
    decisions: seedProviderDecisions(seed.slug),
    regions: seed.regions,
    evidence: nonEmpty(seed.evidence),
  };
}

/** An endpoint states only what differs from its provider and region: facts that live once cannot drift apart. */
export function endpointFromSeed(seed: SeedEndpoint, provider: SeedProvider | undefined): EndpointEntry {
  const chats = seed.surfaces.includes("chat");
  const region = provider?.regions.find(({ id }) => id === seed.region);
  const prices = priceFromSeed(seed);
  return {
    model: seed.model,
    region: seed.region,
    upstream_model: seed.upstream_model_id,
    surfaces: seed.surfaces,
    status: seed.status === "active" ? undefined : seed.status,
    availability: seed.availability === "listed" ? undefined : seed.availability,
    base_url: seed.base_url === region?.base_url ? undefined : (seed.base_url ?? null),
    dialects: ifDifferent(seed.dialects, chats ? (provider?.dialects ?? []) : []),
    responses_api: ifDifferent(seed.responses_api, chats && (provider?.responses_api ?? false)),
    decisions_interface: seedDecisionsInterface(seed.model, seed.decisions_interface),
    decisions: seed.surfaces.includes("decisions") ? seedEndpointDecisions(seed.provider, seed.model) : undefined,
    transcriptions: seed.surfaces.includes("transcriptions")
      ? seedEndpointTranscriptions(seed.provider, seed.upstream_model_id)
      : undefined,
    speech: seed.surfaces.includes("speech") ? seedEndpointSpeech(seed.provider, seed.model) : undefined,
    embeddings: seed.surfaces.includes("embeddings") ? seedEndpointEmbeddings(seed.provider, seed.model) : undefined,
    ...sovereigntyFromSeed(seed, provider, region),
    prices: prices === undefined ? undefined : [prices],
    price_alternatives: nonEmpty(seed.price_alternatives),
    limits: nonBlank(seed.limits),
    features: nonBlank(seed.features),
    supported_params: seed.supported_params,
    note: noteFromSeed(seed, prices),
  };
}

function sovereigntyFromSeed(
  { sovereignty: said }: SeedEndpoint,
  provider: SeedProvider | undefined,
  region: SeedProvider["regions"][number] | undefined,
): Partial<EndpointEntry> {
  const first = provider?.evidence[0];
  const sameEvidence =
    first?.url === said.evidence_url && first.kind === said.evidence_kind && first.read === said.evidence_date;
  const sameLevel = region?.level === said.level && region.level_reason === said.level_reason;
  return {
    level: sameLevel ? undefined : said.level,
    level_reason: sameLevel ? undefined : said.level_reason,
    countries: ifDifferent(said.compute_countries, region?.countries),
    countries_kind: ifDifferent(said.compute_countries_kind, region?.countries_kind),
    zero_data_retention: ifDifferent(said.zero_data_retention, provider?.zero_data_retention),
    trains_on_data: ifDifferent(said.trains_on_data, provider?.trains_on_data),
    evidence: sameEvidence
      ? undefined
      : { claim: "the level", url: said.evidence_url, kind: said.evidence_kind, read: said.evidence_date },
  };
}

/** A row without a single figure is no price: unknown stays unknown. */
function priceFromSeed(seed: SeedEndpoint): PriceEntry | undefined {
  const { tiers, ...figures } = seed.price;
  const stated: PriceEntry = figures;
  if (PRICE_FIELDS.every((name) => stated[name] === undefined)) return undefined;
  return {
    ...figures,
    tiers: nonEmpty(tiers),
    source: seed.price_source,
    source_date: seed.price_source_date,
    source_kind: seed.price_source_kind === "none" ? undefined : seed.price_source_kind,
    basis: seed.price_basis === "as_listed" ? undefined : seed.price_basis,
    conflict: seed.price_conflict,
  };
}

function noteFromSeed(seed: SeedEndpoint, price: PriceEntry | undefined): string | undefined {
  if (price !== undefined || seed.price_source === undefined) return seed.note;
  const unpriced = `no price found (${seed.price_source})`;
  return seed.note === undefined ? unpriced : `${seed.note}; ${unpriced}`;
}

export function modelFromSeed(seed: SeedModel): ModelEntry {
  const { slug, creator: _creator, family: _family, quality, ...rest } = seed;
  const { score, source, ...about } = quality;
  return {
    id: slug,
    ...rest,
    quality: score === undefined || source === undefined ? undefined : { score, source, ...about },
    benchmarks: nonEmpty(seed.benchmarks),
    sources: seed.sources === undefined ? undefined : nonEmpty(seed.sources),
  };
}

function ifDifferent<T>(said: T, inherited: T | undefined): T | undefined {
  return JSON.stringify(said) === JSON.stringify(inherited) ? undefined : said;
}

function nonEmpty<T>(list: T[]): T[] | undefined {
  return list.length === 0 ? undefined : list;
}

function nonBlank<T extends object>(value: T): T | undefined {
  return Object.values(value).every((inner) => inner === undefined) ? undefined : value;
}
