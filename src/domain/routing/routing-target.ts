import { type Fault, fault } from "../../contract/faults.ts";
import { AUTO_ROUTER, type Router } from "../tenancy/router.ts";

/** What the field `model` asks for: one model, or a choice. */
export type RoutingTarget =
  | { readonly is: "model"; readonly modelId: string }
  /** `name` is what the caller wrote; `auto` needs no router of the workspace's own. */
  | { readonly is: "router"; readonly name: string; readonly router: Router | undefined };

const WORKSPACE_ROUTER = /^@([^/]+)\/([^/]+)$/;

/** Another workspace's router and one that does not exist are told the same way. */
export function resolveTarget(
  asked: string,
  workspaceSlug: string,
  find: (slug: string) => Router | undefined,
): RoutingTarget {
  if (asked === AUTO_ROUTER) return { is: "router", name: asked, router: find(AUTO_ROUTER) };
  if (!asked.startsWith("@")) return { is: "model", modelId: asked };
  const [, workspace, slug] = WORKSPACE_ROUTER.exec(asked) ?? [];
  const router = workspace === workspaceSlug && slug !== undefined ? find(slug) : undefined;
  if (router === undefined) throw routerNotFound(asked);
  return { is: "router", name: asked, router };
}

function routerNotFound(asked: string): Fault {
  return fault("router_not_found", {
    message: `There is no router "${asked.slice(0, 128)}" in this workspace. Send a model id or "auto".`,
    param: "model",
  });
}
