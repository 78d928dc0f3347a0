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
import { containsWords, type Offer, publicOffers, select, sortOffers, within } from "./catalogue-select.ts";
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
import { answerTagged, tagOf } from "./etag.ts";
import { shownFamilies } from "./public-catalogue.ts";

export type CatalogueDeps = {
  snapshot(): CatalogueSnapshot;
  nowMs(): number;
  /** What is added to providers' prices for everyone without a margin of their own; absent: nothing. */
  readonly margin?: Margin;
};

/** What one call sees: the snapshot and the moment do not change under it. */
type Desk = {
  readonly snapshot: CatalogueSnapshot;
  readonly nowMs: number;
  readonly exchange: Exchange;
  readonly margin: Margin;
};

/** The public catalogue. It shows what the files say, never what this deployment has connected. */
export function catalogueHandlers(deps: CatalogueDeps): Record<string, Handler> {
  const serve = (build: (desk: Desk) => unknown) =>
    buffered(async (exchange) =>
      reply({ snapshot: deps.snapshot(), nowMs: deps.nowMs(), exchange, margin: deps.margin ?? NO_MARGIN }, build),
    );
  return {
    listPublicModels: serve((desk) => modelPage(desk, undefined)),
    getPublicModel: serve(oneModel),
    listPublicFamilies: serve(familyPage),
    getPublicFamily: serve(oneFamily),
    listPublicFamilyModels: serve((desk) => modelPage(desk, findFamily(desk).slug)),
    listPublicModelCreators: serve(creatorPage),
    getPublicModelCreator: serve(oneCreator),
    listPublicProviders: serve(providerPage),
    getPublicProvider: serve(oneProvider),
    listPublicCurrencies: serve(currencyPage),
    listPublicSovereigntyLevels: serve(levelPage),
    listPublicCapabilities: serve(capabilityPage),
  };
}

/** Minutes, because prices and evidence change by the day and a new catalogue by a restart. */
const CACHE = { "cache-control": "public, max-age=300", vary: "Origin" };

function reply(desk: Desk, build: (desk: Desk) => unknown): HttpResponse {
  const { snapshot, nowMs, exchange, margin } = desk;
  // The day is part of the tag: dated prices and stale evidence turn over at midnight.
  const days = [isoDay(snapshot.builtAtMs), isoDay(nowMs)];
  const prices = margin === NO_MARGIN ? [] : [margin.share];
  const tag = tagOf(
    snapshot.version,
    ...prices,
    ...days,
    exchange.route.id,
    JSON.stringify(exchange.params),
    `${exchange.query}`,
  );
  // Built first: a refusal must not turn into "not modified".
  const json = build(desk);
  return answerTagged(exchange, tag, CACHE, () => ({ json }));
}

function modelPage(desk: Desk, family: string | undefined) {
  const { snapshot, nowMs, exchange, margin } = desk;
  const query = readStrictQuery(exchange, ModelsQuery);
  const currency = readCurrency(query.currency, snapshot);
  const offers = publicOffers(snapshot).filter(({ model }) => family === undefined || model.family === family);
  const selected = select(offers, readSelection(query, snapshot), snapshot);
  const kept = within(selected, readBounds(query, snapshot), snapshot, nowMs);
  const chosen = sortOffers(kept, query.sort, snapshot, nowMs);
  const { data, next } = pageOf(chosen, ({ model }) => model.id, { list: listKey(exchange), ...pageIn(query) });
  return { data: data.map((offer) => modelView(offer, { snapshot, nowMs, currency, margin })), next };
}

function pageIn({ limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined }) {
  return { limit, cursor };
}

function oneModel({ snapshot, nowMs, exchange, margin }: Desk) {
  const { currency } = readStrictQuery(exchange, CurrencyQuery);
  const id = exchange.params["slug"] ?? "";
  const offer = publicOffers(snapshot).find(({ model }) => model.id === id);
  if (offer === undefined) throw missing("model", id, "/v1/public/models");
  return modelView(offer, { snapshot, nowMs, margin, currency: readCurrency(currency, snapshot) });
}

function missing(what: string, name: string, list: string) {
  return fault("not_found", {
    message: `There is no ${what} "${printable(name, 128)}" in the catalogue. GET ${list} lists them.`,
  });
}

type Named = { readonly slug: string; readonly name: string };

/** Lists of named things: kept when one of their models or endpoints passes the filters, and the words occur in them. */
function namedPage<T extends Named, V>(
  { snapshot, exchange }: Desk,
  records: readonly T[],
  keeps: (record: T, offers: readonly Offer[], selection: Selection) => boolean,
  view: (record: T) => V,
) {
  const query = readStrictQuery(exchange, NamedQuery);
  const selection = readSelection(query, snapshot);
  const { words = [] } = selection;
  const offers = select(publicOffers(snapshot), { ...selection, words: undefined }, snapshot);
  const picks = picksOffers(selection);
  const kept = records.filter(
    (record) => (!picks || keeps(record, offers, selection)) && containsWords([record.slug, record.name], words),
  );
  const sorted = sortNamed(kept, query.sort);
  const { data, next } = pageOf(sorted, ({ slug }) => slug, { list: listKey(exchange), ...pageIn(query) });
  return { data: data.map(view), next };
}

