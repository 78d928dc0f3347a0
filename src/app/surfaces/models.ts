import { fault, invalidValue } from "../../contract/faults.ts";
import type { ModelSort } from "../../contract/schemas/catalogue-values.ts";
import { type ModelList, ModelListQuery } from "../../contract/schemas/models.ts";
import { SURFACES, type Surface } from "../../contract/surfaces.ts";
import { type Margin, NO_MARGIN } from "../../domain/billing/margin.ts";
import { checkCallability, servesSurface } from "../../domain/catalogue/callability.ts";
import type {
  CatalogueSnapshot,
  Endpoint,
  EndpointFeatures,
  Model,
  ProviderConnections,
} from "../../domain/catalogue/catalogue.ts";
import { findModelIds } from "../../domain/catalogue/model-names.ts";
import { limitToProven, type ProofLookup } from "../../domain/catalogue/proofs.ts";
import { supportsNeed } from "../../domain/routing/need-support.ts";
import { ambiguousModelFault } from "../../domain/routing/plan-refusal.ts";
import type { Principal } from "../../domain/tenancy/key.ts";
import { type Policy, policyOfKey } from "../../domain/tenancy/policy.ts";
import { DIALECT_SUPPORT } from "../../io/upstream/dialect-support.ts";
import { buffered, type Exchange, type Handler, type HttpResponse, principalOf } from "../exchange.ts";
import { printable } from "../printable.ts";
import { readLenientQuery, readSelection } from "./catalogue-filter.ts";
import { dependsOnEndpoints, type Offer, select, sortOffers } from "./catalogue-select.ts";
import { cursorId, listKey, type Page, type PageRequest, pageOf } from "./cursor-page.ts";
import { etagFor, respondTagged } from "./etag.ts";
import { agentModel, type ModelContext, modelObject } from "./model-views.ts";

export type ModelDeps = {
  /** The catalogue plus the models of the workspace's own nodes. */
  snapshotOf(workspaceId: string): CatalogueSnapshot;
  nowMs(): number;
  /** The workspace's own connections take precedence over the platform's. */
  connectionsOf(workspaceId: string): ProviderConnections;
  readonly proofs: Pick<ProofLookup, "isProven" | "acceptsImages">;
  /** Margin on provider prices; absent: none. */
  marginOf?(workspaceId: string): Margin;
  allows(endpoint: Endpoint, policy: Policy): boolean;
  permits(modelId: string, policy: Policy): boolean;
  /** Surfaces enabled on this gateway. */
  readonly servedSurfaces: readonly Surface[];
};

/** Models that a key may use; one body serves OpenAI, Anthropic and Codex clients. */
export function modelHandlers(deps: ModelDeps): Record<string, Handler> {
  return {
    listModels: buffered(async (exchange) => jsonWithEtag(exchange, listModels(deps, exchange))),
    getModel: buffered(async (exchange) => {
      const { offer, context } = findOffer(deps, exchange, exchange.params["id"] ?? "");
      return jsonWithEtag(exchange, modelObject(offer, context));
    }),
  };
}

/** The list depends on the key, so shared caches must not store it. */
const CACHE = {
  "cache-control": "private, no-cache",
  vary: "Authorization, X-Api-Key, Origin, Originator, User-Agent",
};

export function jsonWithEtag(exchange: Exchange, body: unknown): HttpResponse {
  const text = JSON.stringify(body);
  return respondTagged(exchange, etagFor(text), CACHE, () => ({
    bytes: text,
    headers: { "content-type": "application/json" },
  }));
}

