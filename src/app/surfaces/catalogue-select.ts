import type { ModelSort } from "../../contract/schemas/catalogue-values.ts";
import { rateBetween } from "../../domain/billing/exchange-rate.ts";
import { billedPrice } from "../../domain/billing/speech-price.ts";
import { servesSurface } from "../../domain/catalogue/callability.ts";
import {
  type CatalogueSnapshot,
  type Endpoint,
  knownCountries,
  type Model,
  type Price,
  priceAt,
} from "../../domain/catalogue/catalogue.ts";
import type { Surface } from "../../domain/record/record.ts";
import { expectedUnitNanos, unitRates } from "../../domain/routing/cost.ts";
import { divideHalfUp } from "../../kit/money.ts";
import { expectedTranscriptTokens } from "../../language/transcriptions/duration.ts";
import type { Bounds, Selection } from "./catalogue-filter.ts";
import { shownEndpoints, shownModels } from "./public-catalogue.ts";

/** A model with the endpoints that are shown of it. */
export type Offer = { readonly model: Model; readonly endpoints: readonly Endpoint[] };

/** Every model that may be shown to anyone, with its endpoints that still serve. */
export function publicOffers(snapshot: CatalogueSnapshot): Offer[] {
  return shownModels(snapshot).map((model) => ({ model, endpoints: shownEndpoints(snapshot, model) }));
}

/**
 * Filters on providers, levels, countries and surfaces pick endpoints: a model stays when one endpoint satisfies all
 * of them together, and only those endpoints are shown.
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

/** Those that take or give what is asked for, read enough and cost no more than that. */
export function within(offers: readonly Offer[], bounds: Bounds, snapshot: CatalogueSnapshot, nowMs: number): Offer[] {
  const { modalities, contextTokensMin, priceNanosEurMax } = bounds;
  return offers.filter(({ model, endpoints }) => {
    const speaks = [...model.modalitiesIn, ...model.modalitiesOut];
    if (modalities !== undefined && ![...modalities].every((one) => speaks.includes(one))) return false;
    if (contextTokensMin !== undefined && (model.contextTokens ?? -1) < contextTokensMin) return false;
    if (priceNanosEurMax === undefined) return true;
    const price = cheapestByTokens(endpoints, snapshot, nowMs)?.nanosEur;
    return price !== undefined && price <= priceNanosEurMax;
  });
}

/** `price` is what is billed by; `nanosEur` compares endpoints of one model. */
export type Cheapest = { readonly endpoint: Endpoint; readonly price: Price; readonly nanosEur: bigint };

/** The endpoint that costs least: of a model that only speaks or listens for a minute of it, of others by its tokens. */
export function cheapest(
  endpoints: readonly Endpoint[],
  snapshot: CatalogueSnapshot,
  nowMs: number,
): Cheapest | undefined {
  const minute = MINUTES.find(({ surface }) => endpoints.every(({ surfaces }) => isOnly(surfaces, surface)));
  if (minute === undefined) return cheapestByTokens(endpoints, snapshot, nowMs);
  return cheapestMinute(minute, endpoints, snapshot, nowMs);
}

function isOnly(surfaces: Endpoint["surfaces"], surface: Surface): boolean {
  return surfaces.length > 0 && surfaces.every((one) => one === surface);
}

/** A minute of audio, in every unit that it may be billed by. */
const MINUTES = [
  { surface: "speech", inputTokens: 225, units: { characters: 900, seconds: 60, audioTokens: 1500 } },
  {
    surface: "transcriptions",
    inputTokens: 0,
    units: { characters: 0, seconds: 60, audioTokens: 0, transcript: expectedTranscriptTokens(60) },
  },
] as const;

function cheapestMinute(
  { surface, inputTokens, units }: (typeof MINUTES)[number],
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

/** The endpoint with the lowest input plus output price; undefined when none is priced by tokens. */
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

/** Input plus output per million tokens in nano-euro: one scale, so that prices in several currencies compare. */
function tokenNanosEur(price: Price, snapshot: CatalogueSnapshot): bigint | undefined {
  const rate = rateBetween(snapshot.currencies, price.currency, "EUR");
  if (rate === undefined || price.inputPer1mTokens === null) return undefined;
  const figures = [price.inputPer1mTokens, price.outputPer1mTokens].filter((figure) => figure !== null);
  return figures.reduce(
    (sum, { digits, scale }) =>
      sum + divideHalfUp(digits * rate.numerator * 10n ** 9n, rate.denominator * 10n ** BigInt(scale)),
    0n,
  );
}

type Rank = string | number | bigint | null;

/** Unknown comes last in both directions; equals stand in the order of their ids. */
export function sortOffers(
  offers: readonly Offer[],
  sort: ModelSort,
  snapshot: CatalogueSnapshot,
  nowMs: number,
): Offer[] {
  const descends = sort.startsWith("-");
  const ranks = new Map<Offer, Rank>(offers.map((offer) => [offer, rankOf(offer, sort, snapshot, nowMs)]));
  return offers.toSorted((a, b) => {
    const left = ranks.get(a) ?? null;
    const right = ranks.get(b) ?? null;
    if (left === right) return a.model.id < b.model.id ? -1 : 1;
    if (left === null) return 1;
    if (right === null) return -1;
    return left < right === descends ? 1 : -1;
  });
}

function rankOf({ model, endpoints }: Offer, sort: ModelSort, snapshot: CatalogueSnapshot, nowMs: number): Rank {
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
      // A minute of speech is not to be compared with a million tokens.
      return cheapestByTokens(endpoints, snapshot, nowMs)?.nanosEur ?? null;
    case "quality":
    case "-quality":
      return model.quality?.score ?? null;
    case "context":
    case "-context":
      return model.contextTokens;
  }
}
