import { HOUR_MS } from "../../kit/time.ts";
import type { ExclusionCause, FilterResult } from "./exclusion.ts";
import type { ReachableEndpoint } from "./reachable-endpoint.ts";
import type { Requirements } from "./requirements.ts";

/**
 * Parameters that a provider rejected as unsupported although the endpoint's catalogue entry claims them: by endpoint and
 * parameter, until when that counts. Bounded by the catalogue's claims.
 */
export type RejectedClaims = Map<string, Map<string, number>>;

/** Long enough to spare most requests the detour; then one request finds out whether the provider supports it now. */
const REMEMBERED_MS = HOUR_MS;

/** Fields of other dialects, by the row of the parameter table that they belong to. */
const ROWS: ReadonlyMap<string, string> = new Map([
  ["reasoning", "reasoning_effort"],
  ["thinking", "reasoning_effort"],
  ["text", "response_format"],
  ["output_config", "response_format"],
]);

export function rememberRejection(claims: RejectedClaims, endpoint: string, parameter: string, nowMs: number): void {
  for (const [id, parameters] of claims) {
    for (const [name, untilMs] of parameters) if (untilMs <= nowMs) parameters.delete(name);
    if (parameters.size === 0) claims.delete(id);
  }
  const known = claims.get(endpoint) ?? new Map<string, number>();
  claims.set(endpoint, known.set(ROWS.get(parameter) ?? parameter, nowMs + REMEMBERED_MS));
}

/** Without the endpoints that recently rejected a parameter of the request, unless none would be left. */
export function withoutRejected(
  filtered: FilterResult,
  requirements: Requirements,
  claims: RejectedClaims,
  nowMs: number,
): FilterResult {
  const sent: readonly string[] = [...requirements.parameters, ...(requirements.otherParameters ?? [])];
  const eligible: ReachableEndpoint[] = [];
  const excluded: ReachableEndpoint[] = [];
  const causes: ExclusionCause[] = [];
  let poolCount = 0;
  for (const [index, row] of filtered.eligible.entries()) {
    const rejected = claims.get(row.endpoint.id);
    const parameter = sent.find((name) => (rejected?.get(name) ?? 0) > nowMs);
    if (parameter !== undefined) {
      excluded.push(row);
      causes.push(causeFor(parameter));
      continue;
    }
    eligible.push(row);
    if (index < filtered.poolCount) poolCount += 1;
  }
  if (excluded.length === 0 || eligible.length === 0) return filtered;
  return {
    ...filtered,
    eligible,
    eligibleCount: eligible.length,
    poolCount,
    excluded: [...filtered.excluded, ...excluded],
    causes: [...filtered.causes, ...causes],
    excludedCount: filtered.excludedCount + excluded.length,
  };
}

function causeFor(parameter: string): ExclusionCause {
  const reason = `its provider rejected ${parameter} within the last hour, although the catalogue says it supports it`;
  return { stage: "capability", rule: parameter, reason };
}