function listModels(deps: ModelDeps, exchange: Exchange): ModelList {
  const { workspace, key } = principalOf(exchange);
  const policy = policyOfKey(workspace.policy, key);
  const context = contextOf(deps, workspace);
  const { snapshot, nowMs } = context;
  const { limit, cursor, after_id, before_id, sort, ...filters } = readLenientQuery(exchange, ModelListQuery);
  const selection = readSelection(filters, snapshot);
  // Filters select models; each model is then shown with all endpoints of the key.
  const offerOf = (model: Model): Offer | undefined => {
    const offer = model.hidden ? undefined : offerFor(model, deps, context, policy);
    return offer === undefined || select([offer], selection, snapshot).length === 0 ? undefined : offer;
  };
  const list = listKey(exchange);
  const isForward = before_id === undefined && (after_id === undefined || cursor === undefined);
  const lastId = isForward && cursor !== undefined ? cursorId(cursor, list) : after_id;
  const chosen =
    limit !== undefined && isForward && !dependsOnEndpoints(sort)
      ? firstOffers(orderedModels(snapshot, sort, nowMs), offerOf, lastId, limit + 1)
      : sortOffers([...snapshot.models.values()].map(offerOf).filter(isOffer), sort, snapshot, nowMs);
  const { data, next, hasMore } =
    before_id === undefined
      ? pageAfter(chosen, after_id, { list, limit: limit ?? Math.max(1, chosen.length), cursor })
      : pageBefore(chosen, before_id, limit, after_id ?? cursor);
  const shown = data.map((offer) => ({ offer, object: modelObject(offer, context) }));
  return {
    object: "list",
    data: shown.map(({ object }) => object),
    ...(isCodingAgent(exchange)
      ? {
          models: shown
            .filter(({ offer }) => servesSurface(offer.model.surfaces, "responses"))
            .map(({ offer, object }, priority) => agentModel(offer, object, priority)),
        }
      : {}),
    next,
    has_more: hasMore,
    first_id: data[0]?.model.id ?? null,
    last_id: data.at(-1)?.model.id ?? null,
  };
}

const isOffer = (offer: Offer | undefined) => offer !== undefined;

const ordersOfModels = new WeakMap<CatalogueSnapshot, Map<ModelSort, readonly Model[]>>();

/** Every order but the one by price is the same for all keys. */
function orderedModels(snapshot: CatalogueSnapshot, sort: ModelSort, nowMs: number): readonly Model[] {
  const orders = ordersOfModels.get(snapshot) ?? new Map<ModelSort, readonly Model[]>();
  ordersOfModels.set(snapshot, orders);
  const known = orders.get(sort);
  if (known !== undefined) return known;
  const all = [...snapshot.models.values()].map((model) => ({ model, endpoints: [] }));
  const ordered = sortOffers(all, sort, snapshot, nowMs).map(({ model }) => model);
  orders.set(sort, ordered);
  return ordered;
}

/** The offer of the model `lastId`, if it is one, and the next `count`: a page costs as much as it shows. */
function firstOffers(
  models: readonly Model[],
  offerOf: (model: Model) => Offer | undefined,
  lastId: string | undefined,
  count: number,
): Offer[] {
  const start = lastId === undefined ? 0 : models.findIndex(({ id }) => id === lastId);
  const found: Offer[] = [];
  if (start < 0) return found;
  const countMax = lastId === undefined ? count : count + 1;
  for (const model of models.slice(start)) {
    const offer = offerOf(model);
    if (offer !== undefined) found.push(offer);
    if (found.length === countMax) break;
  }
  return found;
}

const CODING_AGENT = /^codex/i;

/** Their array is half of the list, so other clients do not get it. */
function isCodingAgent({ headers, query }: Pick<Exchange, "headers" | "query">): boolean {
  const names = [headers["originator"], headers["user-agent"]];
  return query.has("client_version") || names.some((name) => CODING_AGENT.test(String(name ?? "")));
}

type ModelPage = Page<Offer> & { readonly hasMore: boolean };

function pageAfter(offers: readonly Offer[], id: string | undefined, page: PageRequest): ModelPage {
  const rest = id === undefined ? offers : offers.slice(indexOfModel(offers, "after_id", id) + 1);
  const { data, next } = pageOf(rest, ({ model }) => model.id, page);
  return { data, next, hasMore: next !== null };
}

