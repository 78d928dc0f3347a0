import { Fault } from "../../contract/faults.ts";
import type { DecisionRecord } from "../../domain/record/record.ts";
import { policyFromHints } from "../../domain/routing/preferences.ts";
import { resolveTarget } from "../../domain/routing/resolve-target.ts";
import type { Policy } from "../../domain/tenancy/policy.ts";
import { type PolicyLayer, type PolicyRuleSource, policyRuleSources } from "../../domain/tenancy/policy-sources.ts";
import { policyOfRouter, type Router } from "../../domain/tenancy/router.ts";
import { type ChatInferenceRequest, chooseReasoning } from "./chat-request.ts";
import type { ReasoningChoice } from "./inference-request.ts";
import { inspectContent } from "./inspect-content.ts";
import { isTooLong, planOutline } from "./plan.ts";
import type { PlannedRequest, PlanningDeps, PlanningRequest } from "./planned-request.ts";
import { toHeaderText } from "./relay.ts";

/** The routing decision for a call and its reasons; no provider is called and unplanned is held or stored. */
export type RoutingExplanation = {
  readonly decision: DecisionRecord | null;
  /** The value of X-Svc-Route-Reason; null when the call would be refused. */
  readonly routeReason: string | null;
  readonly refusal: Fault | null;
  /** An exact token count might make the call fit. */
  readonly tooLong: boolean;
  /** The workspace's router, if the call names one. */
  readonly router: Router | undefined;
  readonly policy: Policy;
  readonly rules: readonly PolicyRuleSource[];
  readonly reasoning: ReasoningChoice | undefined;
};

/** Uses the same planner as real requests. */
export async function explainRouting(
  planning: PlanningDeps,
  from: Omit<PlanningRequest, "outline">,
  inference: ChatInferenceRequest,
  keyPolicy: Partial<Policy> | null,
): Promise<RoutingExplanation> {
  const { inbound, outline } = inference;
  const request: PlanningRequest = { ...from, outline, inspected: { content: () => inference.content() } };
  const { workspace } = request;
  const layers: PolicyLayer[] = [
    { from: "workspace", policy: workspace.policy },
    { from: "key", policy: keyPolicy },
  ];
  const ownPolicy = planning.policyOf(workspace.id, request.keyId) ?? workspace.policy;
  const unplanned = {
    decision: null,
    routeReason: null,
    router: undefined,
    reasoning: undefined,
    tooLong: false,
  } as const;
  let planned: PlannedRequest;
  let router: Router | undefined;
  try {
    const findRouter = (slug: string) => planning.routerOf(workspace.id, slug);
    const route = resolveTarget(outline.model, workspace.slug, findRouter, planning.catalogue.snapshot);
    router = route.is === "router" ? route.router : undefined;
    planned = planOutline(planning, request);
    if (planned.isUninspected) {
      await inspectContent(planning, planned, workspace.id);
      planned = planOutline(planning, request);
    }
  } catch (error) {
    if (error instanceof Fault)
      return { ...unplanned, refusal: error, policy: ownPolicy, rules: policyRuleSources(ownPolicy, layers) };
    throw error;
  }
  const { plan, currentPolicy } = planned;
  const policy = currentPolicy() ?? ownPolicy;
  layers.push({ from: "router", policy: router === undefined ? null : policyOfRouter(router.spec) });
  layers.push({ from: "request", policy: policyFromHints(outline.routingHints) });
  const explanation = {
    decision: plan.decision(),
    router,
    policy,
    rules: policyRuleSources(policy, layers),
    tooLong: isTooLong(plan),
  };
  if (plan.is === "refused") return { ...unplanned, ...explanation, refusal: plan.fault };
  const [first] = plan.attempts;
  return {
    ...explanation,
    routeReason: toHeaderText(plan.reason),
    refusal: null,
    reasoning: first === undefined ? undefined : chooseReasoning(inbound, plan, first),
  };
}
