import type { CatalogueSnapshot } from "../../domain/catalogue/catalogue.ts";
import { nodeModelId, nodeProviderSlug } from "../../domain/catalogue/node-catalogue.ts";
import type { Nodes } from "../../io/tunnel/nodes.ts";

type NameSet = Pick<ReadonlySet<string>, "has">;

/** What rules and routers may name. */
export type KnownNames = { readonly models: NameSet; readonly providers: NameSet };

type KnownNamesDeps = { snapshot(): CatalogueSnapshot; readonly nodes: { readonly held: Pick<Nodes, "of"> } };

/** The catalogue's names, and those of a workspace's own nodes: rules about them hold before they connect. */
export function knownNamesFor(room: KnownNamesDeps, workspaceId: string): KnownNames {
  const { models, providers } = room.snapshot();
  const nodes = room.nodes.held.of(workspaceId);
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