/** The page that ends right before a model. */
function pageBefore(
  offers: readonly Offer[],
  id: string,
  limit: number | undefined,
  otherCursor: string | undefined,
): ModelPage {
  if (otherCursor !== undefined) throw invalidValue("before_id", "must not be combined with after_id or cursor");
  const before = offers.slice(0, indexOfModel(offers, "before_id", id));
  const data = limit === undefined ? before : before.slice(-limit);
  return { data, next: null, hasMore: data.length < before.length };
}

const CURSOR_HINTS = {
  after_id: "must be `last_id` of the previous page",
  before_id: "must be `first_id` of the next page",
} as const;

function indexOfModel(offers: readonly Offer[], param: keyof typeof CURSOR_HINTS, id: string): number {
  const index = offers.findIndex(({ model }) => model.id === id);
  if (index < 0) throw invalidValue(param, CURSOR_HINTS[param]);
  return index;
}

type KeyContext = ModelContext & { readonly connections: ProviderConnections };

function contextOf(deps: ModelDeps, { id, currency }: Principal["workspace"]): KeyContext {
  const margin = deps.marginOf?.(id) ?? NO_MARGIN;
  return {
    snapshot: deps.snapshotOf(id),
    nowMs: deps.nowMs(),
    currency,
    margin,
    connections: deps.connectionsOf(id),
  };
}

/** Undefined when the key cannot use the model. */
function offerFor(model: Model, deps: ModelDeps, context: KeyContext, policy: Policy): Offer | undefined {
  if (!deps.permits(model.id, policy)) return undefined;
  const endpoints = callableEndpoints(model, deps, context).filter((endpoint) => deps.allows(endpoint, policy));
  return endpoints.length === 0 ? undefined : keyOffer(model, endpoints);
}

/** Endpoints with the surfaces on which they can be called. */
function callableEndpoints(
  model: Model,
  deps: ModelDeps,
  { snapshot, connections, nowMs, currency }: KeyContext,
): Endpoint[] {
  const call = { snapshot, connections, proofs: deps.proofs, walletCurrency: currency, nowMs };
  return (snapshot.endpointsByModel.get(model.id) ?? [])
    .map((endpoint) => ({
      ...limitToProven(endpoint, deps.proofs, nowMs),
      surfaces: deps.servedSurfaces.filter((surface) => checkCallability(endpoint, surface, call).is === "callable"),
    }))
    .filter(({ surfaces }) => surfaces.length > 0);
}

/** The model with this id or name. Throws if the key cannot use it. */
export function findOffer(
  deps: ModelDeps,
  exchange: Exchange,
  id: string,
): { readonly offer: Offer; readonly context: ModelContext } {
  const { workspace, key } = principalOf(exchange);
  const policy = policyOfKey(workspace.policy, key);
  const context = contextOf(deps, workspace);
  const ids = findModelIds(id, context.snapshot);
  if (ids.length > 1)
    throw ambiguousModelFault(
      printable(id, 128),
      ids.filter((one) => deps.permits(one, policy)),
    );
  const model = context.snapshot.models.get(ids[0] ?? id);
  if (model === undefined)
    throw modelNotFoundFault(
      `There is no model "${printable(id, 128)}". GET /v1/models lists the models that this key can use.`,
    );
  if (callableEndpoints(model, deps, context).length === 0)
    throw modelNotFoundFault(`The model ${model.id} is in the catalogue, but no connected provider serves it.`);
  if (!deps.permits(model.id, policy))
    throw fault("model_not_permitted", {
      message: `The policy of this key or its workspace does not allow the model ${model.id}. An admin can add it to the allowed models.`,
    });
  const offer = offerFor(model, deps, context, policy);
  if (offer === undefined)
    throw modelNotFoundFault(`The policy of this key and its workspace allows no endpoint of the model ${model.id}.`);
  return { offer, context };
}

