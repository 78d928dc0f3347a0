import type { CatalogueSnapshot } from "../../domain/catalogue/catalogue.ts";
import { findModelIds } from "../../domain/catalogue/model-names.ts";
import { nodeModelId, nodeProviderSlug } from "../../domain/catalogue/node-catalogue.ts";
import type { NodeRegistry } from "../../io/tunnel/node-registry.ts";

type NameSet = Pick<ReadonlySet<string>, "has">;

/** The names that policies and routers may refer to. */
export type KnownNames = {
  readonly providers: NameSet;
  /** The canonical ids that a name of a model stands for; empty when it stands for none. */
  readonly modelIds: (name: string) => readonly string[];
};

type KnownNamesDeps = {
  snapshot(): CatalogueSnapshot;
  readonly nodes: { readonly registry: Pick<NodeRegistry, "listByWorkspace"> };
};

/** Names of the catalogue and of the workspace's nodes; a rule about a node applies before it connects. */
export function knownNamesFor(deps: KnownNamesDeps, workspaceId: string): KnownNames {
  const snapshot = deps.snapshot();
  const { providers } = snapshot;
  const nodes = deps.nodes.registry.listByWorkspace(workspaceId);
  return {
    modelIds: (name) => (nodes.some((node) => isNodeModel(node, name)) ? [name] : findModelIds(name, snapshot)),
    providers:
      nodes.length === 0
        ? providers
        : { has: (slug) => providers.has(slug) || nodes.some((node) => nodeProviderSlug(node) === slug) },
  };
}

function isNodeModel(node: { readonly name: string }, id: string): boolean {
  const stem = nodeModelId(node, "");
  return id.length > stem.length && id.startsWith(stem);
}