function sortNamed<T extends Named>(records: readonly T[], sort: NameSort): T[] {
  const key = (record: T) => (sort.endsWith("name") ? record.name.toLowerCase() : record.slug);
  const ascending = records.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
  return sort.startsWith("-") ? ascending.toReversed() : ascending;
}

function familyPage(desk: Desk) {
  const offers = publicOffers(desk.snapshot);
  return namedPage(
    desk,
    shownFamilies(desk.snapshot),
    ({ slug }, chosen) => chosen.some(({ model }) => model.family === slug),
    (family) => familyView(family, offers),
  );
}

function findFamily({ snapshot, exchange }: Desk) {
  const slug = exchange.params["slug"] ?? "";
  const family = shownFamilies(snapshot).find((candidate) => candidate.slug === slug);
  if (family === undefined) throw missing("family", slug, "/v1/public/families");
  return family;
}

function oneFamily(desk: Desk) {
  readStrictQuery(desk.exchange, NoQuery);
  return familyView(findFamily(desk), publicOffers(desk.snapshot));
}

function creatorPage(desk: Desk) {
  const { snapshot } = desk;
  const offers = publicOffers(snapshot);
  return namedPage(
    desk,
    [...snapshot.creators.values()],
    ({ slug }, chosen) => chosen.some(({ model }) => model.creator === slug),
    (creator) => creatorView(creator, shownFamilies(snapshot), offers),
  );
}

function oneCreator({ snapshot, exchange }: Desk) {
  readStrictQuery(exchange, NoQuery);
  const slug = exchange.params["slug"] ?? "";
  const creator = snapshot.creators.get(slug);
  if (creator === undefined) throw missing("creator", slug, "/v1/public/model-creators");
  return creatorView(creator, shownFamilies(snapshot), publicOffers(snapshot));
}

function endpointsByProvider(offers: readonly Offer[]): ReadonlyMap<string, readonly Endpoint[]> {
  return Map.groupBy(
    offers.flatMap(({ endpoints }) => endpoints),
    ({ provider }) => provider,
  );
}

function providerPage(desk: Desk) {
  const { snapshot, nowMs } = desk;
  const endpoints = endpointsByProvider(publicOffers(snapshot));
  return namedPage(
    desk,
    [...snapshot.providers.values()],
    ({ slug }, chosen) => chosen.some((offer) => offer.endpoints.some(({ provider }) => provider === slug)),
    (provider) => providerView(provider, endpoints.get(provider.slug) ?? [], nowMs),
  );
}

function oneProvider({ snapshot, nowMs, exchange, margin }: Desk) {
  const { currency } = readStrictQuery(exchange, CurrencyQuery);
  const slug = exchange.params["slug"] ?? "";
  const provider = snapshot.providers.get(slug);
  if (provider === undefined) throw missing("provider", slug, "/v1/public/providers");
  const endpoints = endpointsByProvider(publicOffers(snapshot)).get(slug) ?? [];
  const context = { snapshot, nowMs, margin, currency: readCurrency(currency, snapshot) };
  return {
    ...providerView(provider, endpoints, nowMs),
    endpoints: endpoints.map((endpoint) => endpointView(endpoint, context)),
  };
}

/** Short lists: words and pages are all they need. */
function plainPage<T>(desk: Desk, records: readonly T[], idOf: (record: T) => string, texts: (record: T) => string[]) {
  const query = readStrictQuery(desk.exchange, PlainQuery);
  const words = query.q === undefined ? [] : wordsOf(query.q);
  const kept = records.filter((record) => containsWords(texts(record), words));
  return pageOf(kept, idOf, { list: listKey(desk.exchange), ...pageIn(query) });
}

function currencyPage(desk: Desk) {
  const rows = [...desk.snapshot.currencies.values()].map(currencyView);
  return plainPage(
    desk,
    rows,
    ({ code }) => code,
    ({ code, name }) => [code, name],
  );
}

function levelPage(desk: Desk) {
  const endpoints = publicOffers(desk.snapshot).flatMap((offer) => offer.endpoints);
  return plainPage(
    desk,
    levelViews(endpoints),
    ({ level }) => level,
    ({ level, name, meaning }) => [level, name, meaning],
  );
}

function capabilityPage(desk: Desk) {
  const offers = publicOffers(desk.snapshot);
  const rows = [...desk.snapshot.capabilities.values()].map((capability) => capabilityView(capability, offers));
  return plainPage(
    desk,
    rows,
    ({ slug }) => slug,
    ({ slug, name, group, description }) => [slug, name, group, description],
  );
}
