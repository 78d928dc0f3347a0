import type { Plan } from "../../domain/routing/plan.ts";
import type { Lane } from "../../io/upstream/lane.ts";
import type { Call } from "../../language/canon/call.ts";
import type { Trail } from "./trail.ts";

/** What every inference answer says of who served it. */
export function addHeaders(
  headers: Record<string, string>,
  trail: Trail,
  plan: Plan,
  lane: Lane | undefined,
  call: Call,
): void {
  const endpoint = trail.served?.endpoint;
  if (endpoint !== undefined) {
    headers["x-svc-model"] = endpoint.model;
    headers["x-svc-provider"] = endpoint.provider;
    headers["x-svc-sovereignty-level"] = endpoint.sovereignty.level;
    if (endpoint.sovereignty.countriesKind !== "unknown" && endpoint.sovereignty.countries.length > 0) {
      headers["x-svc-compute-countries"] = endpoint.sovereignty.countries.join(",");
    }
  }
  if (lane !== undefined) headers["x-svc-upstream-surface"] = lane.surface;
  headers["x-svc-route-reason"] = routeReason(trail, plan);
  if (plan.router !== null) headers["x-svc-router"] = plan.router;
  if (call.reasoning !== undefined && lane?.effort === "untold") {
    headers["x-svc-reasoning-chosen-by"] = "provider_default";
  } else if (call.reasoning !== undefined) {
    headers["x-svc-reasoning-effort"] = lane?.effort ?? call.reasoning.effort;
    headers["x-svc-reasoning-chosen-by"] = "caller";
  }
}

/** The plan's reason, and what came of it when the first choice failed. ASCII only: it travels in a header. */
function routeReason(trail: Trail, plan: Plan): string {
  const failed = trail.failedAttempts;
  const served = trail.served?.endpoint;
  const text =
    failed === 0 || served === undefined
      ? plan.reason
      : `${served.provider} ${served.region} (${served.sovereignty.level}): chosen after ${failed} failed ${failed === 1 ? "attempt" : "attempts"}`;
  return text.replace(/[^\x20-\x7e]/g, "?");
}
