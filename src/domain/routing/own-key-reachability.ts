import type { Surface } from "../record/record.ts";
import type { OwnKey } from "../tenancy/own-key.ts";
import type { Reachability } from "./reachability.ts";
import type { ModelReachability, ReachableEndpoint, ReachableModel } from "./reachable-endpoint.ts";

type OwnKeyLayered<T> = { readonly platform: T; readonly own: T; readonly merged: T };

/**
 * Reachability of a workspace with own keys: the platform's endpoints, except at providers where only the own key may be
 * used, and those its own keys reach. An endpoint that both reach is listed once per key.
 */
export class OwnKeyReachability {
  readonly #platform: Reachability;
  readonly #own: Reachability;
  readonly #keys: ReadonlyMap<string, OwnKey>;
  readonly #cache = new Map<string, OwnKeyLayered<ModelReachability>>();
  readonly #pools = new Map<string, OwnKeyLayered<readonly ReachableModel[]>>();

  /** `own` covers the workspace's connections alone; `keys` is indexed by provider. */
  constructor(platform: Reachability, own: Reachability, keys: ReadonlyMap<string, OwnKey>) {
    this.#platform = platform;
    this.#own = own;
    this.#keys = keys;
  }

  forModel(modelId: string, surface: Surface, walletCurrency: string, nowMs: number): ModelReachability {
    const platform = this.#platform.forModel(modelId, surface, walletCurrency, nowMs);
    const own = this.#own.forModel(modelId, surface, walletCurrency, nowMs);
    const key = `${surface} ${walletCurrency} ${modelId}`;
    const known = this.#cache.get(key);
    // Both layers return the same object until they are recomputed, so identity shows whether the merge is current.
    if (known?.platform === platform && known.own === own) return known.merged;
    const merged = this.#merge(platform, own);
    this.#cache.set(key, { platform, own, merged });
    return merged;
  }

  pool(surface: Surface, walletCurrency: string, nowMs: number): readonly ReachableModel[] {
    const platform = this.#platform.pool(surface, walletCurrency, nowMs);
    const own = this.#own.pool(surface, walletCurrency, nowMs);
    const key = `${surface} ${walletCurrency}`;
    const known = this.#pools.get(key);
    if (known?.platform === platform && known.own === own) return known.merged;
    const models = new Map([...platform, ...own].map(({ model }) => [model.id, model]));
    const merged = [...models.values()]
      .map((model) => ({ model, endpoints: this.forModel(model.id, surface, walletCurrency, nowMs).endpoints }))
      .filter(({ endpoints }) => endpoints.length > 0);
    this.#pools.set(key, { platform, own, merged });
    return merged;
  }

  #merge(platform: ModelReachability, own: ModelReachability): ModelReachability {
    const withOwn = new Map(own.endpoints.map((row) => [row.endpoint.id, this.#withOwnKey(row)]));
    const endpoints: ReachableEndpoint[] = [];
    for (const row of platform.endpoints) {
      const withKey = withOwn.get(row.endpoint.id);
      if (withKey !== undefined) endpoints.push(withKey);
      withOwn.delete(row.endpoint.id);
      if (this.#keys.get(row.endpoint.provider)?.use !== "only") endpoints.push(row);
    }
    endpoints.push(...withOwn.values());
    return { endpoints, obstacles: platform.obstacles.length === 0 ? own.obstacles : platform.obstacles };
  }

  #withOwnKey(row: ReachableEndpoint): ReachableEndpoint {
    return { ...row, ownKey: this.#keys.get(row.endpoint.provider) };
  }
}
