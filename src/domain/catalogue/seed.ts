import type { z } from "zod";
import {
  type CatalogueProblem,
  childLocation,
  parseAt,
  problemAt,
  type SourceLocation,
  type WithLocation,
} from "./problems.ts";
import type { CatalogueRecords } from "./records.ts";
import { endpointFromSeed, modelFromSeed, providerFromSeed } from "./seed-convert.ts";
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

/** The seven parsed JSON values to the same records that the product's own files give. */
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
      const place = childLocation(at, index);
      const result = parseAt(schema, row, place);
      if ("value" in result) return [{ at: place, value: result.value }];
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
