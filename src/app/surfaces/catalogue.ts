import type { z } from "zod";
import { fault, invalidValue } from "../../contract/faults.ts";
import {
  CurrencyQuery,
  ModelsQuery,
  NamedQuery,
  NoQuery,
  PlainQuery,
  PublicModel,
} from "../../contract/schemas/catalogue.ts";
import type { NameSort } from "../../contract/schemas/catalogue-values.ts";
import { type Margin, NO_MARGIN } from "../../domain/billing/margin.ts";
import type { CatalogueSnapshot, Endpoint } from "../../domain/catalogue/catalogue.ts";
import { isoDay } from "../../domain/catalogue/levels.ts";
import { findModelIds } from "../../domain/catalogue/model-names.ts";
import type { WorkspaceAvailability } from "../../domain/routing/availability.ts";
import { buffered, type Exchange, type Handler, type HttpResponse } from "../exchange.ts";
import { printable } from "../printable.ts";
import { modelDetailView, providerDetailView } from "./catalogue-detail-views.ts";
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
  /** The catalogue of an authenticated caller; undefined: the caller is anonymous. Absent: every caller is. */
  callerCatalogue?(exchange: Exchange): Promise<CallerCatalogue | undefined>;
};

/** What an authenticated caller sees: with the models of its nodes, its own margin, and what it can call now. */
export type CallerCatalogue = {
  readonly snapshot: CatalogueSnapshot;
  readonly margin: Margin;
  readonly availability: WorkspaceAvailability;
};

/** Fixed snapshot and time of one call. */
type CatalogueCall = {
  readonly snapshot: CatalogueSnapshot;
  readonly nowMs: number;
  readonly exchange: Exchange;
  readonly margin: Margin;
  /** Undefined for anonymous callers. */
  readonly availability?: WorkspaceAvailability;
};

/** The public catalogue; anonymous callers do not learn which providers this deployment has connected. */
export function catalogueHandlers(deps: CatalogueDeps): Record<string, Handler> {
  const publicCall = (exchange: Exchange): CatalogueCall => ({
    snapshot: deps.snapshot(),
    nowMs: deps.nowMs(),
    exchange,
    margin: deps.margin ?? NO_MARGIN,
  });
  const serve = (build: (call: CatalogueCall) => unknown) =>
    buffered(async (exchange) => respond(publicCall(exchange), CACHE, build));
  const serveCaller = (build: (call: CatalogueCall) => unknown) =>
    buffered(async (exchange) => {
      const caller = await deps.callerCatalogue?.(exchange);
      const call = publicCall(exchange);
      return caller === undefined
        ? respond(call, OPTIONAL_CACHE, build)
        : respondPrivately({ ...call, ...caller }, build);
    });
  return {
    listPublicModels: serveCaller((call) => listModels(call, undefined)),
    getPublicModel: serveCaller(getModel),
    listPublicFamilies: serve(listFamilies),
    getPublicFamily: serve(getFamily),
    listPublicFamilyModels: serveCaller((call) => listModels(call, findFamily(call).slug)),
    listPublicModelCreators: serve(listCreators),
    getPublicModelCreator: serve(getCreator),
    listPublicProviders: serve(listProviders),
    getPublicProvider: serveCaller(getProvider),
    listPublicCurrencies: serve(listCurrencies),
    listPublicSovereigntyLevels: serve(listLevels),
    listPublicCapabilities: serve(listCapabilities),
  };
}

/** Prices and evidence change daily, the catalogue itself at a restart. */
const CACHE = { "cache-control": "public, max-age=300", vary: "Origin" };
/** Of routes that also answer authenticated callers: a cache must not give them the anonymous answer. */
const OPTIONAL_CACHE = { ...CACHE, vary: "Authorization, X-Api-Key, Origin" };
/** `no-cache`: availability changes whenever a provider, a node or the policy changes. */
const PRIVATE_CACHE = { "cache-control": "private, no-cache", vary: "Authorization, X-Api-Key, Cookie, Origin" };

function respondPrivately(call: CatalogueCall, build: (call: CatalogueCall) => unknown): HttpResponse {
  const text = JSON.stringify(build(call));
  return respondTagged(call.exchange, etagFor(text), PRIVATE_CACHE, () => ({
    bytes: text,
    headers: { "content-type": "application/json" },
  }));
}

function respond(
  call: CatalogueCall,
  cacheHeaders: Readonly<Record<string, string>>,
  build: (call: CatalogueCall) => unknown,
): HttpResponse {
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
  return respondTagged(exchange, tag, cacheHeaders, () => ({ json }));
}

