import { isNodeProvider } from "../record/request-shape.ts";
import type { EvidenceEntry } from "./evidence-schema.ts";
import { EEA } from "./levels.ts";
import { bareName } from "./model-names.ts";
import { NODE_CREATOR } from "./node-catalogue.ts";
import { type CatalogueProblem, childLocation, problemAt, type SourceLocation, type WithLocation } from "./problems.ts";
import { type CatalogueRecords, endpointId, evidenceLists, type ProviderRecord } from "./records.ts";
import type { EndpointEntry } from "./schema.ts";
import { priceProblems } from "./validate-prices.ts";

/** Cross-file validation: references exist, names are unique, and levels have evidence. */
export function validateRecords(parsed: CatalogueRecords, today: string): CatalogueProblem[] {
  return [
    ...duplicateProblems(parsed),
    ...reservedNameProblems(parsed),
    ...aliasProblems(parsed),
    ...parsed.models.flatMap((model) => modelProblems(model, parsed)),
    ...evidenceLists(parsed).flatMap(({ at, value }) => futureProblems(value, at, today)),
    ...parsed.families.flatMap(({ at, value }) =>
      problemUnless(
        hasSlug(parsed.creators, value.creator),
        childLocation(at, "creator"),
        `there is no creator "${value.creator}"`,
      ),
    ),
    ...parsed.providers.flatMap((provider) => providerProblems(provider, parsed)),
    ...endpointProblems(parsed),
    ...currencyProblems(parsed, today),
    ...priceProblems(parsed, today),
  ];
}

/** Workspace nodes use these names, and policies refer to them. */
function reservedNameProblems({ providers, creators }: CatalogueRecords): CatalogueProblem[] {
  const message = "is reserved for nodes of workspaces: choose another name";
  return [
    ...providers.flatMap(({ at, value }) =>
      problemUnless(!isNodeProvider(value.slug), childLocation(at, "slug"), message),
    ),
    ...creators.flatMap(({ at, value }) =>
      problemUnless(value.slug !== NODE_CREATOR, childLocation(at, "slug"), message),
    ),
  ];
}

/** An alias names one model: it must not be an id, or another name of a second model. */
function aliasProblems({ models }: CatalogueRecords): CatalogueProblem[] {
  const owners = new Map<string, string>();
  for (const { value } of models) owners.set(value.id, value.id).set(bareName(value.id), value.id);
  return models.flatMap(({ at, value }) =>
    (value.aliases ?? []).flatMap((alias, index) => {
      const owner = owners.get(alias);
      owners.set(alias, owner ?? value.id);
      const message = `"${alias}" already names ${owner ?? value.id}: choose another alias`;
      return problemUnless(owner === undefined, childLocation(at, "aliases", index), message);
    }),
  );
}

function problemUnless(isValid: boolean, at: SourceLocation, message: string): CatalogueProblem[] {
  return isValid ? [] : [problemAt(at, message)];
}

function hasSlug(list: readonly WithLocation<{ readonly slug: string }>[], slug: string): boolean {
  return list.some(({ value }) => value.slug === slug);
}

function duplicateProblems(parsed: CatalogueRecords): CatalogueProblem[] {
  const duplicatesIn = <T extends { readonly at: SourceLocation }>(
    list: readonly T[],
    name: (item: T) => string,
    field: string,
  ) => {
    const seen = new Map<string, SourceLocation>();
    return list.flatMap((item) => {
      const id = name(item);
      const first = seen.get(id);
      if (first === undefined) {
        seen.set(id, item.at);
        return [];
      }
      const where = `${first.file}${first.field === "" ? "" : ` ${first.field}`}`;
      return [problemAt(childLocation(item.at, field), `"${id}" is defined twice: also in ${where}`)];
    });
  };
  return [
    ...duplicatesIn(parsed.providers, ({ value }) => value.slug, "slug"),
    ...duplicatesIn(parsed.endpoints, ({ provider, value }) => endpointId(provider, value), "model"),
    ...duplicatesIn(parsed.creators, ({ value }) => value.slug, "slug"),
    ...duplicatesIn(parsed.families, ({ value }) => value.slug, "slug"),
    ...duplicatesIn(parsed.models, ({ value }) => value.id, "id"),
    ...duplicatesIn(parsed.currencies, ({ value }) => value.code, "code"),
    ...duplicatesIn(parsed.capabilities, ({ value }) => value.slug, "slug"),
    ...parsed.providers.flatMap(({ at, value }) =>
      duplicatesIn(
        value.regions.map((region, index) => ({ at: childLocation(at, "regions", index), region })),
        ({ region }) => region.id,
        "id",
      ),
    ),
  ];
}

