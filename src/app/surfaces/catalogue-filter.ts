import type { z } from "zod";
import { fault, invalidValue } from "../../contract/faults.ts";
import { FILTER_NAMES, type FilterName } from "../../contract/schemas/catalogue-values.ts";
import { SURFACES, type Surface } from "../../contract/surfaces.ts";
import { rateBetween } from "../../domain/billing/charge.ts";
import type { CatalogueSnapshot } from "../../domain/catalogue/catalogue.ts";
import { knownCountries } from "../../domain/routing/policy.ts";
import { LEVELS } from "../../domain/tenancy/policy.ts";
import { divideHalfUp, parseNanos } from "../../kit/money.ts";
import type { Exchange } from "../exchange.ts";
import { readQuery } from "../request-input.ts";
import { shownEndpoints, shownFamilies, shownModels } from "./public-catalogue.ts";

/** Filters of a list; undefined means no filter. */
export type Selection = {
  readonly creator: ReadonlySet<string> | undefined;
  readonly family: ReadonlySet<string> | undefined;
  readonly provider: ReadonlySet<string> | undefined;
  readonly capability: ReadonlySet<string> | undefined;
  readonly surface: readonly Surface[] | undefined;
  readonly level: ReadonlySet<string> | undefined;
  readonly country: ReadonlySet<string> | undefined;
  readonly words: readonly string[] | undefined;
};

/** Rejects an unknown query parameter and names the supported ones. */
export function readStrictQuery<T extends z.ZodRawShape>(exchange: Exchange, schema: z.ZodObject<T>) {
  const known = Object.keys(schema.shape);
  for (const name of exchange.query.keys()) {
    if (known.includes(name)) continue;
    const param = name.slice(0, 64);
    throw fault("unsupported_parameter", {
      message: `This list does not support the parameter "${param}". It supports ${known.length === 0 ? "no parameters" : known.join(", ")}.`,
      param,
    });
  }
  return readQuery(exchange, schema);
}

/** Ignores unknown query parameters, which some clients add. */
export function readLenientQuery<T extends z.ZodRawShape>(exchange: Exchange, schema: z.ZodObject<T>) {
  const known = new URLSearchParams([...exchange.query].filter(([name]) => Object.hasOwn(schema.shape, name)));
  return readQuery({ query: known }, schema);
}

/** Rejects filter values that are not in the catalogue, instead of returning an empty page. */
export function readSelection(
  query: Readonly<Partial<Record<FilterName, string | undefined>>>,
  snapshot: CatalogueSnapshot,
): Selection {
  const allowedValues = (name: FilterName, allowed: Iterable<string> | (() => Iterable<string>)) => {
    const text = query[name];
    if (text === undefined) return undefined;
    return parseValues(name, text, typeof allowed === "function" ? allowed() : allowed);
  };
  const surfaces = allowedValues("surface", SURFACES);
  return {
    creator: allowedValues("creator", snapshot.creators.keys()),
    family: allowedValues("family", () => shownFamilies(snapshot).map(({ slug }) => slug)),
    provider: allowedValues("provider", snapshot.providers.keys()),
    capability: allowedValues("capability", snapshot.capabilities.keys()),
    surface: surfaces === undefined ? undefined : SURFACES.filter((surface) => surfaces.has(surface)),
    level: allowedValues("level", [...LEVELS, "UNCLASSIFIED"]),
    country: query.country === undefined ? undefined : parseCountries(query.country, snapshot),
    words: query.q === undefined ? undefined : wordsOf(query.q),
  };
}

/** Bounds on model properties; undefined means no bound. */
export type Bounds = {
  readonly modalities: ReadonlySet<string> | undefined;
  readonly contextTokensMin: number | undefined;
  /** Input plus output price of one million tokens. */
  readonly priceNanosEurMax: bigint | undefined;
};

type BoundsQuery = {
  readonly modality?: string | undefined;
  readonly context_min?: number | undefined;
  readonly price_max?: string | undefined;
  readonly currency?: string | undefined;
};

export function readBounds(
  { modality, context_min, price_max, currency }: BoundsQuery,
  snapshot: CatalogueSnapshot,
): Bounds {
  const known = shownModels(snapshot).flatMap(({ modalitiesIn, modalitiesOut }) => [...modalitiesIn, ...modalitiesOut]);
  const priceMaxNanos = price_max === undefined ? undefined : parseNanos(price_max);
  const rate = rateBetween(snapshot.currencies, currency ?? "EUR", "EUR");
  return {
    modalities: modality === undefined ? undefined : parseValues("modality", modality, known),
    contextTokensMin: context_min,
    priceNanosEurMax:
      priceMaxNanos === undefined || rate === undefined
        ? undefined
        : divideHalfUp(priceMaxNanos * rate.numerator, rate.denominator),
  };
}

export function wordsOf(q: string): readonly string[] {
  return q
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
}

/** True when a filter other than the search text is set. */
export function picksOffers(selection: Selection): boolean {
  return FILTER_NAMES.some((name) => name !== "q" && selection[name] !== undefined);
}

export function readCurrency(code: string | undefined, snapshot: CatalogueSnapshot): string | undefined {
  if (code === undefined || snapshot.currencies.has(code)) return code;
  throw invalidValue("currency", `must be one of ${[...snapshot.currencies.keys()].join(", ")}`);
}

/** ISO codes are written in either case. */
function parseCountries(text: string, snapshot: CatalogueSnapshot): ReadonlySet<string> {
  return parseValues("country", text.toUpperCase(), countriesOf(snapshot));
}

function countriesOf(snapshot: CatalogueSnapshot): Set<string> {
  const endpoints = shownModels(snapshot).flatMap((model) => shownEndpoints(snapshot, model));
  return new Set(endpoints.flatMap(({ sovereignty }) => knownCountries(sovereignty)));
}

function parseValues(name: string, text: string, allowed: Iterable<string>): ReadonlySet<string> {
  const known = new Set(allowed);
  const values = text.split(",").map((value) => value.trim());
  for (const value of values) {
    if (!known.has(value))
      throw invalidValue(name, `must be one of ${[...known].toSorted().join(", ")}, not "${value.slice(0, 64)}"`);
  }
  return new Set(values);
}
