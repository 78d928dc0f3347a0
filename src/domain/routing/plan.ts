import { type Fault, fault } from "../../contract/faults.ts";
import type { Effort } from "../../language/canon/call.ts";
import type { Endpoint } from "../catalogue/catalogue.ts";
import type { DecisionRecord } from "../record/record.ts";
import type { Policy } from "../tenancy/policy.ts";
import { EVEN_WEIGHTS, type RouterSpec } from "../tenancy/router.ts";
import type { Attempt } from "./attempt.ts";
import { type PlanInputs, planReason, toDecisionRecord, toRefusedDecision } from "./decision-record.ts";
import {
  type EligibilityCheck,
  eligibilityCheckFor,
  emptyFilterResult,
  type FilterResult,
  filterCandidates,
  filterModel,
  type PlanningContext,
  type PlanRequest,
} from "./filter.ts";
import { faultForNoCandidates, type RecheckRefusal, recheckPolicy, recheckRouter } from "./plan-refusal.ts";
import { rank } from "./rank.ts";
import { measureCandidates, scoreCandidates, weightsFor } from "./score.ts";

export type { PlanningContext, PlanRequest } from "./filter.ts";

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

/** No endpoint is eligible. */
export type PlanRefusal = {
  readonly is: "refused";
  readonly fault: Fault;
  readonly router: string | null;
  /** An endpoint was excluded by the prompt length, which is an estimate. */
  readonly isTooLong: boolean;
  decision(): DecisionRecord;
};

/** Filters the candidates, then ranks them. Pure: the same request and context give the same plan. */
export function planAttempts(request: PlanRequest, context: PlanningContext): Plan | PlanRefusal {
  const check = eligibilityCheckFor(request, context);
  const { target, hints } = request;
  if (target.is === "model" && !context.snapshot.models.has(target.modelId))
    return planForAbsentModel(check, target.modelId);
  const filtered = filterCandidates(check);
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
    router: routerName(request),
    effort: spec?.reasoningEffort ?? null,
    decision: () => {
      record ??= toDecisionRecord(inputs);
      return record;
    },
    recheckPolicy: (endpoint, policy) => recheckPolicy(check, endpoint, policy),
    recheckRouter: (attempt, spec) => recheckRouter(check, attempt, spec),
  };
}

/** A prompt estimated at more than this many context windows is too long by any tokenizer. */
const ESTIMATE_ERROR_FACTOR = 4;

function refusePlan({ request }: EligibilityCheck, filtered: FilterResult, refusal: Fault): PlanRefusal {
  const decision = () => toRefusedDecision(request, filtered, refusal.message);
  const windowMax = request.requirements.inputTokens / ESTIMATE_ERROR_FACTOR;
  const isTooLong = filtered.causes.some(
    ({ contextTokens }) => contextTokens !== undefined && contextTokens >= windowMax,
  );
  return { is: "refused", fault: refusal, router: routerName(request), isTooLong, decision };
}

function routerName({ target }: PlanRequest): string | null {
  return target.is === "router" ? target.name : null;
}

/** A model that is expected back is refused by policy first; otherwise the caller gets a retryable error. */
function planForAbsentModel(check: EligibilityCheck, modelId: string): PlanRefusal {
  const filtered = emptyFilterResult();
  const absent = check.context.absentModel?.(modelId);
  if (absent === undefined) return refusePlan(check, filtered, unknownModelFault(modelId, check.context));
  filterModel(modelId, absent.reachability, check, filtered);
  const isEligible = filtered.eligibleCount > 0;
  return refusePlan(
    check,
    filtered,
    isEligible ? fault("upstream_error", { message: absent.reason }) : faultForNoCandidates(check, filtered),
  );
}

function unknownModelFault(modelId: string, context: PlanningContext): Fault {
  const suggestion = suggestModel(modelId, context);
  return fault("model_not_found", {
    message: `There is no model "${modelId.slice(0, 128)}".${suggestion === undefined ? "" : ` Did you mean "${suggestion}"?`} GET /v1/models lists the models this key may use.`,
    param: "model",
  });
}

/** Clients of a provider omit the creator prefix, and people type capitals. */
function suggestModel(modelId: string, { snapshot }: PlanningContext): string | undefined {
  const requested = modelId.trim().toLowerCase();
  if (requested === "auto" || snapshot.models.has(requested)) return requested;
  const name = requested.slice(requested.lastIndexOf("/") + 1);
  return name === "" ? undefined : snapshot.models.keys().find((id) => id.endsWith(`/${name}`));
}