function modelProblems(
  { at, value, creator, family }: CatalogueRecords["models"][number],
  parsed: CatalogueRecords,
): CatalogueProblem[] {
  const known = new Set(parsed.capabilities.map((capability) => capability.value.slug));
  const familyRecord = parsed.families.find((candidate) => candidate.value.slug === family);
  return [
    ...problemUnless(
      hasSlug(parsed.creators, creator),
      childLocation(at, "creator"),
      `there is no creator "${creator}"`,
    ),
    ...problemUnless(familyRecord !== undefined, childLocation(at, "family"), `there is no family "${family}"`),
    ...problemUnless(
      familyRecord === undefined || familyRecord.value.creator === creator,
      childLocation(at, "family"),
      `the family "${family}" belongs to ${familyRecord?.value.creator}, not to ${creator}`,
    ),
    ...problemUnless(
      value.id.startsWith(`${creator}/`),
      childLocation(at, "id"),
      `must begin with its creator: "${creator}/"`,
    ),
    ...value.capabilities.flatMap((slug, index) =>
      problemUnless(
        known.has(slug),
        childLocation(at, "capabilities", index),
        `there is no capability "${slug}" in capabilities.json`,
      ),
    ),
    ...problemUnless(
      value.sandbox !== true || isNamedSimulated(value.name),
      childLocation(at, "name"),
      'a sandbox model must have the word "simulated" in its name',
    ),
  ];
}

function isNamedSimulated(name: string): boolean {
  return /simulated/i.test(name);
}

function providerProblems(
  { at, value }: CatalogueRecords["providers"][number],
  parsed: CatalogueRecords,
): CatalogueProblem[] {
  const currencies = new Set(parsed.currencies.map((currency) => currency.value.code));
  return [
    ...problemUnless(
      currencies.has(value.currency),
      childLocation(at, "currency"),
      unknownCurrencyMessage(value.currency),
    ),
    ...problemUnless(
      value.sandbox !== true || isNamedSimulated(value.name),
      childLocation(at, "name"),
      'a sandbox provider must have the word "simulated" in its name',
    ),
    ...value.regions.flatMap((region, index) =>
      levelProblems(
        {
          level: region.level,
          reason: region.level_reason,
          countries: region.countries,
          hasEvidence: value.sandbox === true || (value.evidence ?? []).length > 0,
        },
        childLocation(at, "regions", index),
      ),
    ),
  ];
}

function futureProblems(evidence: readonly EvidenceEntry[], at: SourceLocation, today: string): CatalogueProblem[] {
  return evidence.flatMap(({ read }, index) =>
    problemUnless(read <= today, childLocation(at, index, "read"), `${read} is in the future`),
  );
}

function unknownCurrencyMessage(code: string): string {
  return `there is no currency "${code}" in currencies.json`;
}

type LevelClaim = {
  readonly level: string | undefined;
  readonly reason: string | undefined;
  readonly countries: readonly string[];
  readonly hasEvidence: boolean;
};

/** A level above L0 claims a location, so it needs a reason, evidence and EEA countries only. */
function levelProblems({ level, reason, countries, hasEvidence }: LevelClaim, at: SourceLocation): CatalogueProblem[] {
  if (level === undefined || level === "UNCLASSIFIED") return [];
  const problems = problemUnless(
    reason !== undefined,
    childLocation(at, "level_reason"),
    `is missing: state why the level is ${level}`,
  );
  if (level === "L0") return problems;
  return [
    ...problems,
    ...problemUnless(
      hasEvidence,
      childLocation(at, "level"),
      `${level} needs at least one entry in the provider's evidence`,
    ),
    ...countryProblems(level, countries, at),
  ];
}

