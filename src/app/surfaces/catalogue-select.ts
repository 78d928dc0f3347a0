import type { ModelSort } from "../../contract/schemas/catalogue-values.ts";
import { rateBetween } from "../../domain/billing/charge.ts";
import { billedPrice } from "../../domain/billing/speech-price.ts";
import { servesSurface } from "../../domain/catalogue/callability.ts";
import {
  type CatalogueSnapshot,
  type Endpoint,
  type Model,
  type Price,
  priceAt,
} from "../../domain/catalogue/catalogue.ts";
import type { Surface } from "../../domain/record/record.ts";
import { expectedUnitNanos, unitRates } from "../../domain/routing/cost.ts";
import { knownCountries } from "../../domain/routing/policy.ts";
import { divideHalfUp } from "../../kit/money.ts";
import { expectedTranscriptTokens } from "../../language/transcriptions/duration.ts";
import type { Bounds, Selection } from "./catalogue-filter.ts";
import { shownEndpoints, shownModels } from "./public-catalogue.ts";

/** A model with its visible endpoints. */
export type Offer = { readonly model: Model; readonly endpoints: readonly Endpoint[] };

/** All public models with their active endpoints. */
export function publicOffers(snapshot: CatalogueSnapshot): Offer[] {
  return shownModels(snapshot).map((model) => ({ model, endpoints: shownEndpoints(snapshot, model) }));
}

/**
 * Filters on provider, level, country and surface apply to endpoints: a model matches when one endpoint satisfies all of
 * them, and only matching endpoints are returned.
 */
export function select(offers: readonly Offer[], selection: Selection, snapshot: CatalogueSnapshot): Offer[] {
  const { provider, level, country, surface } = selection;
  const picksEndpoints = [provider, level, country, surface].some((filter) => filter !== undefined);
  return offers
    .filter(({ model }) => matchesModel(model, selection, snapshot))
    .map(({ model, endpoints }) => ({
      model,
      endpoints: endpoints.filter((endpoint) => matchesEndpoint(endpoint, selection)),
    }))
    .filter(({ endpoints }) => !picksEndpoints || endpoints.length > 0);
}

function matchesModel(
  model: Model,
  { creator, family, capability, words }: Selection,
  snapshot: CatalogueSnapshot,
): boolean {
  if (creator !== undefined && !creator.has(model.creator)) return false;
  if (family !== undefined && !family.has(model.family)) return false;
  if (capability !== undefined && ![...capability].every((slug) => model.capabilities.includes(slug))) return false;
  if (words === undefined) return true;
  const names = [snapshot.creators.get(model.creator)?.name, snapshot.families.get(model.family)?.name];
  return containsWords([model.id, model.name, model.family, ...names], words);
}

export function containsWords(texts: readonly (string | null | undefined)[], words: readonly string[]): boolean {
  const text = texts.join("\n").toLowerCase();
  return words.every((word) => text.includes(word));
}

function matchesEndpoint(endpoint: Endpoint, { provider, level, country, surface }: Selection): boolean {
  if (provider !== undefined && !provider.has(endpoint.provider)) return false;
  if (level !== undefined && !level.has(endpoint.sovereignty.level)) return false;
  if (country !== undefined && !knownCountries(endpoint.sovereignty).some((code) => country.has(code))) return false;
  return surface === undefined || surface.some((name) => servesSurface(endpoint.surfaces, name));
}

/** Applies the bounds on modality, context length and price. */
export function applyBounds(
  offers: readonly Offer[],
  bounds: Bounds,
  snapshot: CatalogueSnapshot,
  nowMs: number,
): Offer[] {
  const { modalities, contextTokensMin, priceNanosEurMax } = bounds;
  return offers.filter(({ model, endpoints }) => {
    const modalitiesOfModel = [...model.modalitiesIn, ...model.modalitiesOut];
    if (modalities !== undefined && ![...modalities].every((one) => modalitiesOfModel.includes(one))) return false;
    if (contextTokensMin !== undefined && (model.contextTokens ?? -1) < contextTokensMin) return false;
    if (priceNanosEurMax === undefined) return true;
    const price = cheapestByTokens(endpoints, snapshot, nowMs)?.nanosEur;
    return price !== undefined && price <= priceNanosEurMax;
  });
}

/** `price` is the billed price row; `nanosEur` only compares endpoints of one model. */
export type Cheapest = { readonly endpoint: Endpoint; readonly price: Price; readonly nanosEur: bigint };

