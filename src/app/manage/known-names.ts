import { invalidValue } from "../../contract/faults.ts";
import type { CatalogueSnapshot } from "../../domain/catalogue/catalogue.ts";
import { findModelIds } from "../../domain/catalogue/model-names.ts";
import { nodeModelId, nodeProviderSlug } from "../../domain/catalogue/node-catalogue.ts";
import { DATA_CLASSES, type DataClassRules, UNINSPECTED } from "../../domain/tenancy/data-class-rules.ts";
import type { NodeRegistry } from "../../io/tunnel/node-registry.ts";
import type { CustomClasses } from "../pipeline/custom-classes.ts";
import { printable } from "../printable.ts";

type NameSet = Pick<ReadonlySet<string>, "has">;

/** The names that policies and routers may refer to. */
export type KnownNames = {
  readonly providers: NameSet;
  /** The canonical ids that a name of a model stands for; empty when it stands for none. */
  readonly modelIds: (name: string) => readonly string[];
  /** The built-in data classes and those that the workspace defines. */
  readonly dataClasses: NameSet;
};

const BUILT_IN_CLASSES: ReadonlySet<string> = new Set([...DATA_CLASSES, UNINSPECTED]);
export const BUILT_IN_NAMES = [...BUILT_IN_CLASSES].join(", ");

type KnownNamesDeps = {
  readonly customClasses: { readonly registry: Pick<CustomClasses, "of"> };
  snapshot(): CatalogueSnapshot;
  readonly nodes: { readonly registry: Pick<NodeRegistry, "listByWorkspace"> };
};

/** Names of the catalogue and of the workspace's nodes; a rule about a node applies before it connects. */
export function knownNamesFor(deps: KnownNamesDeps, workspaceId: string): KnownNames {
  const snapshot = deps.snapshot();
  const { providers } = snapshot;
  const nodes = deps.nodes.registry.listByWorkspace(workspaceId);
  const own = deps.customClasses.registry.of(workspaceId);
  return {
    dataClasses: { has: (name) => BUILT_IN_CLASSES.has(name) || own.has(name) },
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

/** A rule for an undefined class would refuse every request. */
export function requireDataClasses(param: string, rules: DataClassRules, { dataClasses }: KnownNames): DataClassRules {
  for (const name of Object.keys(rules))
    if (!dataClasses.has(name))
      throw invalidValue(
        `${param}.${name}`,
        `must be a data class: there is no class "${printable(name)}". Built-in ones are ${BUILT_IN_NAMES}; define others with \`gateway data-class define\``,
      );
  return rules;
}
