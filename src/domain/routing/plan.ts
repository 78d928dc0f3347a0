import type { Endpoint } from "../catalogue/catalogue.ts";
import type { DecisionRecord } from "../record/record.ts";
import type { Policy } from "../tenancy/policy.ts";
import { EVEN_WEIGHTS } from "../tenancy/router.ts";
import { measureCandidates } from "./candidate-metrics.ts";
import { planReason, toDecisionRecord } from "./decision-record.ts";
import { type EligibilityCheck, eligibilityCheckFor, filterTargetModel } from "./filter.ts";
import {
  faultForNoCandidates,
  type PlanRefusal,
  planForAbsentModel,
  type RecheckRefusal,
  recheckRefusal,
  recheckRouter,
  refusePlan,
  withPolicyNote,
} from "./plan-refusal.ts";
import type { Plan } from "./plan-type.ts";
import type { PlanningContext, PlanRequest } from "./planning-context.ts";
import { excludedByPolicy, permitsModel } from "./policy.ts";
import { rank } from "./rank.ts";
import type { PlanInputs } from "./ranking-types.ts";
import type { Attempt } from "./reachable-endpoint.ts";
import { withoutRejected } from "./rejected-claims.ts";
import { filterRouterPool } from "./router-filter.ts";
import { scoreCandidates, weightsFor } from "./score.ts";

export type { Plan } from "./plan-type.ts";
export type { PlanningContext, PlanRequest } from "./planning-context.ts";

/** Filters the candidates, then ranks them. Pure: the same request and context give the same plan. */
export function planAttempts(request: PlanRequest, context: PlanningContext): Plan | PlanRefusal {
  const check = eligibilityCheckFor(request, context);
  const { target, hints } = request;
  if (target.is === "model" && !context.snapshot.models.has(target.modelId)) return planForAbsentModel(check, target);
  const capable =
    target.is === "model" ? filterTargetModel(target.modelId, check) : filterRouterPool(target.router?.spec, check);
  const { reprice } = request.requirements;
  if (reprice !== undefined) for (const [at, row] of capable.eligible.entries()) capable.eligible[at] = reprice(row);
  const { rejectedClaims, nowMs } = context;
  const filtered =
    rejectedClaims === undefined ? capable : withoutRejected(capable, request.requirements, rejectedClaims, nowMs);
  if (filtered.eligible.length === 0) return refusePlan(check, filtered, faultForNoCandidates(check, filtered));
  const spec = target.is === "router" ? target.router?.spec : undefined;
  const metrics = measureCandidates(filtered, request, context);
  const scores =
    target.is === "router"
      ? scoreCandidates(metrics, filtered.poolCount, weightsFor(spec?.weights ?? EVEN_WEIGHTS, hints?.costTier))
      : undefined;
  const ranking = rank(filtered, metrics, scores, request, context);
  const isFirstOnly = hints?.provider?.allowFallbacks === false;
  const attempts: Attempt[] = [];
  for (const index of ranking.shortlist) {
    const row = filtered.eligible[index];
    if (row !== undefined) attempts.push(row);
    if (isFirstOnly) break;
  }
  const [first] = attempts;
  if (first === undefined) return refusePlan(check, filtered, faultForNoCandidates(check, filtered));
  const reason = planReason(first.endpoint, ranking, filtered);
  const inputs: PlanInputs = { request, filtered, metrics, scores, ranking, reason, isFirstOnly };
  let record: DecisionRecord | undefined;
  return {
    is: "planned",
    attempts,
    reason,
    router: target.is === "router" ? target.name : null,
    effort: spec?.reasoningEffort ?? null,
    decision: () => {
      record ??= toDecisionRecord(inputs);
      return record;
    },
    withPolicyNote: (fault) => withPolicyNote(fault, check, filtered, "may support"),
    recheckPolicy: (endpoint, policy) => recheckPolicy(check, endpoint, policy),
    recheckRouter: (attempt, spec) => recheckRouter(check, attempt, spec),
  };
}

/** Undefined when the policy in force still permits the planned endpoint. */
function recheckPolicy(check: EligibilityCheck, endpoint: Endpoint, policy: Policy): RecheckRefusal | undefined {
  const { extras } = check.request.requirements;
  if (extras === undefined && permitsModel(endpoint.model, policy) && excludedByPolicy(endpoint, policy) === undefined)
    return undefined;
  return recheckRefusal(check, endpoint, policy);
}

/** An own key or node needs no wallet hold. */
export function isOwnResource({ ownKey, node }: Attempt): boolean {
  return ownKey !== undefined || node !== undefined;
}
