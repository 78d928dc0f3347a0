import { usability } from "../catalogue/callable.ts";
import type { Connections, Endpoint, Price, Snapshot } from "../catalogue/catalogue.ts";
import type { Surface } from "../record/record.ts";

/** An endpoint that can be called now, where and for what price. */
export type Reachable = { readonly endpoint: Endpoint; readonly price: Price; readonly baseUrl: string };

/** What can be called of one model, and why the rest cannot. */
export type Reached = { readonly endpoints: readonly Reachable[]; readonly obstacles: readonly string[] };

const DAY_MS = 86_400_000;

/**
 * Which endpoints of a model can be called, on a surface and from a wallet. It depends on the catalogue, on the
 * connections and on the day (prices have dates), none of which changes from request to request, so it is worked out
 * once a day for each model that is asked for.
 */
export class Reach {
  readonly #snapshot: Snapshot;
  readonly #connections: Connections;
  readonly #speaks: (endpoint: Endpoint) => boolean;
  readonly #known = new Map<string, Reached>();
  #day = -1;

  constructor(snapshot: Snapshot, connections: Connections, speaks: (endpoint: Endpoint) => boolean) {
    this.#snapshot = snapshot;
    this.#connections = connections;
    this.#speaks = speaks;
  }

  /** The key is bounded: models and currencies are catalogue rows, surfaces a closed list. */
  of(modelId: string, surface: Surface, walletCurrency: string, nowMs: number): Reached {
    const day = Math.floor(nowMs / DAY_MS);
    if (day !== this.#day) {
      this.#known.clear();
      this.#day = day;
    }
    const key = `${surface} ${walletCurrency} ${modelId}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const reached = this.#workOut(modelId, surface, walletCurrency, nowMs);
    if (this.#snapshot.models.has(modelId)) this.#known.set(key, reached);
    return reached;
  }

  #workOut(modelId: string, surface: Surface, walletCurrency: string, nowMs: number): Reached {
    const endpoints: Reachable[] = [];
    const obstacles: string[] = [];
    const context = { snapshot: this.#snapshot, connections: this.#connections, walletCurrency, nowMs };
    for (const endpoint of this.#snapshot.endpointsByModel.get(modelId) ?? []) {
      const usable = usability(endpoint, surface, context);
      if (usable.is === "not_callable") obstacles.push(usable.reason);
      else if (!this.#speaks(endpoint)) obstacles.push(`${endpoint.id} speaks a dialect the gateway does not`);
      else endpoints.push({ endpoint, price: usable.price, baseUrl: usable.baseUrl });
    }
    return { endpoints, obstacles };
  }
}
