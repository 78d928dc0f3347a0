import { fault } from "../../contract/faults.ts";
import { type Margin, NO_MARGIN } from "../../domain/billing/margin.ts";
import type { Surface } from "../../domain/record/record.ts";
import { isChatLike } from "../../domain/record/request-shape.ts";
import { exchangeRate } from "../../domain/routing/cost.ts";
import { type Plan, type PlanningContext, planAttempts } from "../../domain/routing/plan.ts";
import type { PlanRefusal } from "../../domain/routing/plan-refusal.ts";
import { policyFromHints } from "../../domain/routing/preferences.ts";
import { resolveTarget } from "../../domain/routing/resolve-target.ts";
import type { RoutingTarget } from "../../domain/routing/routing-target.ts";
import { type Policy, tightenPolicy } from "../../domain/tenancy/policy.ts";
import { AUTO_ROUTER, policyOfRouter, type RouterSpec } from "../../domain/tenancy/router.ts";
import { DIALECT_SUPPORT } from "../../io/upstream/dialect-support.ts";
import type { RoutingHints } from "../../language/canon/routing-hints.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import type { InferenceRequest, PricingTerms, RequestOutline } from "./inference-request.ts";
import { type InspectedRequest, isInspectionDue, judgeContent, replyTo, traceInspection } from "./inspect-content.ts";
import type { PlannedRequest, PlanningDeps, PlanningRequest } from "./planned-request.ts";
import type { RequestTrace } from "./record.ts";
import { ruleLayers } from "./rule-layers.ts";
import { breakersWithNodes, healthWithNodes } from "./workspace-resources.ts";

/** The plan stage. Also notes in the trace what is known of the request from here on. */
export function planRequest(
  gateway: PlanningDeps,
  trace: RequestTrace,
  surface: Surface,
  request: InferenceRequest,
  inspected: InspectedRequest = {
    content: () => request.content(),
    sessionId: request.outline.routingHints?.sessionId,
  },
): PlannedRequest {
  const { outline } = request;
  trace.modelRequested = outline.model;
  trace.streaming = request.streaming;
  trace.detail = request.detail;
  requireModelId(outline.model, surface);
  const { workspace, key } = trace.principal;
  // Planning may throw because of what was found.
  if (inspected.inspection !== undefined) traceInspection(trace, inspected.inspection);
  const planned = planOutline(gateway, { surface, workspace, keyId: key.id, outline, inspected });
  trace.modelRequested = planned.model;
  trace.plan = planned.plan;
  // In the same tick as the plan: a later change of a rate or margin applies to the next request.
  trace.terms = pricingTermsFor(gateway, workspace.id, outline);
  return planned;
}

/** Surfaces other than chat need a model id, not a router. */
function requireModelId(model: string, surface: Surface): void {
  if (isChatLike(surface) || (model !== AUTO_ROUTER && !model.startsWith("@"))) return;
  throw fault("router_not_supported", {
    message: `"${model.slice(0, 128)}" is a router, but ${surface} requires a model id. GET /v1/models lists the models with svc_surfaces "${surface}".`,
    param: "model",
  });
}

function pricingTermsFor(
  gateway: Pick<GatewayDeps, "catalogue" | "margins">,
  workspaceId: string,
  { requirements: { extras, maxOutputTokens } }: RequestOutline,
): PricingTerms {
  const margin = gateway.margins.marginFor(workspaceId);
  return {
    currencies: gateway.catalogue.snapshot.currencies,
    margin,
    extras,
    hasOutputLimit: maxOutputTokens !== undefined,
  };
}

/** Orders the eligible endpoints. Throws only for an unknown router. */
export function planOutline(planning: PlanningDeps, request: PlanningRequest): PlannedRequest {
  const { workspace, surface, outline } = request;
  const { routingHints: hints } = outline;
  const findRouter = (slug: string) => planning.routerOf(workspace.id, slug);
  const { snapshot } = planning.catalogue;
  const target: RoutingTarget = snapshot.models.has(outline.model)
    ? { is: "model", modelId: outline.model }
    : resolveTarget(outline.model, workspace.slug, findRouter, snapshot);
  const { inspected = NOT_INSPECTED } = request;
  const judged = (own: Policy) =>
    own.dataClasses === undefined
      ? own
      : judgeContent(own, inspected, replyTo(surface, outline), () =>
          ruleLayers(planning, request, own, (ofKey) => combinedPolicy(ofKey, target, undefined)),
        );
  const currentPolicy = () => {
    const own = policyInForce(planning, request, target);
    return own && judged(own);
  };
  const nowMs = planning.clock.nowMs();
  const policy = currentPolicy() ?? judged(combinedPolicy(workspace.policy, target, hints));
  const plan = planAttempts(
    {
      target,
      surface,
      policy,
      requirements: {
        ...outline.requirements,
        modelChosenBy: target.is === "router" ? "router" : "caller",
        // In the messages dialect `max_tokens` is mandatory, so it is only an upper bound there.
        outputLimitKind: surface === "messages" ? "bound" : "wanted",
      },
      hints,
      session:
        hints?.sessionId === undefined ? undefined : planning.sessions.find(workspace.id, hints.sessionId, nowMs),
    },
    planningContext(planning, request, policy, nowMs),
  );
  const model = target.is === "model" ? target.modelId : target.name;
  const isUninspected = policy.dataClasses !== undefined && isInspectionDue(inspected);
  const recheck = { currentPolicy, changedRouter: () => changedRouter(planning, request, target) };
  return { plan, model, ...recheck, cacheRule: policy.cache, inspected, isUninspected };
}

