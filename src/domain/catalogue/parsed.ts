import type { CatalogueProblem, Located } from "./problems.ts";
import type {
  CapabilitiesFile,
  CreatorFile,
  CurrenciesFile,
  EndpointEntry,
  ModelEntry,
  ProviderFile,
} from "./schema.ts";

export type ProviderFacts = Omit<ProviderFile, "endpoints" | "$schema">;
export type CurrencyEntry = CurrenciesFile["currencies"][number];
export type CapabilityEntry = CapabilitiesFile["capabilities"][number];
export type CreatorFacts = Omit<CreatorFile, "families" | "$schema">;
export type FamilyFacts = { readonly slug: string; readonly name: string; readonly creator: string };

/** Every record of a catalogue with its place, whatever form of files it came from; not yet checked against each other. */
export type Parsed = {
  readonly providers: readonly Located<ProviderFacts>[];
  readonly endpoints: readonly (Located<EndpointEntry> & { readonly provider: string })[];
  readonly creators: readonly Located<CreatorFacts>[];
  readonly families: readonly Located<FamilyFacts>[];
  readonly models: readonly (Located<ModelEntry> & { readonly creator: string; readonly family: string })[];
  readonly currencies: readonly Located<CurrencyEntry>[];
  readonly capabilities: readonly Located<CapabilityEntry>[];
  readonly problems: readonly CatalogueProblem[];
};

export const NOTHING_PARSED: Parsed = {
  providers: [],
  endpoints: [],
  creators: [],
  families: [],
  models: [],
  currencies: [],
  capabilities: [],
  problems: [],
};

export function merged(parts: readonly Parsed[]): Parsed {
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

export function endpointId(provider: string, entry: Pick<EndpointEntry, "region" | "model">): string {
  return `${provider}:${entry.region}:${entry.model}`;
}
