import { EEA } from "./levels.ts";
import { isNodeProvider, NODE_CREATOR } from "./node-rows.ts";
import { endpointId, type Parsed, type ProviderFacts } from "./parsed.ts";
import { type CatalogueProblem, inside, type Located, type Place, problemAt } from "./problems.ts";
import { priceProblems } from "./references-prices.ts";
import type { EndpointEntry } from "./schema.ts";

/** What no single file can know: whether names exist, occur once, and levels stand on something. */
export function checkReferences(parsed: Parsed, today: string): CatalogueProblem[] {
  return [
    ...repeated(parsed),
    ...keptForNodes(parsed),
    ...parsed.models.flatMap((model) => modelProblems(model, parsed)),
    ...parsed.families.flatMap(({ at, value }) =>
      unless(has(parsed.creators, value.creator), inside(at, "creator"), `there is no creator "${value.creator}"`),
    ),
    ...parsed.providers.flatMap((provider) => providerProblems(provider, parsed, today)),
    ...endpointProblems(parsed),
    ...currencyProblems(parsed, today),
    ...priceProblems(parsed, today),
  ];
}

/** Workspaces' own machines have these names, and rules name them by it. */
function keptForNodes({ providers, creators }: Parsed): CatalogueProblem[] {
  const words = "this name is kept for workspaces' own nodes: take another";
  return [
    ...providers.flatMap(({ at, value }) => unless(!isNodeProvider(value.slug), inside(at, "slug"), words)),
    ...creators.flatMap(({ at, value }) => unless(value.slug !== NODE_CREATOR, inside(at, "slug"), words)),
  ];
}

function unless(fine: boolean, at: Place, message: string): CatalogueProblem[] {
  return fine ? [] : [problemAt(at, message)];
}

function has(list: readonly Located<{ readonly slug: string }>[], slug: string): boolean {
  return list.some(({ value }) => value.slug === slug);
}

function repeated(parsed: Parsed): CatalogueProblem[] {
  const twice = <T extends { readonly at: Place }>(list: readonly T[], name: (item: T) => string, field: string) => {
    const seen = new Map<string, Place>();
    return list.flatMap((item) => {
      const id = name(item);
      const first = seen.get(id);
      if (first === undefined) {
        seen.set(id, item.at);
        return [];
      }
      const where = `${first.file}${first.field === "" ? "" : ` ${first.field}`}`;
      return [problemAt(inside(item.at, field), `"${id}" is defined twice: also in ${where}`)];
    });
  };
  return [
    ...twice(parsed.providers, ({ value }) => value.slug, "slug"),
    ...twice(parsed.endpoints, ({ provider, value }) => endpointId(provider, value), "model"),
    ...twice(parsed.creators, ({ value }) => value.slug, "slug"),
    ...twice(parsed.families, ({ value }) => value.slug, "slug"),
    ...twice(parsed.models, ({ value }) => value.id, "id"),
    ...twice(parsed.currencies, ({ value }) => value.code, "code"),
    ...twice(parsed.capabilities, ({ value }) => value.slug, "slug"),
    ...parsed.providers.flatMap(({ at, value }) =>
      twice(
        value.regions.map((region, index) => ({ at: inside(at, "regions", index), region })),
        ({ region }) => region.id,
        "id",
      ),
    ),
  ];
}

function modelProblems({ at, value, creator, family }: Parsed["models"][number], parsed: Parsed): CatalogueProblem[] {
  const known = new Set(parsed.capabilities.map((capability) => capability.value.slug));
  const home = parsed.families.find((candidate) => candidate.value.slug === family);
  return [
    ...unless(has(parsed.creators, creator), inside(at, "creator"), `there is no creator "${creator}"`),
    ...unless(home !== undefined, inside(at, "family"), `there is no family "${family}"`),
    ...unless(
      home === undefined || home.value.creator === creator,
      inside(at, "family"),
      `the family "${family}" belongs to ${home?.value.creator}, not to ${creator}`,
    ),
    ...unless(value.id.startsWith(`${creator}/`), inside(at, "id"), `must begin with its creator: "${creator}/"`),
    ...value.capabilities.flatMap((slug, index) =>
      unless(
        known.has(slug),
        inside(at, "capabilities", index),
        `there is no capability "${slug}" in capabilities.json`,
      ),
    ),
    ...unless(
      value.sandbox !== true || saysSimulated(value.name),
      inside(at, "name"),
      'a sandbox model must say so in its name: put the word "simulated" into it',
    ),
  ];
}

function saysSimulated(name: string): boolean {
  return /simulated/i.test(name);
}

