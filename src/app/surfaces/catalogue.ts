import { fault } from "../../contract/faults.ts";
import { CurrencyQuery, ModelsQuery, NamedQuery, NoQuery, PlainQuery } from "../../contract/schemas/catalogue.ts";
import type { NameSort } from "../../contract/schemas/catalogue-values.ts";
import { type Margin, NO_MARGIN } from "../../domain/billing/margin.ts";
import type { CatalogueSnapshot, Endpoint } from "../../domain/catalogue/catalogue.ts";
import { isoDay } from "../../domain/catalogue/levels.ts";
import { buffered, type Exchange, type Handler, type HttpResponse } from "../exchange.ts";
import { printable } from "../printable.ts";
import {
  picksOffers,
  readBounds,
  readCurrency,
  readSelection,
  readStrictQuery,
  type Selection,
  wordsOf,
} from "./catalogue-filter.ts";
import { applyBounds, containsWords, type Offer, publicOffers, select, sortOffers } from "./catalogue-select.ts";
import {
  capabilityView,
  creatorView,
  currencyView,
  endpointView,
  familyView,
  levelViews,
  modelView,
  providerView,
} from "./catalogue-views.ts";
import { listKey, pageOf } from "./cursor-page.ts";
import { etagFor, respondTagged } from "./etag.ts";
import { shownFamilies } from "./public-catalogue.ts";

export type CatalogueDeps = {
  snapshot(): CatalogueSnapshot;
  nowMs(): number;
  /** Default margin on provider prices; absent: none. */
  readonly margin?: Margin;
};

/** Fixed snapshot and time of one call. */
type CatalogueCall = {
  readonly snapshot: CatalogueSnapshot;
  readonly nowMs: number;
  readonly exchange: Exchange;
  readonly margin: Margin;
};

/** The public catalogue; it does not reveal which providers this deployment has connected. */
export function catalogueHandlers(deps: CatalogueDeps): Record<string, Handler> {
  const serve = (build: (call: CatalogueCall) => unknown) =>
    buffered(async (exchange) =>
      respond({ snapshot: deps.snapshot(), nowMs: deps.nowMs(), exchange, margin: deps.margin ?? NO_MARGIN }, build),
    );
  return {
    listPublicModels: serve((call) => listModels(call, undefined)),
    getPublicModel: serve(getModel),
    listPublicFamilies: serve(listFamilies),
    getPublicFamily: serve(getFamily),
    listPublicFamilyModels: serve((call) => listModels(call, findFamily(call).slug)),
    listPublicModelCreators: serve(listCreators),
    getPublicModelCreator: serve(getCreator),
    listPublicProviders: serve(listProviders),
    getPublicProvider: serve(getProvider),
    listPublicCurrencies: serve(listCurrencies),
    listPublicSovereigntyLevels: serve(listLevels),
    listPublicCapabilities: serve(listCapabilities),
  };
}

/** Prices and evidence change daily, the catalogue itself at a restart. */
const CACHE = { "cache-control": "public, max-age=300", vary: "Origin" };

function respond(call: CatalogueCall, build: (call: CatalogueCall) => unknown): HttpResponse {
  const { snapshot, nowMs, exchange, margin } = call;
  // The day is part of the ETag, because dated prices and evidence change at midnight.
  const days = [isoDay(snapshot.builtAtMs), isoDay(nowMs)];
  const prices = margin === NO_MARGIN ? [] : [margin.share];
  const tag = etagFor(
    snapshot.version,
    ...prices,
    ...days,
    exchange.route.id,
    JSON.stringify(exchange.params),
    `${exchange.query}`,
  );
  // Built before the ETag check, so that an invalid request never returns 304.
  const json = build(call);
  return respondTagged(exchange, tag, CACHE, () => ({ json }));
}

function listModels(call: CatalogueCall, family: string | undefined) {
  const { snapshot, nowMs, exchange, margin } = call;
  const query = readStrictQuery(exchange, ModelsQuery);
  const currency = readCurrency(query.currency, snapshot);
  const offers = publicOffers(snapshot).filter(({ model }) => family === undefined || model.family === family);
  const selected = select(offers, readSelection(query, snapshot), snapshot);
  const matching = applyBounds(selected, readBounds(query, snapshot), snapshot, nowMs);
  const chosen = sortOffers(matching, query.sort, snapshot, nowMs);
  const { data, next } = pageOf(chosen, ({ model }) => model.id, { list: listKey(exchange), ...pageParams(query) });
  return { data: data.map((offer) => modelView(offer, { snapshot, nowMs, currency, margin })), next };
}

function pageParams({ limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined }) {
  return { limit, cursor };
}

function getModel({ snapshot, nowMs, exchange, margin }: CatalogueCall) {
  const { currency } = readStrictQuery(exchange, CurrencyQuery);
  const id = exchange.params["slug"] ?? "";
  const offer = publicOffers(snapshot).find(({ model }) => model.id === id);
  if (offer === undefined) throw notFoundFault("model", id, "/v1/public/models");
  return modelView(offer, { snapshot, nowMs, margin, currency: readCurrency(currency, snapshot) });
}

function notFoundFault(what: string, name: string, list: string) {
  return fault("not_found", {
    message: `There is no ${what} "${printable(name, 128)}" in the catalogue. GET ${list} lists them.`,
  });
}

type NamedRecord = { readonly slug: string; readonly name: string };

