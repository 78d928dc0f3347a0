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
  /** Best first; more than will be tried, so that some can be passed over. */
  readonly attempts: readonly Attempt[];
  /** One line for people. */
  readonly reason: string;
  /** `auto` or `@workspace/router`; null for a plain model. */
  readonly router: string | null;
  /** What the router wants of models that can be told how hard to think. */
  readonly effort: Effort | null;
  /** Every candidate, why it is out or where it stands, and by which figures. Worked out when it is asked for. */
  decision(): DecisionRecord;
  /** Asked right before a connection is used: what the policy of that moment says of a planned endpoint. */
  recheckPolicy(endpoint: Endpoint, policy: Policy): RecheckRefusal | undefined;
  /** The same of the router of that moment, where it is another than the plan was made by. */
  recheckRouter(attempt: Attempt, spec: RouterSpec): RecheckRefusal | undefined;
};

/** Nobody can be asked: the fault that answers, and what was looked at. */
export type PlanRefusal = {
  readonly is: "refused";
  readonly fault: Fault;
  readonly router: string | null;
  /** Something fell for the length of the prompt, which is an estimate. */
  readonly isTooLong: boolean;
  decision(): DecisionRecord;
};

/** Hard filters, then the order of attempts. Pure: the same request in the same world gives the same plan. */
export function planAttempts(request: PlanRequest, world: PlanningContext): Plan | PlanRefusal {
  const judge = eligibilityCheckFor(request, world);
  const { target, hints } = request;
  if (target.is === "model" && !world.snapshot.models.has(target.modelId))
    return planForAbsentModel(judge, target.modelId);
  const filtered = filterCandidates(judge);
  if (filtered.eligible.length === 0) return refusePlan(judge, filtered, faultForNoCandidates(judge, filtered));
  const spec = target.is === "router" ? target.router?.spec : undefined;
  const metrics = measureCandidates(filtered, request, world);
  const scores =
    target.is === "router"
      ? scoreCandidates(metrics, filtered.poolCount, weightsFor(spec?.weights ?? EVEN_WEIGHTS, hints?.costTier))
      : undefined;
  const ranking = rank(filtered, metrics, scores, request, world);
  const isFirstOnly = hints?.provider?.allowFallbacks === false;
  const attempts: Attempt[] = [];
  for (const place of ranking.shortlist) {
    const row = filtered.eligible[place];
    if (row !== undefined) attempts.push(row);
    if (isFirstOnly) break;
  }
  const [first] = attempts;
  if (first === undefined) return refusePlan(judge, filtered, faultForNoCandidates(judge, filtered));
  const reason = planReason(first.endpoint, ranking, filtered);
  const considered: PlanInputs = { request, filtered, metrics, scores, ranking, reason, isFirstOnly };
  let written: DecisionRecord | undefined;
  return {
    is: "planned",
    attempts,
    reason,
    router: routerName(request),
    effort: spec?.reasoningEffort ?? null,
    decision: () => {
      written ??= toDecisionRecord(considered);
      return written;
    },
    recheckPolicy: (endpoint, policy) => recheckPolicy(judge, endpoint, policy),
    recheckRouter: (attempt, spec) => recheckRouter(judge, attempt, spec),
  };
}

/** A prompt that is estimated at more than so many windows is beyond one, whoever counts. */
const ESTIMATE_ERROR_FACTOR = 4;

function refusePlan({ request }: EligibilityCheck, sifted: FilterResult, problem: Fault): PlanRefusal {
  const decision = () => toRefusedDecision(request, sifted, problem.message);
  const most = request.requirements.inputTokens / ESTIMATE_ERROR_FACTOR;
  const isTooLong = sifted.causes.some(({ contextTokens }) => contextTokens !== undefined && contextTokens >= most);
  return { is: "refused", fault: problem, router: routerName(request), isTooLong, decision };
}

function routerName({ target }: PlanRequest): string | null {
  return target.is === "router" ? target.name : null;
}

/** A model that nobody has now. Of one that is expected back the rules are told first, and then that it may be asked again. */
function planForAbsentModel(judge: EligibilityCheck, modelId: string): PlanRefusal {
  const sifted = emptyFilterResult();
  const absent = judge.context.absentModel?.(modelId);
  if (absent === undefined) return refusePlan(judge, sifted, unknownModelFault(modelId, judge.context));
  filterModel(modelId, absent.reachability, judge, sifted);
  const isEligible = sifted.eligibleCount > 0;
  return refusePlan(
    judge,
    sifted,
    isEligible ? fault("upstream_error", { message: absent.reason }) : faultForNoCandidates(judge, sifted),
  );
}

function unknownModelFault(modelId: string, world: PlanningContext): Fault {
  const meant = suggestModel(modelId, world);
  return fault("model_not_found", {
    message: `There is no model "${modelId.slice(0, 128)}".${meant === undefined ? "" : ` Did you mean "${meant}"?`} GET /v1/models lists the models this key may use.`,
    param: "model",
  });
}

/** Clients that come from a provider leave out who made the model; people write capitals. */
function suggestModel(modelId: string, { snapshot }: PlanningContext): string | undefined {
  const asked = modelId.trim().toLowerCase();
  if (asked === "auto" || snapshot.models.has(asked)) return asked;
  const name = asked.slice(asked.lastIndexOf("/") + 1);
  return name === "" ? undefined : snapshot.models.keys().find((id) => id.endsWith(`/${name}`));
}