/** Compares audio-only models by one minute of audio and all others by tokens. */
export function cheapest(
  endpoints: readonly Endpoint[],
  snapshot: CatalogueSnapshot,
  nowMs: number,
): Cheapest | undefined {
  const minute = AUDIO_MINUTES.find(({ surface }) => endpoints.every(({ surfaces }) => servesOnly(surfaces, surface)));
  if (minute === undefined) return cheapestByTokens(endpoints, snapshot, nowMs);
  return cheapestMinute(minute, endpoints, snapshot, nowMs);
}

function servesOnly(surfaces: Endpoint["surfaces"], surface: Surface): boolean {
  return surfaces.length > 0 && surfaces.every((one) => one === surface);
}

/** One minute of audio in every billing unit. */
const AUDIO_MINUTES = [
  { surface: "speech", inputTokens: 225, units: { characters: 900, seconds: 60, audioOutputTokens: 1500 } },
  {
    surface: "transcriptions",
    inputTokens: 0,
    units: { characters: 0, seconds: 60, audioOutputTokens: 0, transcript: expectedTranscriptTokens(60) },
  },
] as const;

function cheapestMinute(
  { surface, inputTokens, units }: (typeof AUDIO_MINUTES)[number],
  endpoints: readonly Endpoint[],
  snapshot: CatalogueSnapshot,
  nowMs: number,
): Cheapest | undefined {
  let found: Cheapest | undefined;
  for (const endpoint of endpoints) {
    const listed = priceAt(endpoint, nowMs);
    const price = listed === undefined ? undefined : billedPrice(listed, surface);
    const rates = price === undefined ? undefined : unitRates(price, snapshot.currencies, "EUR");
    if (price === undefined || rates === undefined) continue;
    const nanos = inputTokens * rates.input + rates.perRequest + expectedUnitNanos(rates, units);
    const nanosEur = BigInt(Math.round(nanos));
    if (found === undefined || nanosEur < found.nanosEur) found = { endpoint, price, nanosEur };
  }
  return found;
}

/** Undefined when no endpoint is priced by tokens. */
function cheapestByTokens(
  endpoints: readonly Endpoint[],
  snapshot: CatalogueSnapshot,
  nowMs: number,
): Cheapest | undefined {
  let found: Cheapest | undefined;
  for (const endpoint of endpoints) {
    const price = priceAt(endpoint, nowMs);
    const nanosEur = price === undefined ? undefined : tokenNanosEur(price, snapshot);
    if (price === undefined || nanosEur === undefined) continue;
    if (found === undefined || nanosEur < found.nanosEur) found = { endpoint, price, nanosEur };
  }
  return found;
}

/** Input plus output price per million tokens, converted to nano-euro so that currencies compare. */
function tokenNanosEur(price: Price, snapshot: CatalogueSnapshot): bigint | undefined {
  const rate = rateBetween(snapshot.currencies, price.currency, "EUR");
  if (rate === undefined || price.inputPer1mTokens === null) return undefined;
  const amounts = [price.inputPer1mTokens, price.outputPer1mTokens].filter((amount) => amount !== null);
  return amounts.reduce(
    (sum, { digits, scale }) =>
      sum + divideHalfUp(digits * rate.numerator * 10n ** 9n, rate.denominator * 10n ** BigInt(scale)),
    0n,
  );
}

/** Otherwise the order depends on the models only. */
export function dependsOnEndpoints(sort: ModelSort): boolean {
  return sort === "price" || sort === "-price";
}

type SortKey = string | number | bigint | null;

/** Unknown values sort last in both directions; ties sort by id. */
export function sortOffers(
  offers: readonly Offer[],
  sort: ModelSort,
  snapshot: CatalogueSnapshot,
  nowMs: number,
): Offer[] {
  const descends = sort.startsWith("-");
  const sortKeys = new Map<Offer, SortKey>(offers.map((offer) => [offer, sortKeyOf(offer, sort, snapshot, nowMs)]));
  return offers.toSorted((a, b) => {
    const left = sortKeys.get(a) ?? null;
    const right = sortKeys.get(b) ?? null;
    if (left === right) return a.model.id < b.model.id ? -1 : 1;
    if (left === null) return 1;
    if (right === null) return -1;
    return left < right === descends ? 1 : -1;
  });
}

function sortKeyOf({ model, endpoints }: Offer, sort: ModelSort, snapshot: CatalogueSnapshot, nowMs: number): SortKey {
  switch (sort) {
    case "id":
    case "-id":
      return model.id;
    case "name":
    case "-name":
      return model.name.toLowerCase();
    case "created":
    case "-created":
      return model.releaseDate;
    case "price":
    case "-price":
      // Prices per minute and per token do not compare.
      return cheapestByTokens(endpoints, snapshot, nowMs)?.nanosEur ?? null;
    case "quality":
    case "-quality":
      return model.quality?.score ?? null;
    case "context":
    case "-context":
      return model.contextTokens;
  }
}
