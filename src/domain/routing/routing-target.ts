import { type Fault, fault } from "../../contract/faults.ts";
import { AUTO_ROUTER, type Router } from "../tenancy/router.ts";

/** What the field `model` names: one model, or a router that chooses. */
export type RoutingTarget =
  | { readonly is: "model"; readonly modelId: string }
  /** `name` is the value the caller sent; `auto` works without a router of the workspace. */
  | { readonly is: "router"; readonly name: string; readonly router: Router | undefined };

const WORKSPACE_ROUTER = /^@([^/]+)\/([^/]+)$/;

/** A router of another workspace is reported like one that does not exist, so that names do not leak. */
export function resolveTarget(
  requested: string,
  workspaceSlug: string,
  find: (slug: string) => Router | undefined,
): RoutingTarget {
  if (requested === AUTO_ROUTER) return { is: "router", name: requested, router: find(AUTO_ROUTER) };
  if (!requested.startsWith("@")) return { is: "model", modelId: requested };
  const [, workspace, slug] = WORKSPACE_ROUTER.exec(requested) ?? [];
  const router = workspace === workspaceSlug && slug !== undefined ? find(slug) : undefined;
  if (router === undefined) throw routerNotFound(requested);
  return { is: "router", name: requested, router };
}

function routerNotFound(requested: string): Fault {
  return fault("router_not_found", {
    message: `There is no router "${requested.slice(0, 128)}" in this workspace. Send a model id or "auto".`,
    param: "model",
  });
}
