import type { Check, CheckResult } from "../app/manage/deps.ts";
import { nodeLevel, nodeProviderSlug, nodeSovereignty } from "../domain/catalogue/node-catalogue.ts";
import { excludedByPolicy } from "../domain/routing/policy.ts";
import type { Directory } from "../domain/tenancy/directory.ts";
import type { WorkspaceNode } from "../domain/tenancy/node.ts";
import { type Level, OPEN_POLICY, type Policy, tightenPolicy } from "../domain/tenancy/policy.ts";
import type { Workspace } from "../domain/tenancy/workspace.ts";
import { pluralize } from "../kit/pluralize.ts";

export type NodeFloors = {
  readonly nodes: { listByWorkspace(workspaceId: string): readonly WorkspaceNode[] };
  readonly directory: Pick<Directory, "workspaces" | "keys" | "routers">;
};

const NODES_LISTED_MAX = 20;
const ADVICE =
  "Declare the country, attest a level (`gateway node attest`), or exempt own nodes (`gateway policy set --own-nodes exempt`): docs/guides/nodes.md";

/** Lists the nodes that a floor excludes. Earlier versions gave every node the highest level, so a floor excluded none. */
export function nodeFloorCheck({ nodes, directory }: NodeFloors): Check {
  return {
    name: "node levels",
    run: async (): Promise<CheckResult> => {
      const found = directory.workspaces().flatMap((workspace) =>
        nodes.listByWorkspace(workspace.id).flatMap((node) => {
          const floors = floorsAbove(node, workspace, directory);
          return floors.length === 0 ? [] : [`${workspace.slug}/${node.name} (${nodeLevel(node).level}): ${floors}`];
        }),
      );
      if (found.length === 0) return { ok: true, detail: "no floor excludes a node" };
      const listed = found.slice(0, NODES_LISTED_MAX).join("; ");
      const more = found.length > NODES_LISTED_MAX ? ` and ${found.length - NODES_LISTED_MAX} more` : "";
      const detail = `${pluralize(found.length, "node")} below a floor: ${listed}${more}. ${ADVICE}`;
      return { ok: true, warning: true, detail };
    },
  };
}

/** The floors that exclude a node, as text; empty: none. */
function floorsAbove(node: WorkspaceNode, { id, policy }: Workspace, directory: NodeFloors["directory"]): string {
  const { ownNodesExempt } = policy;
  const own: Policy = { ...OPEN_POLICY, floor: policy.floor, ownNodesExempt };
  if (isExcluded(node, own)) return `the workspace requires ${policy.floor}`;
  const isBelow = (floor: Level | null | undefined) => isExcluded(node, tightenPolicy(own, { floor: floor ?? null }));
  const sources = [
    ...directory
      .keys(id)
      .flatMap((key) => (key.state !== "revoked" && isBelow(key.policy?.floor) ? [`key ${key.name}`] : [])),
    ...directory.routers(id).flatMap(({ slug, spec }) => (isBelow(spec.floor) ? [`router ${slug}`] : [])),
  ];
  return sources.length === 0 ? "" : `the floor of ${sources.join(", ")}`;
}

function isExcluded(node: WorkspaceNode, policy: Policy): boolean {
  const facts = {
    provider: nodeProviderSlug(node),
    sandbox: false,
    ownNode: true,
    sovereignty: nodeSovereignty(node),
  } as const;
  return excludedByPolicy(facts, policy) !== undefined;
}
