import type { z } from "zod";
import { fault, invalidValue } from "../../contract/faults.ts";
import { FILTER_NAMES, type FilterName } from "../../contract/schemas/catalogue-values.ts";
import { rateBetween } from "../../domain/billing/exchange-rate.ts";
import { type CatalogueSnapshot, knownCountries } from "../../domain/catalogue/catalogue.ts";
import { SURFACES, type Surface } from "../../domain/record/record.ts";
import { LEVELS } from "../../domain/tenancy/policy.ts";
import { divideHalfUp, parseNanos } from "../../kit/money.ts";
import type { Exchange } from "../exchange.ts";
import { readQuery } from "../request-input.ts";
import { shownEndpoints, shownFamilies, shownModels } from "./public-catalogue.ts";

/** What a list is narrowed to; what is undefined does not narrow. */
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

/** The query through its schema; a name that the list does not take is answered with those that it does. */
export function readStrictQuery<T extends z.ZodRawShape>(exchange: Exchange, schema: z.ZodObject<T>) {
  const known = Object.keys(schema.shape);
  for (const name of exchange.query.keys()) {
    if (known.includes(name)) continue;
    const param = name.slice(0, 64);
    throw fault("unsupported_parameter", {
      message: `This list does not take "${param}". It takes ${known.length === 0 ? "no parameters" : known.join(", ")}.`,
      param,
    });
  }
  return readQuery(exchange, schema);
}

/** The same for lists whose readers add parameters of their own: those are passed over. */
export function readLenientQuery<T extends z.ZodRawShape>(exchange: Exchange, schema: z.ZodObject<T>) {
  const known = new URLSearchParams([...exchange.query].filter(([name]) => Object.hasOwn(schema.shape, name)));
  return readQuery({ query: known }, schema);
}

/** Checks every value against the catalogue: a filter that can match nothing is a mistake, not an empty page. */
export function readSelection(
  query: Readonly<Partial<Record<FilterName, string | undefined>>>,
  snapshot: CatalogueSnapshot,
): Selection {
  const among = (name: FilterName, allowed: Iterable<string>) => {
    const text = query[name];
    return text === undefined ? undefined : valuesOf(name, text, allowed);
  };
  const surfaces = among("surface", SURFACES);
  return {
    creator: among("creator", snapshot.creators.keys()),
    family: among(
      "family",
      shownFamilies(snapshot).map(({ slug }) => slug),
    ),
    provider: among("provider", snapshot.providers.keys()),
    capability: among("capability", snapshot.capabilities.keys()),
    surface: surfaces === undefined ? undefined : SURFACES.filter((surface) => surfaces.has(surface)),
    level: among("level", [...LEVELS, "UNCLASSIFIED"]),
    country: among("country", countriesOf(snapshot)),
    words: query.q === undefined ? undefined : wordsOf(query.q),
  };
}

/** What a model must have beside its names; what is undefined does not bound. */
export type Bounds = {
  readonly modalities: ReadonlySet<string> | undefined;
  readonly contextTokensMin: number | undefined;
  /** Input plus output of a million tokens, in nano-euro. */
  readonly priceNanosEurMax: bigint | undefined;
};

type Bounding = {
  readonly modality?: string | undefined;
  readonly context_min?: number | undefined;
  readonly price_max?: string | undefined;
  readonly currency?: string | undefined;
};

export function readBounds(
  { modality, context_min, price_max, currency }: Bounding,
  snapshot: CatalogueSnapshot,
): Bounds {
  const known = shownModels(snapshot).flatMap(({ modalitiesIn, modalitiesOut }) => [...modalitiesIn, ...modalitiesOut]);
  const most = price_max === undefined ? undefined : parseNanos(price_max);
  const rate = rateBetween(snapshot.currencies, currency ?? "EUR", "EUR");
  return {
    modalities: modality === undefined ? undefined : valuesOf("modality", modality, known),
    contextTokensMin: context_min,
    priceNanosEurMax:
      most === undefined || rate === undefined ? undefined : divideHalfUp(most * rate.numerator, rate.denominator),
  };
}

export function wordsOf(q: string): readonly string[] {
  return q
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
}

/** Whether anything but words narrows the list. */
export function picksOffers(selection: Selection): boolean {
  return FILTER_NAMES.some((name) => name !== "q" && selection[name] !== undefined);
}

export function readCurrency(code: string | undefined, snapshot: CatalogueSnapshot): string | undefined {
  if (code === undefined || snapshot.currencies.has(code)) return code;
  throw invalidValue("currency", `use one of ${[...snapshot.currencies.keys()].join(", ")}`);
}

function countriesOf(snapshot: CatalogueSnapshot): Set<string> {
  const endpoints = shownModels(snapshot).flatMap((model) => shownEndpoints(snapshot, model));
  return new Set(endpoints.flatMap(({ sovereignty }) => knownCountries(sovereignty)));
}

function valuesOf(name: string, text: string, allowed: Iterable<string>): ReadonlySet<string> {
  const known = new Set(allowed);
  const values = text.split(",").map((value) => value.trim());
  for (const value of values) {
    if (!known.has(value))
      throw invalidValue(name, `"${value.slice(0, 64)}" is none of ${[...known].toSorted().join(", ")}`);
  }
  return new Set(values);
}
