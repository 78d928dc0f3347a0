import type { RouterSpec } from "../tenancy/router.ts";
import type { ExclusionCause } from "./exclusion.ts";
import type { Attempt } from "./reachable-endpoint.ts";

/** Router settings that are not policy: the quality floor and the use of nodes. */
export function routerExclusionCause(
  { model, node }: Pick<Attempt, "model" | "node">,
  { qualityFloor, nodes }: Pick<RouterSpec, "qualityFloor" | "nodes">,
): RouterCause | undefined {
  // Unknown quality is below any floor.
  if (qualityFloor !== null && (model.quality === null || model.quality.score < qualityFloor)) {
    const quality = model.quality === null ? "its quality is unknown" : `its quality is ${model.quality.score}`;
    return { stage: "quality", rule: "quality_floor", reason: `${quality}, the floor is ${qualityFloor}` };
  }
  return nodes === "only" && node === undefined ? NOT_A_NODE : undefined;
}

type RouterCause = ExclusionCause & { readonly reason: string };

const NOT_A_NODE: RouterCause = {
  stage: "nodes",
  rule: "nodes",
  reason: "the router uses the workspace's own nodes only",
};
