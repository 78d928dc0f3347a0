import { fault } from "../../contract/faults.ts";
import { isChatLike } from "../../domain/catalogue/callability.ts";
import type { Surface } from "../../domain/record/record.ts";
import { AUTO_ROUTER } from "../../domain/tenancy/router.ts";

/** Surfaces beside chat are asked for one model: nobody chooses among models there. */
export function requireModelId(model: string, surface: Surface): void {
  if (isChatLike(surface) || (model !== AUTO_ROUTER && !model.startsWith("@"))) return;
  throw fault("router_not_supported", {
    message: `"${model.slice(0, 128)}" is a router, and ${surface} needs one model by its id. GET /v1/models lists those with svc_surfaces "${surface}".`,
    param: "model",
  });
}