/** A replay: the content is gone. */
const NOT_INSPECTED: InspectedRequest = {};

/** True when an exact token count might make the request fit. */
export function isTooLong(plan: Plan | PlanRefusal): boolean {
  return plan.is === "refused" && plan.isTooLong;
}

function planningContext(
  planning: PlanningDeps,
  { surface, workspace, outline }: PlanningRequest,
  { simulatedOnly }: Policy,
  nowMs: number,
): PlanningContext {
  const { currency } = workspace;
  const own = planning.ownKeys.of(workspace.id);
  const nodes = planning.nodes.overlayFor(workspace.id);
  const snapshot = nodes?.snapshot ?? planning.catalogue.snapshot;
  const base = own?.reach ?? planning.reachability;
  const reach = nodes?.reachabilityOver(base) ?? base;
  return {
    snapshot,
    // A connected node counts as a real provider, so that `auto` never picks a simulated model.
    hasRealProvider:
      simulatedOnly !== true &&
      (planning.connections.hasRealProvider || own?.connections.hasRealProvider === true || nodes !== undefined),
    absentModel: (modelId) => {
      const model = planning.nodes.unavailableModel(workspace.id, modelId);
      return (
        model && { reason: model.reason, reachability: model.reachability.forModel(modelId, surface, currency, nowMs) }
      );
    },
    reachability: (modelId) => reach.forModel(modelId, surface, currency, nowMs),
    pool: () => reach.pool(surface, currency, nowMs),
    latency: nodes === undefined ? planning.health : healthWithNodes(planning.health, nodes),
    trafficStats: planning.trafficStats,
    rejectedClaims: planning.rejectedClaims.size === 0 ? undefined : planning.rejectedClaims,
    circuits: nodes === undefined ? planning.breakers : breakersWithNodes(planning.breakers, nodes),
    ownKeyCircuits: own === undefined ? undefined : (provider) => own.keys.get(provider)?.breakers,
    support: DIALECT_SUPPORT[isChatLike(surface) ? surface : "chat"],
    walletPerUsd:
      outline.routingHints?.provider?.maxPrice === undefined
        ? undefined
        : exchangeRate(snapshot.currencies, "USD", currency),
    priceFactor: priceFactorOf(planning.margins.marginFor(workspace.id)),
    nowMs,
    attemptsMax: planning.limits.attemptsMax,
  };
}

function priceFactorOf(margin: Margin): number {
  return margin === NO_MARGIN ? 1 : Number(margin.numerator) / Number(margin.denominator);
}

function policyInForce(planning: PlanningDeps, request: PlanningRequest, target: RoutingTarget): Policy | undefined {
  const { workspace, keyId, outline } = request;
  const own = planning.policyOf(workspace.id, keyId);
  if (own === undefined) return undefined;
  const policy = combinedPolicy(own, target, outline.routingHints);
  // Both versions of the router apply.
  const now = changedRouter(planning, request, target);
  return now === undefined ? policy : tightenPolicy(policy, policyOfRouter(now));
}

function changedRouter(
  planning: PlanningDeps,
  { workspace }: PlanningRequest,
  target: RoutingTarget,
): RouterSpec | undefined {
  if (target.is === "model") return undefined;
  const now = planning.routerOf(workspace.id, target.router?.slug ?? AUTO_ROUTER);
  return now === target.router ? undefined : now?.spec;
}

function combinedPolicy(own: Policy, target: RoutingTarget, hints: RoutingHints | undefined): Policy {
  const router = target.is === "router" ? target.router : undefined;
  const routed = router === undefined ? own : tightenPolicy(own, policyOfRouter(router.spec));
  return hints === undefined ? routed : tightenPolicy(routed, policyFromHints(hints));
}
