import type { CatalogueSnapshot, Endpoint, Model } from "./catalogue.ts";
import { NODE_CREATOR } from "./node-catalogue.ts";

/** A model and its endpoints, as far as names are concerned. */
type NamedModel = Pick<Model, "id" | "aliases" | "releaseDate" | "sandbox">;
type DatedModel = Pick<Model, "id" | "releaseDate">;
type NamedEndpoint = Pick<Endpoint, "model" | "upstreamModel" | "sandbox">;

const LATEST = "-latest";
/** A snapshot date as providers append it: `-20251001`, `-2024-08-06` or `@20251001`. */
const SNAPSHOT_DATE = /[-@]20\d{2}(-?)(0[1-9]|1[0-2])\1(0[1-9]|[12]\d|3[01])$/;
/** Versions and dates within a name: `5`, `3.8`, `v4`, `2512`. */
const VERSION = /^v?\d+(\.\d+)*$/;

/**
 * Every name besides the canonical id under which a model is known, from the whole catalogue: neither a policy nor a connected
 * provider changes what a name means. In the order of precedence: the id without its creator and the aliases of the file, the
 * names that providers use, and `<family>-latest`. Simulated models are known by their id alone.
 */
export function modelNamesOf(models: readonly NamedModel[], endpoints: readonly NamedEndpoint[]): [string, string[]][] {
  const real = models.filter(({ sandbox }) => !sandbox);
  const own = groupIds(real.flatMap(({ id, aliases }) => [bareName(id), ...(aliases ?? [])].map((name) => [name, id])));
  const upstream = groupIds(
    endpoints.flatMap(({ model, upstreamModel, sandbox }) => (sandbox ? [] : [[upstreamModel, model]])),
  );
  return [...new Map([...latestNames(real, own), ...upstream, ...own])];
}

/** Ids by name, each once, in the order of the alphabet. */
function groupIds(pairs: readonly (readonly string[])[]): Map<string, string[]> {
  const grouped = Map.groupBy(pairs, ([name = ""]) => name);
  return new Map([...grouped].map(([name, list]) => [name, [...new Set(list.map(([, id = ""]) => id))].toSorted()]));
}

/** The id without its creator. */
export function bareName(id: string): string {
  return id.slice(id.indexOf("/") + 1);
}

/** `claude-opus-latest`: the newest of the models that differ by their version alone; several when nothing orders them. */
function latestNames(models: readonly NamedModel[], own: ReadonlyMap<string, unknown>): Map<string, string[]> {
  const families = Map.groupBy(models, ({ id }) => splitName(id).family);
  const names = new Map<string, string[]>();
  for (const [family, members] of families) {
    if (family === "" || own.has(family)) continue;
    const newest = members.filter((one) => !members.some((other) => isNewerModel(other, one)));
    names.set(`${family}${LATEST}`, newest.map(({ id }) => id).toSorted());
  }
  return names;
}

/** By release date; where dates are missing or equal, by version if nothing else of the names differs. */
export function isNewerModel(one: DatedModel, other: DatedModel): boolean {
  const [date, otherDate] = [one.releaseDate ?? "", other.releaseDate ?? ""];
  // A month alone is neither before nor after a day in it.
  if (!date.startsWith(otherDate) && !otherDate.startsWith(date)) return date > otherDate;
  const [name, otherName] = [splitName(one.id), splitName(other.id)];
  if (name.family !== otherName.family) return false;
  const [versions, others] = [name.versions, otherName.versions];
  if (versions.some(isDate) !== others.some(isDate)) return false;
  for (const [at, version] of versions.entries()) if (version !== (others[at] ?? 0)) return version > (others[at] ?? 0);
  return false;
}

/** `2512`, `2507`: months do not compare with versions such as `3.0`. */
const isDate = (version: number): boolean => version >= 1000;

/** The id without its creator as a family and its versions: `claude-opus-5-5` is `claude-opus` and 5, 5. */
function splitName(id: string): { readonly family: string; readonly versions: readonly number[] } {
  const parts = bareName(id).split("-");
  const versions = parts.filter((part) => VERSION.test(part));
  return {
    family: parts.filter((part) => !VERSION.test(part)).join("-"),
    versions: versions.flatMap((part) => part.replace("v", "").split(".").map(Number)),
  };
}

/**
 * The ids that a requested name stands for; empty when it stands for none. The id itself always wins. A name with a snapshot
 * date or `-latest` that the catalogue does not list is the model without that suffix.
 */
export function findModelIds(
  requested: string,
  { models, modelNames }: Pick<CatalogueSnapshot, "models" | "modelNames">,
): readonly string[] {
  if (models.has(requested)) return [requested];
  if (requested.startsWith(`${NODE_CREATOR}/`)) return [];
  const known = modelNames.get(requested);
  if (known !== undefined) return known;
  const undated = withoutSuffix(requested);
  if (undated === requested) return [];
  return models.get(undated)?.sandbox === false ? [undated] : (modelNames.get(undated) ?? []);
}

function withoutSuffix(name: string): string {
  return name.endsWith(LATEST) ? name.slice(0, -LATEST.length) : name.replace(SNAPSHOT_DATE, "");
}

/** The canonical id of an unambiguous name; any other name as it is. */
export function canonicalModelId(requested: string, names: Pick<CatalogueSnapshot, "models" | "modelNames">): string {
  const ids = findModelIds(requested, names);
  return ids.length === 1 ? (ids[0] ?? requested) : requested;
}