function listModels(call: CatalogueCall, family: string | undefined) {
  const { snapshot, nowMs, exchange, margin, availability } = call;
  const query = readStrictQuery(exchange, ModelsQuery);
  const currency = readCurrency(query.currency, snapshot);
  const offers = publicOffers(snapshot).filter(({ model }) => family === undefined || model.family === family);
  const selected = select(offers, readSelection(query, snapshot), snapshot);
  const matching = applyBounds(selected, readBounds(query, snapshot), snapshot, nowMs);
  const sorted = sortOffers(matching, query.sort, snapshot, nowMs);
  const chosen = chooseAvailable(sorted, query, availability);
  const { data, next } = pageOf(chosen, ({ model }) => model.id, { list: listKey(exchange), ...pageParams(query) });
  const choose = chooseFields<PublicModel, "id">(PublicModel.shape, "id", query.fields);
  return {
    data: data.map((offer) => choose(modelView(offer, { snapshot, nowMs, currency, margin, availability }))),
    next,
  };
}

/** Keeps the requested members of a record, and its key. */
function chooseFields<T extends object, K extends keyof T & string>(
  shape: Readonly<Record<keyof T & string, unknown>>,
  key: K,
  fields: string | undefined,
): (record: T) => T | (Partial<T> & Pick<T, K>) {
  if (fields === undefined) return (record) => record;
  const names = new Set([key, ...fields.split(",")]);
  for (const name of names)
    if (!Object.hasOwn(shape, name))
      throw invalidValue("fields", `"${name}" is not a member; there are ${Object.keys(shape).join(", ")}`);
  return (record) => {
    const chosen: Partial<T> & Pick<T, K> = { ...record };
    for (const name of Object.keys(shape)) if (!names.has(name)) Reflect.deleteProperty(chosen, name);
    return chosen;
  };
}

type AvailabilityQuery = Pick<z.infer<typeof ModelsQuery>, "available" | "available_first">;

function chooseAvailable(
  offers: readonly Offer[],
  { available, available_first }: AvailabilityQuery,
  availability: WorkspaceAvailability | undefined,
): readonly Offer[] {
  if (available === undefined && available_first !== "true") return offers;
  if (availability === undefined)
    throw invalidValue(
      available === undefined ? "available_first" : "available",
      "it needs an API key, or `workspace` with a session or a management token",
    );
  const isAvailable = ({ model, endpoints }: Offer) => availability.ofModel(model, endpoints) === null;
  const [callable, others] = [offers.filter(isAvailable), offers.filter((offer) => !isAvailable(offer))];
  if (available !== undefined) return available === "true" ? callable : others;
  return [...callable, ...others];
}

function pageParams({ limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined }) {
  return { limit, cursor };
}

function getModel({ snapshot, nowMs, exchange, margin, availability }: CatalogueCall) {
  const { currency } = readStrictQuery(exchange, CurrencyQuery);
  const requested = exchange.params["slug"] ?? "";
  const ids = findModelIds(requested, snapshot);
  if (ids.length > 1)
    throw fault("not_found", {
      message: `"${printable(requested, 128)}" is the name of several models. Send one of these ids: ${ids.join(", ")}.`,
    });
  const offer = publicOffers(snapshot).find(({ model }) => model.id === ids[0]);
  if (offer === undefined) throw notFoundFault("model", requested, "/v1/public/models");
  return modelDetailView(offer, { snapshot, nowMs, margin, availability, currency: readCurrency(currency, snapshot) });
}

function notFoundFault(what: string, name: string, list: string) {
  return fault("not_found", {
    message: `The catalogue has no ${what} "${printable(name, 128)}". GET ${list} lists them.`,
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
  const { snapshot } = call;
  const endpoints = endpointsByProvider(publicOffers(snapshot));
  return listNamed(
    call,
    [...snapshot.providers.values()],
    ({ slug }, chosen) => chosen.some((offer) => offer.endpoints.some(({ provider }) => provider === slug)),
    (provider) => providerView(provider, endpoints.get(provider.slug) ?? []),
  );
}

function getProvider({ snapshot, nowMs, exchange, margin, availability }: CatalogueCall) {
  const { currency } = readStrictQuery(exchange, CurrencyQuery);
  const slug = exchange.params["slug"] ?? "";
  const provider = snapshot.providers.get(slug);
  if (provider === undefined) throw notFoundFault("provider", slug, "/v1/public/providers");
  const endpoints = endpointsByProvider(publicOffers(snapshot)).get(slug) ?? [];
  const context = { snapshot, nowMs, margin, availability, currency: readCurrency(currency, snapshot) };
  return providerDetailView(provider, endpoints, context);
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
    levelViews(endpoints, call.snapshot),
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