/** All models that the key can use, in the default order. */
export function listOffers(
  deps: ModelDeps,
  exchange: Exchange,
): { readonly offers: readonly Offer[]; readonly context: ModelContext } {
  const { workspace, key } = principalOf(exchange);
  const policy = policyOfKey(workspace.policy, key);
  const context = contextOf(deps, workspace);
  const { snapshot, nowMs } = context;
  const offers = [...snapshot.models.values()].map((model) =>
    model.hidden ? undefined : offerFor(model, deps, context, policy),
  );
  return { offers: sortOffers(offers.filter(isOffer), "id", snapshot, nowMs), context };
}

/** The models that the key can use on a surface, in the order of the list. */
export function usableModels(deps: ModelDeps, exchange: Exchange, surface: Surface): Model[] {
  const { workspace, key } = principalOf(exchange);
  const policy = policyOfKey(workspace.policy, key);
  const context = contextOf(deps, workspace);
  const { snapshot, nowMs } = context;
  const offers = [...snapshot.models.values()]
    .filter(({ hidden, surfaces }) => !hidden && surfaces.includes(surface))
    .map((model) => offerFor(model, deps, context, policy))
    .filter((offer) => offer?.model.surfaces.includes(surface) === true)
    .filter(isOffer);
  return sortOffers(offers, "id", snapshot, nowMs).map(({ model }) => model);
}

function modelNotFoundFault(message: string) {
  return fault("model_not_found", { message });
}

/**
 * A model as a key sees it: only the callable endpoints, with the surfaces on which they can be called, and the capabilities
 * that at least one of them has.
 */
function keyOffer(model: Model, endpoints: readonly Endpoint[]): Offer {
  const surfaces = SURFACES.filter((surface) => endpoints.some((endpoint) => endpoint.surfaces.includes(surface)));
  const capabilities = model.capabilities.filter((slug) => {
    const surface = SURFACE_OF.get(slug);
    if (surface !== undefined) return surfaces.includes(surface);
    const needs = FEATURES_OF.get(slug) ?? [];
    // An endpoint that declares nothing has the model's capabilities.
    return endpoints.some(
      (endpoint) =>
        needs.every((feature) => endpoint.features[feature] !== false) &&
        (ACCEPTS.get(slug)?.(endpoint, model) ?? true),
    );
  });
  return { model: { ...model, surfaces, capabilities }, endpoints };
}

/** Capabilities that are surfaces. */
const SURFACE_OF: ReadonlyMap<string, Surface> = new Map([
  ["decisions", "decisions"],
  ["embeddings", "embeddings"],
  ["image_generation", "images"],
  ["moderation", "moderations"],
  ["reranking", "rerank"],
  ["speech", "speech"],
  ["transcription", "transcriptions"],
]);

/** Capabilities that the endpoint's dialect or interface decides too, as for a request. */
const ACCEPTS: ReadonlyMap<string, (endpoint: Endpoint, model: Model) => boolean> = new Map([
  ["logprobs", (endpoint) => DIALECT_SUPPORT.chat.takesParameter(endpoint, "logprobs", { needs: [] })],
  ["reasoning_control", (endpoint, model) => supportsNeed(endpoint, model, "reasoning_control")],
]);

/** Endpoint features that each capability needs. */
const FEATURES_OF: ReadonlyMap<string, readonly (keyof EndpointFeatures)[]> = new Map([
  ["image_input", ["imageInput"]],
  ["json_schema", ["jsonSchema"]],
  ["logprobs", ["logprobs"]],
  ["parallel_tools", ["tools", "parallelTools"]],
  ["prompt_caching", ["promptCaching"]],
  ["reasoning", ["reasoning"]],
  ["reasoning_control", ["reasoning", "reasoningControl"]],
  ["sampling_control", ["sampling"]],
  ["tools", ["tools"]],
  ["vision", ["imageInput"]],
]);
