import type { Router } from "../tenancy/router.ts";

/** What the field `model` names: one model, or a router that chooses. */
export type RoutingTarget =
  | { readonly is: "model"; readonly modelId: string }
  /** `name` is the value the caller sent; `auto` works without a router of the workspace. */
  | { readonly is: "router"; readonly name: string; readonly router: Router | undefined };
