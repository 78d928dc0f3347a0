import type { Surface } from "../../domain/record/record.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import type { UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";
import type { ReasoningChoice } from "./reasoning-choice.ts";
import type { RequestTrace } from "./request-trace.ts";

/** Surfaces whose headers the specification lists to the last one: why it was routed so is in the log alone. */
const EXACT_LIST: ReadonlySet<Surface> = new Set(["decisions", "speech"]);

const NOWHERE: readonly string[] = [];

/** What every inference answer says of who served it. */
export function addInferenceHeaders(
  headers: Record<string, string>,
  trail: RequestTrace,
  plan: Plan,
  lane: UpstreamAdapter | undefined,
  thinking: ReasoningChoice | undefined,
): void {
  const endpoint = trail.servingAttempt?.endpoint;
  if (endpoint !== undefined) {
    headers["x-svc-model"] = endpoint.model;
    headers["x-svc-provider"] = endpoint.provider;
    headers["x-svc-sovereignty-level"] = endpoint.sovereignty.level;
    const { countries } = trail;
    const [country] = countries ?? NOWHERE;
    if (countries !== null && country !== undefined) {
      headers["x-svc-compute-countries"] = countries.length === 1 ? country : countries.join(",");
      if (trail.surface === "speech" && countries.length === 1) headers["x-svc-compute-country"] = country;
    }
    const node = trail.servingAttempt?.node;
    if (node !== undefined && !trail.streaming) {
      headers["x-svc-served-by"] = "own-resource";
      headers["x-svc-node-id"] = node.id;
    }
  }
  if (lane !== undefined && lane.surface !== null) headers["x-svc-upstream-surface"] = lane.surface;
  if (lane?.responseHeaders !== undefined) Object.assign(headers, lane.responseHeaders);
  if (EXACT_LIST.has(trail.surface)) return;
  headers["x-svc-overhead-ms"] = String(trail.overheadMs);
  headers["x-svc-route-reason"] = routeReason(trail, plan);
  if (plan.router !== null) headers["x-svc-router"] = plan.router;
  if (thinking === undefined) return;
  if (thinking.by === "provider_default" || lane?.effort === "untold") {
    headers["x-svc-reasoning-chosen-by"] = "provider_default";
    return;
  }
  headers["x-svc-reasoning-effort"] = lane?.effort ?? thinking.effort;
  headers["x-svc-reasoning-chosen-by"] = thinking.by;
}

/** The plan's reason, and what came of it when the first choice failed. ASCII only: it travels in a header. */
function routeReason(trail: RequestTrace, plan: Plan): string {
  const { failed, untried } = trail.attemptCounts;
  const served = trail.servingAttempt?.endpoint;
  const after: string[] = [];
  if (failed > 0) after.push(`${failed} failed ${failed === 1 ? "attempt" : "attempts"}`);
  if (untried > 0) after.push(`${untried} passed over`);
  const text =
    after.length === 0 || served === undefined
      ? plan.reason
      : `${served.provider} ${served.region} (${served.sovereignty.level}): chosen after ${after.join(" and ")}`;
  return toHeaderText(text);
}

export function toHeaderText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?");
}