/** Keeps a record when one of its models or endpoints passes the filters and its name contains the search words. */
function listNamed<T extends NamedRecord, V>(
  { snapshot, exchange }: CatalogueCall,
  records: readonly T[],
  keeps: (record: T, offers: readonly Offer[], selection: Selection) => boolean,
  view: (record: T) => V,
) {
  const query = readStrictQuery(exchange, NamedQuery);
  const selection = readSelection(query, snapshot);
  const { words = [] } = selection;
  const offers = select(publicOffers(snapshot), { ...selection, words: undefined }, snapshot);
  const picks = picksOffers(selection);
  const matching = records.filter(
    (record) => (!picks || keeps(record, offers, selection)) && containsWords([record.slug, record.name], words),
  );
  const sorted = sortNamed(matching, query.sort);
  const { data, next } = pageOf(sorted, ({ slug }) => slug, { list: listKey(exchange), ...pageParams(query) });
  return { data: data.map(view), next };
}

function sortNamed<T extends NamedRecord>(records: readonly T[], sort: NameSort): T[] {
  const key = (record: T) => (sort.endsWith("name") ? record.name.toLowerCase() : record.slug);
  const ascending = records.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
  return sort.startsWith("-") ? ascending.toReversed() : ascending;
}

function listFamilies(call: CatalogueCall) {
  const offers = publicOffers(call.snapshot);
  return listNamed(
    call,
    shownFamilies(call.snapshot),
    ({ slug }, chosen) => chosen.some(({ model }) => model.family === slug),
    (family) => familyView(family, offers),
  );
}

function findFamily({ snapshot, exchange }: CatalogueCall) {
  const slug = exchange.params["slug"] ?? "";
  const family = shownFamilies(snapshot).find((candidate) => candidate.slug === slug);
  if (family === undefined) throw notFoundFault("family", slug, "/v1/public/families");
  return family;
}

function getFamily(call: CatalogueCall) {
  readStrictQuery(call.exchange, NoQuery);
  return familyView(findFamily(call), publicOffers(call.snapshot));
}

function listCreators(call: CatalogueCall) {
  const { snapshot } = call;
  const offers = publicOffers(snapshot);
  return listNamed(
    call,
    [...snapshot.creators.values()],
    ({ slug }, chosen) => chosen.some(({ model }) => model.creator === slug),
    (creator) => creatorView(creator, shownFamilies(snapshot), offers),
  );
}

function getCreator({ snapshot, exchange }: CatalogueCall) {
  readStrictQuery(exchange, NoQuery);
  const slug = exchange.params["slug"] ?? "";
  const creator = snapshot.creators.get(slug);
  if (creator === undefined) throw notFoundFault("creator", slug, "/v1/public/model-creators");
  return creatorView(creator, shownFamilies(snapshot), publicOffers(snapshot));
}

function endpointsByProvider(offers: readonly Offer[]): ReadonlyMap<string, readonly Endpoint[]> {
  return Map.groupBy(
    offers.flatMap(({ endpoints }) => endpoints),
    ({ provider }) => provider,
  );
}

function listProviders(call: CatalogueCall) {
  const { snapshot, nowMs } = call;
  const endpoints = endpointsByProvider(publicOffers(snapshot));
  return listNamed(
    call,
    [...snapshot.providers.values()],
    ({ slug }, chosen) => chosen.some((offer) => offer.endpoints.some(({ provider }) => provider === slug)),
    (provider) => providerView(provider, endpoints.get(provider.slug) ?? [], nowMs),
  );
}

function getProvider({ snapshot, nowMs, exchange, margin }: CatalogueCall) {
  const { currency } = readStrictQuery(exchange, CurrencyQuery);
  const slug = exchange.params["slug"] ?? "";
  const provider = snapshot.providers.get(slug);
  if (provider === undefined) throw notFoundFault("provider", slug, "/v1/public/providers");
  const endpoints = endpointsByProvider(publicOffers(snapshot)).get(slug) ?? [];
  const context = { snapshot, nowMs, margin, currency: readCurrency(currency, snapshot) };
  return {
    ...providerView(provider, endpoints, nowMs),
    endpoints: endpoints.map((endpoint) => endpointView(endpoint, context)),
  };
}

/** Lists with only search and paging. */
function listPlain<T>(
  call: CatalogueCall,
  records: readonly T[],
  idOf: (record: T) => string,
  texts: (record: T) => string[],
) {
  const query = readStrictQuery(call.exchange, PlainQuery);
  const words = query.q === undefined ? [] : wordsOf(query.q);
  const matching = records.filter((record) => containsWords(texts(record), words));
  return pageOf(matching, idOf, { list: listKey(call.exchange), ...pageParams(query) });
}

function listCurrencies(call: CatalogueCall) {
  const rows = [...call.snapshot.currencies.values()].map(currencyView);
  return listPlain(
    call,
    rows,
    ({ code }) => code,
    ({ code, name }) => [code, name],
  );
}

function listLevels(call: CatalogueCall) {
  const endpoints = publicOffers(call.snapshot).flatMap((offer) => offer.endpoints);
  return listPlain(
    call,
    levelViews(endpoints),
    ({ level }) => level,
    ({ level, name, meaning }) => [level, name, meaning],
  );
}

function listCapabilities(call: CatalogueCall) {
  const offers = publicOffers(call.snapshot);
  const rows = [...call.snapshot.capabilities.values()].map((capability) => capabilityView(capability, offers));
  return listPlain(
    call,
    rows,
    ({ slug }) => slug,
    ({ slug, name, group, description }) => [slug, name, group, description],
  );
}
