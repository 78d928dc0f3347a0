import type { RouterSpec } from "../tenancy/router.ts";
import type { FilterResult } from "./exclusion.ts";
import { type EligibilityCheck, emptyFilterResult, filterEndpoints, filterModels } from "./filter.ts";
import { permitsModel } from "./policy.ts";
import type { ReachableModel } from "./reachable-endpoint.ts";

/** Without a router of the workspace, every reachable model is in the pool. */
export function filterRouterPool(spec: RouterSpec | undefined, check: EligibilityCheck): FilterResult {
  const { models = null, fallback = [] } = spec ?? {};
  const result = emptyFilterResult(models === null ? endpointCountOf(check.context.pool()) : 0);
  filterRouterModels(models, fallback, check, result);
  result.eligible.length = result.eligibleCount;
  result.excluded.length = result.excludedCount;
  result.causes.length = result.excludedCount;
  return result;
}

/** Preallocation: growing the lists costs more than the filters themselves. */
function endpointCountOf(pool: readonly ReachableModel[]): number {
  let count = 0;
  for (const { endpoints } of pool) count += endpoints.length;
  return count;
}

function filterRouterModels(
  models: readonly string[] | null,
  fallback: readonly string[],
  check: EligibilityCheck,
  result: FilterResult,
): void {
  if (models === null) filterPool(fallback, check, result);
  else filterModels(models, check, result);
  result.poolCount = result.eligibleCount;
  // A fallback that is also in the pool stays in the pool.
  filterModels(models === null ? fallback : fallback.filter((name) => !models.includes(name)), check, result);
  for (const row of result.deferredNodes) {
    result.eligible[result.eligibleCount] = row;
    result.eligibleCount += 1;
  }
}

/** The pool without the fallbacks; sandbox models leave it once a real provider is connected. */
function filterPool(fallback: readonly string[], check: EligibilityCheck, result: FilterResult): void {
  const { request, context } = check;
  for (const { model, endpoints } of context.pool()) {
    if ((model.sandbox && context.hasRealProvider) || fallback.includes(model.id)) continue;
    if (permitsModel(model.id, request.policy)) filterEndpoints(endpoints, check, result);
    else result.forbiddenModels.push(model.id);
  }
}
