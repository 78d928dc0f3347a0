import type { EvidenceEntry } from "./evidence-schema.ts";
import { type CatalogueProblem, childLocation, type WithLocation } from "./problems.ts";
import type {
  CapabilitiesFile,
  CreatorFile,
  CurrenciesFile,
  EndpointEntry,
  ModelEntry,
  ProviderFile,
} from "./schema.ts";

export type ProviderRecord = Omit<ProviderFile, "endpoints" | "$schema">;
export type CurrencyEntry = CurrenciesFile["currencies"][number];
export type CapabilityEntry = CapabilitiesFile["capabilities"][number];
export type CreatorRecord = Omit<CreatorFile, "families" | "$schema">;
export type FamilyRecord = { readonly slug: string; readonly name: string; readonly creator: string };

/** All parsed records with their source locations, independent of the file layout and not yet cross-validated. */
export type CatalogueRecords = {
  readonly providers: readonly WithLocation<ProviderRecord>[];
  readonly endpoints: readonly (WithLocation<EndpointEntry> & { readonly provider: string })[];
  readonly creators: readonly WithLocation<CreatorRecord>[];
  readonly families: readonly WithLocation<FamilyRecord>[];
  readonly models: readonly (WithLocation<ModelEntry> & { readonly creator: string; readonly family: string })[];
  readonly currencies: readonly WithLocation<CurrencyEntry>[];
  readonly capabilities: readonly WithLocation<CapabilityEntry>[];
  readonly problems: readonly CatalogueProblem[];
};

export const NO_RECORDS: CatalogueRecords = {
  providers: [],
  endpoints: [],
  creators: [],
  families: [],
  models: [],
  currencies: [],
  capabilities: [],
  problems: [],
};

export function mergeRecords(parts: readonly CatalogueRecords[]): CatalogueRecords {
  return {
    providers: parts.flatMap((part) => part.providers),
    endpoints: parts.flatMap((part) => part.endpoints),
    creators: parts.flatMap((part) => part.creators),
    families: parts.flatMap((part) => part.families),
    models: parts.flatMap((part) => part.models),
    currencies: parts.flatMap((part) => part.currencies),
    capabilities: parts.flatMap((part) => part.capabilities),
    problems: parts.flatMap((part) => part.problems),
  };
}

/** Every list of statements, with the location of the list. */
export function evidenceLists({ providers, endpoints, models }: CatalogueRecords): WithLocation<EvidenceEntry[]>[] {
  const regions = providers.flatMap(({ at, value }) =>
    value.regions.map((region, index) => ({ at: childLocation(at, "regions", index), value: region })),
  );
  return [...providers, ...regions, ...endpoints, ...models].flatMap(({ at, value: { evidence } }) =>
    evidence === undefined ? [] : [{ at: childLocation(at, "evidence"), value: evidence }],
  );
}

export function endpointId(provider: string, entry: Pick<EndpointEntry, "region" | "model">): string {
  return `${provider}:${entry.region}:${entry.model}`;
}
