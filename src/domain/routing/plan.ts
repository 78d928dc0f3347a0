import { type Fault, fault } from "../../contract/faults.ts";
import type { Effort } from "../../language/canon/call.ts";
import type { Endpoint } from "../catalogue/catalogue.ts";
import type { DecisionRecord } from "../record/record.ts";
import type { Policy } from "../tenancy/policy.ts";
import { EVEN_WEIGHTS, type RouterSpec } from "../tenancy/router.ts";
import type { Attempt } from "./attempt.ts";
import { type Considered, decisionOf, reasonFor, refusedDecision } from "./explain.ts";
import { rank } from "./rank.ts";
import { type Refused, refusalFor, refusedNow, unroutedNow } from "./refusal.ts";
import { figuresOf, scoresOf, weightsFor } from "./score.ts";
import {
  emptySieve,
  type Judge,
  judgeOf,
  type PlanRequest,
  type Sifted,
  sift,
  siftModel,
  type World,
} from "./sieve.ts";

export type { PlanRequest, World } from "./sieve.ts";

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
  refusedNow(endpoint: Endpoint, policy: Policy): Refused | undefined;
  /** The same of the router of that moment, where it is another than the plan was made by. */
  unroutedNow(attempt: Attempt, spec: RouterSpec): Refused | undefined;
};

/** Nobody can be asked: the fault that answers, and what was looked at. */
export type NoPlan = {
  readonly is: "refused";
  readonly fault: Fault;
  readonly router: string | null;
  /** Something fell for the length of the prompt, which is an estimate. */
  readonly tooLong: boolean;
  decision(): DecisionRecord;
};

/** Hard filters, then the order of attempts. Pure: the same request in the same world gives the same plan. */
export function planAttempts(request: PlanRequest, world: World): Plan | NoPlan {
  const judge = judgeOf(request, world);
  const { route, wishes } = request;
  if (route.is === "model" && !world.snapshot.models.has(route.modelId)) return withoutModel(judge, route.modelId);
  const sifted = sift(judge);
  if (sifted.rows.length === 0) return refused(judge, sifted, refusalFor(judge, sifted));
  const spec = route.is === "router" ? route.router?.spec : undefined;
  const figures = figuresOf(sifted, request, world);
  const scores =
    route.is === "router"
      ? scoresOf(figures, sifted.pooled, weightsFor(spec?.weights ?? EVEN_WEIGHTS, wishes?.costTier))
      : undefined;
  const ranking = rank(sifted, figures, scores, request, world);
  const onlyFirst = wishes?.provider?.allowFallbacks === false;
  const attempts: Attempt[] = [];
  for (const place of ranking.shortlist) {
    const row = sifted.rows[place];
    if (row !== undefined) attempts.push(row);
    if (onlyFirst) break;
  }
  const [first] = attempts;
  if (first === undefined) return refused(judge, sifted, refusalFor(judge, sifted));
  const reason = reasonFor(first.endpoint, ranking, sifted);
  const considered: Considered = { request, sifted, figures, scores, ranking, reason, onlyFirst };
  let written: DecisionRecord | undefined;
  return {
    is: "planned",
    attempts,
    reason,
    router: routerName(request),
    effort: spec?.reasoningEffort ?? null,
    decision: () => {
      written ??= decisionOf(considered);
      return written;
    },
    refusedNow: (endpoint, policy) => refusedNow(judge, endpoint, policy),
    unroutedNow: (attempt, spec) => unroutedNow(judge, attempt, spec),
  };
}

/** A prompt that is estimated at more than so many windows is beyond one, whoever counts. */
const ESTIMATE_TIMES = 4;

function refused({ request }: Judge, sifted: Sifted, problem: Fault): NoPlan {
  const decision = () => refusedDecision(request, sifted, problem.message);
  const most = request.demand.inputTokens / ESTIMATE_TIMES;
  const tooLong = sifted.causes.some(({ contextTokens }) => contextTokens !== undefined && contextTokens >= most);
  return { is: "refused", fault: problem, router: routerName(request), tooLong, decision };
}

function routerName({ route }: PlanRequest): string | null {
  return route.is === "router" ? route.name : null;
}

/** A model that nobody has now. Of one that is expected back the rules are told first, and then that it may be asked again. */
function withoutModel(judge: Judge, modelId: string): NoPlan {
  const sifted = emptySieve();
  const absent = judge.world.absent?.(modelId);
  if (absent === undefined) return refused(judge, sifted, unknownModel(modelId, judge.world));
  siftModel(modelId, absent.reached, judge, sifted);
  const isEligible = sifted.passed > 0;
  return refused(
    judge,
    sifted,
    isEligible ? fault("upstream_error", { message: absent.why }) : refusalFor(judge, sifted),
  );
}

function unknownModel(modelId: string, world: World): Fault {
  const meant = likelyMeant(modelId, world);
  return fault("model_not_found", {
    message: `There is no model "${modelId.slice(0, 128)}".${meant === undefined ? "" : ` Did you mean "${meant}"?`} GET /v1/models lists the models this key may use.`,
    param: "model",
  });
}

/** Clients that come from a provider leave out who made the model; people write capitals. */
function likelyMeant(modelId: string, { snapshot }: World): string | undefined {
  const asked = modelId.trim().toLowerCase();
  if (asked === "auto" || snapshot.models.has(asked)) return asked;
  const name = asked.slice(asked.lastIndexOf("/") + 1);
  return name === "" ? undefined : snapshot.models.keys().find((id) => id.endsWith(`/${name}`));
}