function providerProblems(
  { at, value }: Parsed["providers"][number],
  parsed: Parsed,
  today: string,
): CatalogueProblem[] {
  const currencies = new Set(parsed.currencies.map((currency) => currency.value.code));
  return [
    ...unless(currencies.has(value.currency), inside(at, "currency"), unknownCurrency(value.currency)),
    ...(value.evidence ?? []).flatMap(({ read }, index) =>
      unless(read <= today, inside(at, "evidence", index, "read"), `${read} lies in the future`),
    ),
    ...unless(
      value.sandbox !== true || saysSimulated(value.name),
      inside(at, "name"),
      'a sandbox provider must say so in its name: put the word "simulated" into it',
    ),
    ...value.regions.flatMap((region, index) =>
      levelProblems(
        {
          level: region.level,
          reason: region.level_reason,
          countries: region.countries,
          evidenced: value.sandbox === true || (value.evidence ?? []).length > 0,
        },
        inside(at, "regions", index),
      ),
    ),
  ];
}

function unknownCurrency(code: string): string {
  return `there is no currency "${code}" in currencies.json`;
}

type Levelled = {
  readonly level: string | undefined;
  readonly reason: string | undefined;
  readonly countries: readonly string[];
  readonly evidenced: boolean;
};

/** A level above L0 is a promise about location: it needs a reason, evidence and countries in the EEA only. */
function levelProblems({ level, reason, countries, evidenced }: Levelled, at: Place): CatalogueProblem[] {
  if (level === undefined || level === "UNCLASSIFIED") return [];
  const problems = unless(
    reason !== undefined,
    inside(at, "level_reason"),
    `is missing: say why the level is ${level}`,
  );
  if (level === "L0") return problems;
  return [
    ...problems,
    ...unless(evidenced, inside(at, "level"), `${level} needs at least one entry in the provider's evidence`),
    ...countryProblems(level, countries, at),
  ];
}

function countryProblems(level: string | undefined, countries: readonly string[], at: Place): CatalogueProblem[] {
  if (level === undefined || level === "UNCLASSIFIED" || level === "L0") return [];
  const outside = countries.filter((country) => !EEA.has(country));
  return [
    ...unless(countries.length > 0, inside(at, "countries"), `${level} needs the countries it computes in`),
    ...unless(
      outside.length === 0,
      inside(at, "countries"),
      `${level} needs countries of the EEA only, and ${outside.join(", ")} is outside`,
    ),
  ];
}

/**
 * Countries of its own are held against the level that an endpoint has from its region: that was shown for others. Why the
 * region has it is the region's to say.
 */
function endpointLevelProblems(
  { level, level_reason: reason, countries, evidence }: EndpointEntry,
  provider: ProviderFacts,
  region: ProviderFacts["regions"][number] | undefined,
  at: Place,
): CatalogueProblem[] {
  if (level === undefined) return countries === undefined ? [] : countryProblems(region?.level, countries, at);
  const evidenced = provider.sandbox === true || evidence !== undefined || (provider.evidence ?? []).length > 0;
  return levelProblems({ level, reason, countries: countries ?? region?.countries ?? [], evidenced }, at);
}

function endpointProblems(parsed: Parsed): CatalogueProblem[] {
  const models = new Map(parsed.models.map((model) => [model.value.id, model.value]));
  const providers = new Map(parsed.providers.map((provider) => [provider.value.slug, provider.value]));
  return parsed.endpoints.flatMap(({ at, value, provider: slug }) => {
    const provider = providers.get(slug);
    // An unknown provider has its own problem: without it nothing else can be said.
    if (provider === undefined) return [];
    const model = models.get(value.model);
    const region = provider.regions.find(({ id }) => id === value.region);
    const regions = provider.regions.map(({ id }) => id).join(", ");
    return [
      ...unless(model !== undefined, inside(at, "model"), `there is no model "${value.model}" in any creator's file`),
      ...unless(region !== undefined, inside(at, "region"), `the provider has no region "${value.region}": ${regions}`),
      ...value.surfaces.flatMap((surface, index) =>
        unless(
          model === undefined || model.surfaces.includes(surface),
          inside(at, "surfaces", index),
          `the model ${value.model} does not list the surface ${surface}`,
        ),
      ),
      ...unless(
        model === undefined || (model.sandbox ?? false) === (provider.sandbox ?? false),
        inside(at, "model"),
        "a simulated provider serves simulated models only, and no other provider serves them",
      ),
      ...endpointLevelProblems(value, provider, region, at),
    ];
  });
}

function currencyProblems(parsed: Parsed, today: string): CatalogueProblem[] {
  const euro = parsed.currencies.find(({ value }) => value.code === "EUR");
  const [place] = [...parsed.currencies, ...parsed.providers];
  const at = place?.at ?? { file: "currencies.json", field: "" };
  return [
    ...unless(euro !== undefined, at, "currencies.json must list EUR: every rate is units for one euro"),
    ...unless(
      euro === undefined || Number(euro.value.per_eur) === 1,
      inside(euro?.at ?? at, "per_eur"),
      "must be 1 for EUR",
    ),
    ...parsed.currencies.flatMap(({ at: row, value }) => [
      ...unless(Number(value.per_eur) > 0, inside(row, "per_eur"), "must be above zero"),
      ...unless(value.rate_date <= today, inside(row, "rate_date"), `${value.rate_date} lies in the future`),
    ]),
  ];
}
