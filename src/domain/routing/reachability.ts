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

/** An endpoint that can be called now, with the data every plan needs. */
export type ReachableEndpoint = EndpointWithLimits &
  Attempt & {
    /** The price in the wallet's currency. */
    readonly rates: UnitRates;
    readonly policyClass: PolicyClass;
  };

/** The reachable endpoints of one model, and why the others are not. */
export type ModelReachability = {
  readonly endpoints: readonly ReachableEndpoint[];
  readonly obstacles: readonly string[];
};

export type ReachableModel = { readonly model: Model; readonly endpoints: readonly ReachableEndpoint[] };

const UNREACHABLE: ModelReachability = { endpoints: [], obstacles: [] };

/** Nested by surface, currency and model: a combined key would be concatenated for every request. */
const emptyCache = () =>
  memoize((_surface: Surface) => memoize((_walletCurrency: string) => new Map<string, ModelReachability>()));

/**
 * Which endpoints of a model can be called on a surface from a wallet. The result depends on the catalogue, the connections,
 * the day (prices have dates) and the proofs, so it is cached per model until one of these changes.
 */
export class Reachability {
  readonly #snapshot: () => CatalogueSnapshot;
  readonly #connections: ProviderConnections;
  readonly #speaksDialect: (endpoint: Endpoint) => boolean;
  readonly #proofs: ProofLookup;
  #cache = emptyCache();
  readonly #pools = new Map<string, readonly ReachableModel[]>();
  /** Not cleared with the cache: classes depend on the snapshot's facts alone. */
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

  /** The cache is bounded: models and currencies come from the catalogue, surfaces are a closed list. */
  forModel(modelId: string, surface: Surface, walletCurrency: string, nowMs: number): ModelReachability {
    this.#refresh(nowMs);
    const cached = this.#cache(surface)(walletCurrency);
    const known = cached.get(modelId);
    if (known !== undefined) return known;
    const model = this.#snapshot().models.get(modelId);
    if (model === undefined) return UNREACHABLE;
    const reachability = this.#compute(model, surface, walletCurrency, nowMs);
    cached.set(modelId, reachability);
    return reachability;
  }

  /** Everything a router may choose from. Hidden models are reachable only by their id. */
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
    const proofVersion = this.#proofs.version(nowMs);
    const connectionVersion = this.#connections.version;
    if (
      day === this.#cachedDay &&
      snapshot === this.#cachedSnapshot &&
      proofVersion === this.#proofVersion &&
      connectionVersion === this.#connectionVersion
    )
      return;
    this.#cache = emptyCache();
    this.#pools.clear();
    this.#cachedDay = day;
    this.#cachedSnapshot = snapshot;
    this.#proofVersion = proofVersion;
    this.#connectionVersion = connectionVersion;
  }

  #compute(model: Model, surface: Surface, walletCurrency: string, nowMs: number): ModelReachability {
    const endpoints: ReachableEndpoint[] = [];
    const obstacles: string[] = [];
    const snapshot = this.#snapshot();
    const context = { snapshot, connections: this.#connections, proofs: this.#proofs, walletCurrency, nowMs };
    for (const endpoint of snapshot.endpointsByModel.get(model.id) ?? []) {
      const result = checkCallability(endpoint, surface, context);
      if (result.is === "not_callable") {
        obstacles.push(result.reason);
        continue;
      }
      const { baseUrl } = result;
      // Holds, comparisons and charges all use this price.
      const price = billedPrice(result.price, surface);
      const rates = unitRates(price, snapshot.currencies, walletCurrency);
      if (rates === undefined) obstacles.push(`there is no exchange rate from ${price.currency} to ${walletCurrency}`);
      else if (isChatLike(surface) && !this.#speaksDialect(endpoint))
        obstacles.push(`${endpoint.id} speaks a dialect the gateway does not`);
      else {
        const provenEndpoint = surface === "decisions" ? limitToProven(endpoint, this.#proofs, nowMs) : endpoint;
        endpoints.push({
          ...withLimits(provenEndpoint, model),
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
