import type { CatalogueSnapshot } from "./catalogue.ts";
import { compileCatalogue } from "./compile.ts";
import { isoDay, isStale } from "./levels.ts";
import { type CatalogueProblem, childLocation, problemAt } from "./problems.ts";
import { type CatalogueFiles, readFolders } from "./read-folders.ts";
import { type CatalogueRecords, endpointId, evidenceLists } from "./records.ts";
import { validateRecords } from "./validate-records.ts";

export type CatalogueLoadResult =
  | { readonly snapshot: CatalogueSnapshot }
  | { readonly problems: readonly CatalogueProblem[] };

/** Release date of this code: an earlier system clock is wrong and cannot judge future dates. */
const EARLIEST_PLAUSIBLE_DAY = "2026-11-17";

/** Reads, validates and compiles the folders into a snapshot, or returns all problems with file and field. */
export async function loadCatalogue(
  folders: readonly string[],
  nowMs: number,
  files: CatalogueFiles,
): Promise<CatalogueLoadResult> {
  const { parsed, texts } = await readFolders(folders, files);
  const problems = problemsIn(parsed, nowMs);
  return problems.length > 0 ? { problems } : { snapshot: compileCatalogue(parsed, texts, nowMs) };
}

function problemsIn(parsed: CatalogueRecords, nowMs: number): readonly CatalogueProblem[] {
  // An unreadable file would cause problems in every record that refers to it, so parse problems are reported alone.
  if (parsed.problems.length > 0) return parsed.problems;
  const today = isoDay(nowMs);
  return validateRecords(parsed, today > EARLIEST_PLAUSIBLE_DAY ? today : EARLIEST_PLAUSIBLE_DAY);
}

export type CatalogueCheck = {
  readonly ok: boolean;
  /** Problems that prevent startup. */
  readonly problems: readonly CatalogueProblem[];
  /** Non-fatal findings: stale evidence, endpoints that are not callable. */
  readonly warnings: readonly CatalogueProblem[];
  readonly counts: Readonly<Record<CountedRecord, number>>;
};

export type CountedRecord =
  | "providers"
  | "regions"
  | "endpoints"
  | "endpoints_priced"
  | "endpoints_retired"
  | "creators"
  | "families"
  | "models"
  | "currencies"
  | "capabilities";

/** Backs `gateway catalogue check`. */
export async function checkCatalogue(
  folders: readonly string[],
  nowMs: number,
  files: CatalogueFiles,
): Promise<CatalogueCheck> {
  const { parsed } = await readFolders(folders, files);
  const problems = problemsIn(parsed, nowMs);
  return { ok: problems.length === 0, problems, warnings: warningsIn(parsed, nowMs), counts: countsOf(parsed) };
}

function countsOf(parsed: CatalogueRecords): CatalogueCheck["counts"] {
  return {
    providers: parsed.providers.length,
    regions: parsed.providers.reduce((sum, { value }) => sum + value.regions.length, 0),
    endpoints: parsed.endpoints.length,
    endpoints_priced: parsed.endpoints.filter(({ value }) => (value.prices ?? []).length > 0).length,
    endpoints_retired: parsed.endpoints.filter(({ value }) => value.status === "retired").length,
    creators: parsed.creators.length,
    families: parsed.families.length,
    models: parsed.models.length,
    currencies: parsed.currencies.length,
    capabilities: parsed.capabilities.length,
  };
}

function warningsIn(parsed: CatalogueRecords, nowMs: number): CatalogueProblem[] {
  const providers = new Map(parsed.providers.map(({ value }) => [value.slug, value]));
  const served = new Set(parsed.endpoints.map(({ value }) => value.model));
  return [
    ...evidenceLists(parsed).flatMap(({ at, value }) =>
      value.flatMap(({ read }, index) =>
        isStale(read, nowMs) ? [problemAt(childLocation(at, index, "read"), staleMessage(read))] : [],
      ),
    ),
    ...parsed.endpoints.flatMap(({ at, value, provider: slug }) => {
      const id = endpointId(slug, value);
      if (value.status === "retired") return [];
      const provider = providers.get(slug);
      const region = provider?.regions.find((candidate) => candidate.id === value.region);
      const address = value.base_url === undefined ? region?.base_url : value.base_url;
      const dialects = value.dialects ?? provider?.dialects ?? [];
      const isSpoken = dialects.length > 0 || (value.responses_api ?? provider?.responses_api) === true;
      return [
        ...((value.prices ?? []).length === 0 ? [problemAt(at, `${id} has no price, so it is not callable`)] : []),
        ...(address == null || address.includes("{")
          ? [problemAt(at, `${id} needs PROVIDER_<SLUG>_BASE_URL: its URL is unknown or has a placeholder`)]
          : []),
        ...(value.surfaces.includes("chat") && !isSpoken
          ? [problemAt(at, `${id} serves chat but names no dialect, so it is not callable`)]
          : []),
      ];
    }),
    ...parsed.currencies.flatMap(({ at, value }) =>
      isStale(value.rate_date, nowMs) ? [problemAt(childLocation(at, "rate_date"), staleMessage(value.rate_date))] : [],
    ),
    ...parsed.models.flatMap(({ at, value }) =>
      served.has(value.id) ? [] : [problemAt(at, `${value.id} has no endpoint at any provider`)],
    ),
  ];
}

function staleMessage(read: string): string {
  return `${read} is more than 180 days ago: read the source again`;
}
