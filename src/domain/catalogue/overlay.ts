import type { CatalogueSnapshot, Endpoint, Model, Provider } from "./catalogue.ts";
import type { NodeCatalogue } from "./node-catalogue.ts";

/** A read-only union of two maps: thousands of workspaces share the lower one. */
class OverlayMap<V> implements ReadonlyMap<string, V> {
  readonly #above: ReadonlyMap<string, V>;
  readonly #below: ReadonlyMap<string, V>;
  readonly size: number;

  constructor(above: ReadonlyMap<string, V>, below: ReadonlyMap<string, V>) {
    this.#above = above;
    this.#below = below;
    this.size = below.size + [...above.keys()].filter((key) => !below.has(key)).length;
  }

  get(key: string): V | undefined {
    return this.#above.get(key) ?? this.#below.get(key);
  }

  has(key: string): boolean {
    return this.#above.has(key) || this.#below.has(key);
  }

  *entries(): MapIterator<[string, V]> {
    for (const [key, value] of this.#below) yield [key, this.#above.get(key) ?? value];
    for (const [key, value] of this.#above) if (!this.#below.has(key)) yield [key, value];
    return undefined;
  }

  *keys(): MapIterator<string> {
    for (const [key] of this.entries()) yield key;
    return undefined;
  }

  *values(): MapIterator<V> {
    for (const [, value] of this.entries()) yield value;
    return undefined;
  }

  [Symbol.iterator](): MapIterator<[string, V]> {
    return this.entries();
  }

  forEach(each: (value: V, key: string, map: ReadonlyMap<string, V>) => void): void {
    for (const [key, value] of this.entries()) each(value, key, this);
  }
}

export type OverlaidCatalogue = {
  /** Only node endpoints, and the catalogue models that they are mapped to. */
  readonly nodesOnly: CatalogueSnapshot;
  readonly combined: CatalogueSnapshot;
};

/** Nodes add endpoints but never replace those of the catalogue. */
export function overlayNodes(base: CatalogueSnapshot, nodes: readonly NodeCatalogue[]): OverlaidCatalogue {
  const models = new Map<string, Model>();
  const providers = new Map<string, Provider>();
  const endpoints = new Map<string, Endpoint>();
  const byModel = new Map<string, Endpoint[]>();
  for (const node of nodes) {
    providers.set(node.provider.slug, node.provider);
    for (const model of node.models) models.set(model.id, model);
    for (const endpoint of node.endpoints) {
      const model = models.get(endpoint.model) ?? base.models.get(endpoint.model);
      if (model === undefined || endpoints.has(endpoint.id) || base.endpoints.has(endpoint.id)) continue;
      models.set(model.id, model);
      endpoints.set(endpoint.id, endpoint);
      byModel.set(model.id, [...(byModel.get(model.id) ?? []), endpoint]);
    }
  }
  const all = [...byModel].map(([id, own]): [string, readonly Endpoint[]] => [
    id,
    [...(base.endpointsByModel.get(id) ?? []), ...own],
  ]);
  return {
    nodesOnly: { ...base, models, providers, endpoints, endpointsByModel: byModel },
    combined: {
      ...base,
      models: new OverlayMap(models, base.models),
      providers: new OverlayMap(providers, base.providers),
      endpoints: new OverlayMap(endpoints, base.endpoints),
      endpointsByModel: new OverlayMap(new Map(all), base.endpointsByModel),
    },
  };
}
