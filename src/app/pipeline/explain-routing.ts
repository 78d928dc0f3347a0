import { Fault } from "../../contract/faults.ts";
import type { DecisionRecord } from "../../domain/record/record.ts";
import { policyFromHints } from "../../domain/routing/preferences.ts";
import { resolveTarget } from "../../domain/routing/routing-target.ts";
import type { Policy } from "../../domain/tenancy/policy.ts";
import { type PolicyLayer, type PolicyRuleSource, policyRuleSources } from "../../domain/tenancy/policy-sources.ts";
import { policyOfRouter, type Router } from "../../domain/tenancy/router.ts";
import type { ChatInferenceRequest } from "./chat-request.ts";
import { isTooLong, type PlannedRequest, type PlanningDeps, type PlanningRequest, planOutline } from "./plan.ts";
import { chooseReasoning, type ReasoningChoice } from "./reasoning-choice.ts";
import { toHeaderText } from "./response-headers.ts";

/** What would become of a call, and why. Nobody is called, and nothing is held, charged or kept. */
export type RoutingExplanation = {
  readonly decision: DecisionRecord | null;
  /** The line of X-Svc-Route-Reason; null when the call would be refused. */
  readonly routeReason: string | null;
  readonly refusal: Fault | null;
  /** It would perhaps be served if it were shorter than its estimate. */
  readonly tooLong: boolean;
  /** The workspace's own router that decides. */
  readonly router: Router | undefined;
  readonly policy: Policy;
  readonly rules: readonly PolicyRuleSource[];
  readonly thinking: ReasoningChoice | undefined;
};

/** Through the very planner that a real request goes through. */
export function explainRouting(
  planning: PlanningDeps,
  from: Omit<PlanningRequest, "outline">,
  { inbound, outline }: ChatInferenceRequest,
  keyPolicy: Partial<Policy> | null,
): RoutingExplanation {
  const asked: PlanningRequest = { ...from, outline };
  const { workspace } = asked;
  const layers: PolicyLayer[] = [
    { from: "workspace", policy: workspace.policy },
    { from: "key", policy: keyPolicy },
  ];
  const own = planning.policyOf(workspace.id, asked.keyId) ?? workspace.policy;
  const nothing = {
    decision: null,
    routeReason: null,
    router: undefined,
    thinking: undefined,
    tooLong: false,
  } as const;
  let planned: PlannedRequest;
  let router: Router | undefined;
  try {
    const route = resolveTarget(outline.model, workspace.slug, (slug) => planning.routerOf(workspace.id, slug));
    router = route.is === "router" ? route.router : undefined;
    planned = planOutline(planning, asked);
  } catch (error) {
    if (error instanceof Fault)
      return { ...nothing, refusal: error, policy: own, rules: policyRuleSources(own, layers) };
    throw error;
  }
  const { plan, currentPolicy } = planned;
  const policy = currentPolicy() ?? own;
  layers.push({ from: "router", policy: router === undefined ? null : policyOfRouter(router.spec) });
  layers.push({ from: "request", policy: policyFromHints(outline.routingHints) });
  const found = {
    decision: plan.decision(),
    router,
    policy,
    rules: policyRuleSources(policy, layers),
    tooLong: isTooLong(plan),
  };
  if (plan.is === "refused") return { ...nothing, ...found, refusal: plan.fault };
  const [first] = plan.attempts;
  return {
    ...found,
    routeReason: toHeaderText(plan.reason),
    refusal: null,
    thinking: first === undefined ? undefined : chooseReasoning(inbound, plan, first),
  };
}
