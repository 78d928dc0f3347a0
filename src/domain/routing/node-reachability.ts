import type { Surface } from "../record/record.ts";
import type { Reachability } from "./reachability.ts";
import type { ModelReachability, NodeRef, ReachableEndpoint, ReachableModel } from "./reachable-endpoint.ts";

/** Implemented by the platform, by workspaces with own keys and by workspaces with nodes. */
export type ReachabilitySource = Pick<Reachability, "forModel" | "pool">;

type NodeLayered<T> = { readonly base: T; readonly nodes: T; readonly merged: T };

/** Adds the models that a workspace's connected nodes serve. */
export class NodeReachability implements ReachabilitySource {
  readonly #base: ReachabilitySource;
  readonly #nodes: ReachabilitySource;
  readonly #nodeOf: (provider: string) => NodeRef | undefined;
  readonly #cache = new Map<string, NodeLayered<ModelReachability>>();
  readonly #pools = new Map<string, NodeLayered<readonly ReachableModel[]>>();

  constructor(base: ReachabilitySource, nodes: ReachabilitySource, nodeOf: (provider: string) => NodeRef | undefined) {
    this.#base = base;
    this.#nodes = nodes;
    this.#nodeOf = nodeOf;
  }

  forModel(modelId: string, surface: Surface, walletCurrency: string, nowMs: number): ModelReachability {
    const base = this.#base.forModel(modelId, surface, walletCurrency, nowMs);
    const nodes = this.#nodes.forModel(modelId, surface, walletCurrency, nowMs);
    if (nodes.endpoints.length === 0 && nodes.obstacles.length === 0) return base;
    const key = `${surface} ${walletCurrency} ${modelId}`;
    const known = this.#cache.get(key);
    // Both layers return the same object until they are recomputed, so identity shows whether the merge is current.
    if (known?.base === base && known.nodes === nodes) return known.merged;
    const own = nodes.endpoints.map(
      (row): ReachableEndpoint => ({ ...row, node: this.#nodeOf(row.endpoint.provider) }),
    );
    const merged = { endpoints: [...base.endpoints, ...own], obstacles: [...base.obstacles, ...nodes.obstacles] };
    this.#cache.set(key, { base, nodes, merged });
    return merged;
  }

  pool(surface: Surface, walletCurrency: string, nowMs: number): readonly ReachableModel[] {
    const base = this.#base.pool(surface, walletCurrency, nowMs);
    const nodes = this.#nodes.pool(surface, walletCurrency, nowMs);
    const key = `${surface} ${walletCurrency}`;
    const known = this.#pools.get(key);
    if (known?.base === base && known.nodes === nodes) return known.merged;
    const models = new Map([...base, ...nodes].map(({ model }) => [model.id, model]));
    const merged = [...models.values()].map((model) => ({
      model,
      endpoints: this.forModel(model.id, surface, walletCurrency, nowMs).endpoints,
    }));
    this.#pools.set(key, { base, nodes, merged });
    return merged;
  }
}
