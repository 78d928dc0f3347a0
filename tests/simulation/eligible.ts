import type { ClientRequest } from "./client-request.ts";
import { forbidden, isCheapEnough, isGoodEnough } from "./oracle.ts";
import type { World } from "./world.ts";

/** All endpoints that may serve the request, found by checking every one. */
export function eligibleFor(world: World, visit: ClientRequest): string[] {
  const { catalogue, connected, checks } = world;
  const layers = checks.layersOf(visit);
  const { model, workspaceSlug, planned, hints } = visit;
  if (layers === undefined || planned === undefined) return [];
  const isRouted = model === "auto" || model.startsWith("@");
  if (model.startsWith("@") && (!model.startsWith(`@${workspaceSlug}/`) || planned.router === undefined)) return [];
  const found: string[] = [];
  for (const [id, { endpoint, price }] of catalogue.endpoints) {
    if (!isRouted && endpoint.model !== model) continue;
    if (!connected.has(endpoint.provider) || forbidden(id, catalogue, layers) !== undefined) continue;
    if (!isCheapEnough(price, hints)) continue;
    if (planned.router !== undefined && !isGoodEnough(endpoint.model, catalogue, planned.router)) continue;
    found.push(id);
  }
  return found;
}
