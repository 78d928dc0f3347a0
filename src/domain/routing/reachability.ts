import { memoize } from "../../kit/memoize.ts";
import { DAY_MS } from "../../kit/time.ts";
import { servesSurface } from "../catalogue/callability.ts";
import type { CatalogueSnapshot, CurrentCatalogue, Endpoint, ProviderConnections } from "../catalogue/catalogue.ts";
import type { ProofLookup } from "../catalogue/proofs.ts";
import type { Surface } from "../record/record.ts";
import { computeReachability, PolicyClasses } from "./compute-reachability.ts";
import type { ModelReachability, ReachableModel } from "./reachable-endpoint.ts";

const UNREACHABLE: ModelReachability = { endpoints: [], obstacles: [] };

/** Nested by surface, currency and model: a combined key would be concatenated for every request. */
const emptyCache = () =>
  memoize((_surface: Surface) => memoize((_walletCurrency: string) => new Map<string, ModelReachability>()));

/**
 * Which endpoints of a model can be called on a surface from a wallet. The result depends on the catalogue, the connections,
 * the day (prices have dates) and the proofs, so it is cached per model until one of these changes.
 */
export class Reachability {
  readonly #catalogue: CurrentCatalogue;
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
    catalogue: CurrentCatalogue,
    connections: ProviderConnections,
    speaks: (endpoint: Endpoint) => boolean,
    proofs: ProofLookup,
  ) {
    this.#catalogue = catalogue;
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
    const model = this.#catalogue.snapshot.models.get(modelId);
    if (model === undefined) return UNREACHABLE;
    const reachability = computeReachability(model, surface, {
      snapshot: this.#catalogue.snapshot,
      connections: this.#connections,
      proofs: this.#proofs,
      speaksDialect: this.#speaksDialect,
      policyClasses: this.#policyClasses,
      walletCurrency,
      nowMs,
    });
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
    for (const model of this.#catalogue.snapshot.models.values()) {
      if (model.hidden || !servesSurface(model.surfaces, surface)) continue;
      const { endpoints } = this.forModel(model.id, surface, walletCurrency, nowMs);
      if (endpoints.length > 0) pool.push({ model, endpoints });
    }
    this.#pools.set(key, pool);
    return pool;
  }

  #refresh(nowMs: number): void {
    const day = Math.floor(nowMs / DAY_MS);
    const snapshot = this.#catalogue.snapshot;
    if (nowMs >= this.#proofs.nextExpiryMs) this.#proofs.expire(nowMs);
    const proofVersion = this.#proofs.version;
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
}
