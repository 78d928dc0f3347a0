import type { Router } from "../tenancy/router.ts";

/** What the field `model` names: one model, or a router that chooses. */
export type RoutingTarget =
  | {
      readonly is: "model";
      /** Canonical; the name as the caller sent it when it is unknown or ambiguous. */
      readonly modelId: string;
      /** The models that an ambiguous name stands for. */
      readonly candidates?: readonly string[];
    }
  /** `name` is the value the caller sent; `auto` works without a router of the workspace. */
  | { readonly is: "router"; readonly name: string; readonly router: Router | undefined };
