import type { Surface } from "../../domain/record/record.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import type { UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";
import type { ReasoningChoice } from "./inference-request.ts";
import type { RequestTrace } from "./request-trace.ts";

/** Surfaces with a closed list of headers in their specification; their route reason is only in the log. */
const CLOSED_HEADER_SURFACES: ReadonlySet<Surface> = new Set(["decisions", "speech"]);

const NO_COUNTRIES: readonly string[] = [];

/** Adds the provider and routing headers of an inference response. */
export function addInferenceHeaders(
  headers: Record<string, string>,
  trace: RequestTrace,
  plan: Plan,
  adapter: UpstreamAdapter | undefined,
  reasoning: ReasoningChoice | undefined,
): void {
  const endpoint = trace.servingAttempt?.endpoint;
  if (endpoint !== undefined) {
    headers["x-svc-model"] = endpoint.model;
    headers["x-svc-provider"] = endpoint.provider;
    headers["x-svc-sovereignty-level"] = endpoint.sovereignty.level;
    const { countries } = trace;
    const [country] = countries ?? NO_COUNTRIES;
    if (countries !== null && country !== undefined) {
      headers["x-svc-compute-countries"] = countries.length === 1 ? country : countries.join(",");
      if (trace.surface === "speech" && countries.length === 1) headers["x-svc-compute-country"] = country;
    }
    const node = trace.servingAttempt?.node;
    if (node !== undefined && !trace.streaming) {
      headers["x-svc-served-by"] = "own-resource";
      headers["x-svc-node-id"] = node.id;
    }
  }
  if (adapter !== undefined && adapter.surface !== null) headers["x-svc-upstream-surface"] = adapter.surface;
  if (adapter?.responseHeaders !== undefined) Object.assign(headers, adapter.responseHeaders);
  if (CLOSED_HEADER_SURFACES.has(trace.surface)) return;
  headers["x-svc-overhead-ms"] = String(trace.overheadMs);
  headers["x-svc-route-reason"] = routeReason(trace, plan);
  if (plan.router !== null) headers["x-svc-router"] = plan.router;
  if (reasoning === undefined) return;
  if (reasoning.by === "provider_default" || adapter?.effort === "untold") {
    headers["x-svc-reasoning-chosen-by"] = "provider_default";
    return;
  }
  headers["x-svc-reasoning-effort"] = adapter?.effort ?? reasoning.effort;
  headers["x-svc-reasoning-chosen-by"] = reasoning.by;
}

/** The plan's reason, or the number of failed attempts before the serving one. */
function routeReason(trace: RequestTrace, plan: Plan): string {
  const { failed, skipped } = trace.attemptCounts;
  const served = trace.servingAttempt?.endpoint;
  const after: string[] = [];
  if (failed > 0) after.push(`${failed} failed ${failed === 1 ? "attempt" : "attempts"}`);
  if (skipped > 0) after.push(`${skipped} passed over`);
  const text =
    after.length === 0 || served === undefined
      ? plan.reason
      : `${served.provider} ${served.region} (${served.sovereignty.level}): chosen after ${after.join(" and ")}`;
  return toHeaderText(text);
}

export function toHeaderText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?");
}