function countryProblems(
  level: string | undefined,
  countries: readonly string[],
  at: SourceLocation,
): CatalogueProblem[] {
  if (level === undefined || level === "UNCLASSIFIED" || level === "L0") return [];
  const outside = countries.filter((country) => !EEA.has(country));
  return [
    ...problemUnless(countries.length > 0, childLocation(at, "countries"), `${level} requires compute countries`),
    ...problemUnless(
      outside.length === 0,
      childLocation(at, "countries"),
      `${level} requires EEA countries only, but ${outside.join(", ")} is outside`,
    ),
  ];
}

/**
 * An endpoint's own countries are validated against the level inherited from its region, whose evidence covers other
 * countries. The region states the reason.
 */
function endpointLevelProblems(
  { level, level_reason: reason, countries, evidence }: EndpointEntry,
  provider: ProviderRecord,
  region: ProviderRecord["regions"][number] | undefined,
  at: SourceLocation,
): CatalogueProblem[] {
  if (level === undefined) return countries === undefined ? [] : countryProblems(region?.level, countries, at);
  const hasEvidence = provider.sandbox === true || [...(evidence ?? []), ...(provider.evidence ?? [])].length > 0;
  return levelProblems({ level, reason, countries: countries ?? region?.countries ?? [], hasEvidence }, at);
}

function endpointProblems(parsed: CatalogueRecords): CatalogueProblem[] {
  const models = new Map(parsed.models.map((model) => [model.value.id, model.value]));
  const providers = new Map(parsed.providers.map((provider) => [provider.value.slug, provider.value]));
  return parsed.endpoints.flatMap(({ at, value, provider: slug }) => {
    const provider = providers.get(slug);
    // An unknown provider is reported elsewhere, and nothing else can be checked without it.
    if (provider === undefined) return [];
    const model = models.get(value.model);
    const region = provider.regions.find(({ id }) => id === value.region);
    const regions = provider.regions.map(({ id }) => id).join(", ");
    return [
      ...problemUnless(
        model !== undefined,
        childLocation(at, "model"),
        `there is no model "${value.model}" in any creator's file`,
      ),
      ...problemUnless(
        region !== undefined,
        childLocation(at, "region"),
        `the provider has no region "${value.region}": ${regions}`,
      ),
      ...value.surfaces.flatMap((surface, index) =>
        problemUnless(
          model === undefined || model.surfaces.includes(surface),
          childLocation(at, "surfaces", index),
          `the model ${value.model} does not list the surface ${surface}`,
        ),
      ),
      ...problemUnless(
        model === undefined || (model.sandbox ?? false) === (provider.sandbox ?? false),
        childLocation(at, "model"),
        "simulated models must be served by simulated providers only, and by no other",
      ),
      ...problemUnless(
        (value.moderations ?? provider.moderations)?.interface !== "decisions" ||
          !value.surfaces.includes("moderations") ||
          (value.surfaces.includes("decisions") && value.decisions_interface !== undefined),
        childLocation(at, "surfaces"),
        "must list decisions, with a decisions_interface, because moderations go over it",
      ),
      ...problemUnless(
        (value.images ?? provider.images)?.interface !== "mistral" ||
          !value.surfaces.includes("images") ||
          provider.zero_data_retention === "no" ||
          value.zero_data_retention === "no",
        childLocation(at, "zero_data_retention"),
        "must be no, because Mistral keeps the file of a generated image",
      ),
      ...endpointLevelProblems(value, provider, region, at),
    ];
  });
}

function currencyProblems(parsed: CatalogueRecords, today: string): CatalogueProblem[] {
  const euro = parsed.currencies.find(({ value }) => value.code === "EUR");
  const [place] = [...parsed.currencies, ...parsed.providers];
  const at = place?.at ?? { file: "currencies.json", field: "" };
  return [
    ...problemUnless(euro !== undefined, at, "currencies.json must list EUR: every rate is units for one euro"),
    ...problemUnless(
      euro === undefined || Number(euro.value.per_eur) === 1,
      childLocation(euro?.at ?? at, "per_eur"),
      "must be 1 for EUR",
    ),
    ...parsed.currencies.flatMap(({ at: row, value }) => [
      ...problemUnless(Number(value.per_eur) > 0, childLocation(row, "per_eur"), "must be above zero"),
      ...problemUnless(
        value.rate_date <= today,
        childLocation(row, "rate_date"),
        `${value.rate_date} is in the future`,
      ),
    ]),
  ];
}
