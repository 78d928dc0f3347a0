import type { Effort } from "../../language/canon/call.ts";
import type { Endpoint } from "../catalogue/catalogue.ts";
import type { DecisionRecord } from "../record/record.ts";
import type { Policy } from "../tenancy/policy.ts";
import { AUTO_ROUTER, EVEN_WEIGHTS, type Router, type RouterSpec } from "../tenancy/router.ts";
import { measureCandidates } from "./candidate-metrics.ts";
import { type PlanInputs, planReason, toDecisionRecord } from "./decision-record.ts";
import type { ExcludedEndpoint } from "./exclusion.ts";
import { type EligibilityCheck, eligibilityCheckFor, filterTargetModel } from "./filter.ts";
import {
  faultForNoCandidates,
  findAlternatives,
  modelNotPermittedFault,
  type PlanRefusal,
  planForAbsentModel,
  policyFault,
  type RecheckRefusal,
  recheckRouter,
  refusePlan,
  routerNotFound,
} from "./plan-refusal.ts";
import type { PlanningContext, PlanRequest } from "./planning-context.ts";
import { excludedByPolicy, permitsModel } from "./policy.ts";
import { rank } from "./rank.ts";
import type { Attempt } from "./reachable-endpoint.ts";
import { findUnpermittedModels } from "./restricted-features.ts";
import { filterRouterPool } from "./router-filter.ts";
import type { RoutingTarget } from "./routing-target.ts";
import { scoreCandidates, weightsFor } from "./score.ts";

export type { PlanningContext, PlanRequest } from "./planning-context.ts";

export type Plan = {
  readonly is: "planned";
  /** Best first; more than the attempt limit, because some may be skipped. */
  readonly attempts: readonly Attempt[];
  /** One line for the request log and the response header. */
  readonly reason: string;
  /** `auto` or `@workspace/router`; null for a plain model. */
  readonly router: string | null;
  /** The router's reasoning effort for models that accept one. */
  readonly effort: Effort | null;
  /** Every candidate with its rank or exclusion, computed on demand. */
  decision(): DecisionRecord;
  /** Called right before a connection is used, with the policy in force at that moment. */
  recheckPolicy(endpoint: Endpoint, policy: Policy): RecheckRefusal | undefined;
  /** Called right before a connection is used when the router changed since planning. */
  recheckRouter(attempt: Attempt, spec: RouterSpec): RecheckRefusal | undefined;
};

/** Filters the candidates, then ranks them. Pure: the same request and context give the same plan. */
export function planAttempts(request: PlanRequest, context: PlanningContext): Plan | PlanRefusal {
  const check = eligibilityCheckFor(request, context);
  const { target, hints } = request;
  if (target.is === "model" && !context.snapshot.models.has(target.modelId))
    return planForAbsentModel(check, target.modelId);
  const filtered =
    target.is === "model" ? filterTargetModel(target.modelId, check) : filterRouterPool(target.router?.spec, check);
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
    recheckPolicy: (endpoint, policy) => recheckPolicy(check, endpoint, policy),
    recheckRouter: (attempt, spec) => recheckRouter(check, attempt, spec),
  };
}

/** Undefined when the policy in force still permits the planned endpoint. */
function recheckPolicy(check: EligibilityCheck, endpoint: Endpoint, policy: Policy): RecheckRefusal | undefined {
  const exclusion = excludedByPolicy(endpoint, policy);
  if (exclusion !== undefined) {
    const excluded: ExcludedEndpoint = { endpoint, stage: "policy", ...exclusion };
    return { reason: exclusion.reason, fault: policyFault(check, endpoint.model, [excluded], policy, "") };
  }
  const { requirements } = check.request;
  const unpermitted =
    requirements.extras === undefined
      ? undefined
      : findUnpermittedModels(endpoint, requirements, policy, check.context.support);
  if (unpermitted !== undefined) return { reason: `it ${unpermitted.reason}`, fault: unpermitted.fault };
  if (permitsModel(endpoint.model, policy)) return undefined;
  const reason = "the policy no longer allows the model";
  return { reason, fault: modelNotPermittedFault([endpoint.model], findAlternatives(check, policy)) };
}

/** An own key or node needs no wallet hold. */
export function isOwnResource({ ownKey, node }: Attempt): boolean {
  return ownKey !== undefined || node !== undefined;
}

const WORKSPACE_ROUTER = /^@([^/]+)\/([^/]+)$/;

/** A router of another workspace is reported like one that does not exist, so that names do not leak. */
export function resolveTarget(
  requested: string,
  workspaceSlug: string,
  find: (slug: string) => Router | undefined,
): RoutingTarget {
  if (requested === AUTO_ROUTER) return { is: "router", name: requested, router: find(AUTO_ROUTER) };
  if (!requested.startsWith("@")) return { is: "model", modelId: requested };
  const [, workspace, slug] = WORKSPACE_ROUTER.exec(requested) ?? [];
  const router = workspace === workspaceSlug && slug !== undefined ? find(slug) : undefined;
  if (router === undefined) throw routerNotFound(requested);
  return { is: "router", name: requested, router };
}
