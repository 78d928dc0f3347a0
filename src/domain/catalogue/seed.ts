import type { z } from "zod";
import { PRICE_FIELDS } from "./field-schemas.ts";
import {
  type CatalogueProblem,
  childLocation,
  parseAt,
  problemAt,
  type SourceLocation,
  type WithLocation,
} from "./problems.ts";
import type { CatalogueRecords, ProviderRecord } from "./records.ts";
import type { EndpointEntry, ModelEntry, PriceEntry } from "./schema.ts";
import { pagesIn, seedLevelStatement, seedPriceSource, seedStatements } from "./seed-evidence.ts";
import {
  SeedCapability,
  SeedCreator,
  SeedCurrency,
  SeedEndpoint,
  SeedFamily,
  type SeedFileName,
  SeedModel,
  SeedProvider,
} from "./seed-schema.ts";
import {
  seedDecisionsInterface,
  seedEndpointDecisions,
  seedEndpointEmbeddings,
  seedEndpointSpeech,
  seedEndpointTranscriptions,
  seedProviderDecisions,
  seedProviderEmbeddings,
  seedProviderSpeech,
} from "./seed-surface-support.ts";

/** Converts the seven-file layout into the same records as the native layout. */
export function parseSeed(
  raw: Readonly<Partial<Record<SeedFileName, unknown>>>,
  fileOf: (name: SeedFileName) => string,
): CatalogueRecords {
  const problems: CatalogueProblem[] = [];
  const rows = <T>(name: SeedFileName, schema: z.ZodType<T>): WithLocation<T>[] => {
    const at: SourceLocation = { file: fileOf(name), field: "" };
    const list = raw[name];
    if (!Array.isArray(list)) {
      problems.push(problemAt(at, "must be a list"));
      return [];
    }
    return list.flatMap((row: unknown, index) => {
      const location = childLocation(at, index);
      const result = parseAt(schema, row, location);
      if ("value" in result) return [{ at: location, value: result.value }];
      problems.push(...result.problems);
      return [];
    });
  };
  const providers = rows("providers", SeedProvider);
  const bySlug = new Map(providers.map(({ value }) => [value.slug, value]));
  const endpoints = rows("endpoints", SeedEndpoint);
  for (const { at, value } of endpoints) {
    const id = `${value.provider}:${value.region}:${value.model}`;
    if (value.id !== id) problems.push(problemAt(childLocation(at, "id"), `must be ${id}`));
    if (!bySlug.has(value.provider))
      problems.push(problemAt(childLocation(at, "provider"), `there is no provider "${value.provider}"`));
  }
  return {
    providers: providers.map(({ at, value }) => ({ at, value: providerFromSeed(value) })),
    endpoints: endpoints.map(({ at, value }) => ({
      at,
      value: endpointFromSeed(value, bySlug.get(value.provider)),
      provider: value.provider,
    })),
    creators: rows("creators", SeedCreator),
    families: rows("families", SeedFamily),
    models: rows("models", SeedModel).map(({ at, value }) => ({
      at,
      value: modelFromSeed(value),
      creator: value.creator,
      family: value.family,
    })),
    currencies: rows("currencies", SeedCurrency),
    capabilities: rows("capabilities", SeedCapability),
    problems,
  };
}

function providerFromSeed(seed: SeedProvider): ProviderRecord {
  // Notes of this layout are free text for its readers, and are not published.
  const { dialects, responses_api, certifications, logprobs_note: _logprobs, notes: _notes, ...rest } = seed;
  return {
    ...rest,
    certifications: nonEmpty(certifications),
    dialects: nonEmpty(dialects),
    responses_api: responses_api ? true : undefined,
    speech: seedProviderSpeech(seed.slug),
    embeddings: seedProviderEmbeddings(seed.slug),
    decisions: seedProviderDecisions(seed.slug),
    regions: seed.regions.map(({ note: _note, ...region }) => region),
    evidence: nonEmpty(seedStatements(seed.evidence)),
  };
}

/** Keeps only what differs from provider and region, so that shared facts are stored once. */
function endpointFromSeed(seed: SeedEndpoint, provider: SeedProvider | undefined): EndpointEntry {
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
  };
}

function sovereigntyFromSeed(
  seed: SeedEndpoint,
  provider: SeedProvider | undefined,
  region: SeedProvider["regions"][number] | undefined,
): Partial<EndpointEntry> {
  const { sovereignty: value } = seed;
  const first = provider?.evidence[0];
  const sameEvidence =
    first?.url === value.evidence_url && first.kind === value.evidence_kind && first.read === value.evidence_date;
  const sameLevel = region?.level === value.level && region.level_reason === value.level_reason;
  return {
    level: sameLevel ? undefined : value.level,
    level_reason: sameLevel ? undefined : value.level_reason,
    countries: ifDifferent(value.compute_countries, region?.countries),
    countries_kind: ifDifferent(value.compute_countries_kind, region?.countries_kind),
    zero_data_retention: ifDifferent(value.zero_data_retention, provider?.zero_data_retention),
    trains_on_data: ifDifferent(value.trains_on_data, provider?.trains_on_data),
    evidence: sameEvidence ? undefined : nonEmpty(seedLevelStatement(seed)),
  };
}

/** A row without any amount is not a price. */
function priceFromSeed(seed: SeedEndpoint): PriceEntry | undefined {
  const { tiers, ...figures } = seed.price;
  const price: PriceEntry = figures;
  if (PRICE_FIELDS.every((name) => price[name] === undefined)) return undefined;
  return {
    ...figures,
    tiers: nonEmpty(tiers),
    evidence: seedPriceSource(seed),
  };
}

function modelFromSeed(seed: SeedModel): ModelEntry {
  const { slug, creator: _creator, family: _family, note: _note, quality, ...rest } = seed;
  const { score, source, ...details } = quality;
  return {
    id: slug,
    ...rest,
    quality: score === undefined || source === undefined ? undefined : { score, source, ...details },
    benchmarks: nonEmpty(seed.benchmarks),
    sources: seed.sources === undefined ? undefined : nonEmpty(seed.sources.flatMap(pagesIn)),
  };
}

function ifDifferent<T>(value: T, inherited: T | undefined): T | undefined {
  return JSON.stringify(value) === JSON.stringify(inherited) ? undefined : value;
}

function nonEmpty<T>(list: T[]): T[] | undefined {
  return list.length === 0 ? undefined : list;
}

function nonBlank<T extends object>(value: T): T | undefined {
  return Object.values(value).every((inner) => inner === undefined) ? undefined : value;
}
