import type { CatalogueSnapshot } from "../../domain/catalogue/catalogue.ts";
import { nodeModelId, nodeProviderSlug } from "../../domain/catalogue/node-catalogue.ts";
import type { NodeRegistry } from "../../io/tunnel/node-registry.ts";

type NameSet = Pick<ReadonlySet<string>, "has">;

/** The names that policies and routers may refer to. */
export type KnownNames = { readonly models: NameSet; readonly providers: NameSet };

type KnownNamesDeps = {
  snapshot(): CatalogueSnapshot;
  readonly nodes: { readonly registry: Pick<NodeRegistry, "listByWorkspace"> };
};

/** Names of the catalogue and of the workspace's nodes; a rule about a node applies before it connects. */
export function knownNamesFor(deps: KnownNamesDeps, workspaceId: string): KnownNames {
  const { models, providers } = deps.snapshot();
  const nodes = deps.nodes.registry.listByWorkspace(workspaceId);
  if (nodes.length === 0) return { models, providers };
  return {
    models: { has: (id) => models.has(id) || nodes.some((node) => isNodeModel(node, id)) },
    providers: { has: (slug) => providers.has(slug) || nodes.some((node) => nodeProviderSlug(node) === slug) },
  };
}

function isNodeModel(node: { readonly name: string }, id: string): boolean {
  const stem = nodeModelId(node, "");
  return id.length > stem.length && id.startsWith(stem);
}
