import type { CatalogueSnapshot } from "../catalogue/catalogue.ts";
import { findModelIds } from "../catalogue/model-names.ts";
import { AUTO_ROUTER, type Router } from "../tenancy/router.ts";
import { routerNotFound } from "./plan-refusal.ts";
import type { RoutingTarget } from "./routing-target.ts";

const WORKSPACE_ROUTER = /^@([^/]+)\/([^/]+)$/;

/**
 * What a requested name stands for. Names of models come from the catalogue alone, so that neither policy nor connections
 * change them. A router of another workspace is reported like one that does not exist, so that names do not leak.
 */
export function resolveTarget(
  requested: string,
  workspaceSlug: string,
  find: (slug: string) => Router | undefined,
  catalogue: Pick<CatalogueSnapshot, "models" | "modelNames">,
): RoutingTarget {
  if (requested === AUTO_ROUTER) return { is: "router", name: requested, router: find(AUTO_ROUTER) };
  if (!requested.startsWith("@")) {
    const ids = findModelIds(requested, catalogue);
    return ids.length > 1
      ? { is: "model", modelId: requested, candidates: ids }
      : { is: "model", modelId: ids[0] ?? requested };
  }
  const [, workspace, slug] = WORKSPACE_ROUTER.exec(requested) ?? [];
  const router = workspace === workspaceSlug && slug !== undefined ? find(slug) : undefined;
  if (router === undefined) throw routerNotFound(requested);
  return { is: "router", name: requested, router };
}
