import { memoize } from "../../kit/memoize.ts";
import { DAY_MS } from "../../kit/time.ts";
import { billedPrice } from "../billing/speech-price.ts";
import { checkCallability, isChatLike, servesSurface } from "../catalogue/callability.ts";
import type { CatalogueSnapshot, Endpoint, Model, ProviderConnections } from "../catalogue/catalogue.ts";
import { limitToProven, type ProofLookup } from "../catalogue/proofs.ts";
import type { Surface } from "../record/record.ts";
import type { Attempt } from "./attempt.ts";
import { type EndpointWithLimits, withLimits } from "./capability.ts";
import { type UnitRates, unitRates } from "./cost.ts";
import { type PolicyClass, PolicyClasses } from "./policy.ts";

/** An endpoint that can be called now, with what every plan asks of it. */
export type ReachableEndpoint = EndpointWithLimits &
  Attempt & {
    /** Its price in the wallet's money. */
    readonly rates: UnitRates;
    /** What it is to policy. */
    readonly policyClass: PolicyClass;
  };

/** What can be called of one model, and why the rest cannot. */
export type ModelReachability = {
  readonly endpoints: readonly ReachableEndpoint[];
  readonly obstacles: readonly string[];
};

/** A model of which something can be called. */
export type ReachableModel = { readonly model: Model; readonly endpoints: readonly ReachableEndpoint[] };

const UNREACHABLE: ModelReachability = { endpoints: [], obstacles: [] };

/** By surface, currency and model: a key of all three would have to be made for every request. */
const emptyCache = () =>
  memoize((_surface: Surface) => memoize((_walletCurrency: string) => new Map<string, ModelReachability>()));

/**
 * Which endpoints of a model can be called, on a surface and from a wallet. It depends on the catalogue, on the
 * connections, on the day (prices have dates) and on what is proven, none of which changes from request to request, so
 * it is worked out once a day, and after a change of exchange rates, proofs or credentials, for each model that is asked for.
 */
export class Reachability {
  readonly #snapshot: () => CatalogueSnapshot;
  readonly #connections: ProviderConnections;
  readonly #speaksDialect: (endpoint: Endpoint) => boolean;
  readonly #proofs: ProofLookup;
  #cache = emptyCache();
  readonly #pools = new Map<string, readonly ReachableModel[]>();
  /** Those of the snapshot, which outlive the day. */
  readonly #policyClasses = new PolicyClasses();
  #cachedDay = -1;
  #cachedSnapshot: CatalogueSnapshot | undefined;
  #proofVersion = -1;
  #connectionVersion: number | undefined;

  constructor(
    snapshot: () => CatalogueSnapshot,
    connections: ProviderConnections,
    speaks: (endpoint: Endpoint) => boolean,
    proofs: ProofLookup,
  ) {
    this.#snapshot = snapshot;
    this.#connections = connections;
    this.#speaksDialect = speaks;
    this.#proofs = proofs;
  }

  /** The key is bounded: models and currencies are catalogue rows, surfaces a closed list. */
  forModel(modelId: string, surface: Surface, walletCurrency: string, nowMs: number): ModelReachability {
    this.#refresh(nowMs);
    const reachedBefore = this.#cache(surface)(walletCurrency);
    const known = reachedBefore.get(modelId);
    if (known !== undefined) return known;
    const model = this.#snapshot().models.get(modelId);
    if (model === undefined) return UNREACHABLE;
    const reached = this.#compute(model, surface, walletCurrency, nowMs);
    reachedBefore.set(modelId, reached);
    return reached;
  }

  /** Everything that a router may choose from: hidden models are only ever called by their name. */
  pool(surface: Surface, walletCurrency: string, nowMs: number): readonly ReachableModel[] {
    this.#refresh(nowMs);
    const key = `${surface} ${walletCurrency}`;
    const known = this.#pools.get(key);
    if (known !== undefined) return known;
    const pool: ReachableModel[] = [];
    for (const model of this.#snapshot().models.values()) {
      if (model.hidden || !servesSurface(model.surfaces, surface)) continue;
      const { endpoints } = this.forModel(model.id, surface, walletCurrency, nowMs);
      if (endpoints.length > 0) pool.push({ model, endpoints });
    }
    this.#pools.set(key, pool);
    return pool;
  }

  #refresh(nowMs: number): void {
    const day = Math.floor(nowMs / DAY_MS);
    const snapshot = this.#snapshot();
    const proven = this.#proofs.version(nowMs);
    const connected = this.#connections.version;
    if (
      day === this.#cachedDay &&
      snapshot === this.#cachedSnapshot &&
      proven === this.#proofVersion &&
      connected === this.#connectionVersion
    )
      return;
    this.#cache = emptyCache();
    this.#pools.clear();
    this.#cachedDay = day;
    this.#cachedSnapshot = snapshot;
    this.#proofVersion = proven;
    this.#connectionVersion = connected;
  }

  #compute(model: Model, surface: Surface, walletCurrency: string, nowMs: number): ModelReachability {
    const endpoints: ReachableEndpoint[] = [];
    const obstacles: string[] = [];
    const snapshot = this.#snapshot();
    const context = { snapshot, connections: this.#connections, proofs: this.#proofs, walletCurrency, nowMs };
    for (const endpoint of snapshot.endpointsByModel.get(model.id) ?? []) {
      const usable = checkCallability(endpoint, surface, context);
      if (usable.is === "not_callable") {
        obstacles.push(usable.reason);
        continue;
      }
      const { baseUrl } = usable;
      // From here on everybody reckons with it: what is reserved, compared and charged.
      const price = billedPrice(usable.price, surface);
      const rates = unitRates(price, snapshot.currencies, walletCurrency);
      if (rates === undefined) obstacles.push(`there is no exchange rate from ${price.currency} to ${walletCurrency}`);
      else if (isChatLike(surface) && !this.#speaksDialect(endpoint))
        obstacles.push(`${endpoint.id} speaks a dialect the gateway does not`);
      else {
        const served = surface === "decisions" ? limitToProven(endpoint, this.#proofs, nowMs) : endpoint;
        endpoints.push({
          ...withLimits(served, model),
          price,
          baseUrl,
          rates,
          policyClass: this.#policyClasses.of(endpoint),
        });
      }
    }
    return { endpoints, obstacles };
  }
}
