import { type Margin, NO_MARGIN } from "../../domain/billing/margin.ts";
import type { Surface } from "../../domain/record/record.ts";
import type { Requirements } from "../../domain/routing/capability.ts";
import type { CircuitStateReader } from "../../domain/routing/circuit-state.ts";
import { exchangeRate } from "../../domain/routing/cost.ts";
import { type Plan, type PlanningContext, type PlanRefusal, planAttempts } from "../../domain/routing/plan.ts";
import { policyFromHints } from "../../domain/routing/preferences.ts";
import { type RoutingTarget, resolveTarget } from "../../domain/routing/routing-target.ts";
import { type Policy, tightenPolicy } from "../../domain/tenancy/policy.ts";
import { AUTO_ROUTER, policyOfRouter, type RouterSpec } from "../../domain/tenancy/router.ts";
import type { Workspace } from "../../domain/tenancy/workspace.ts";
import { dialectSupport } from "../../io/upstream/upstream-adapters.ts";
import type { RoutingHints } from "../../language/canon/routing-hints.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { breakersWithNodes, healthWithNodes } from "./workspace-resources.ts";

/** What planning reads of the gateway. Nothing here changes anything. */
export type PlanningDeps = Pick<
  GatewayDeps,
  | "clock"
  | "snapshot"
  | "connections"
  | "reach"
  | "health"
  | "learned"
  | "sessions"
  | "policyOf"
  | "routerOf"
  | "ownKeys"
  | "margins"
> & {
  readonly breakers: CircuitStateReader;
  readonly nodes: Pick<GatewayDeps["nodes"], "layerOf" | "absent">;
  readonly limits: Pick<GatewayDeps["limits"], "attemptsMax">;
};

/** Whose call it is, and where it came in. */
type PlanningCaller = {
  readonly surface: Surface;
  readonly workspace: Workspace;
  /** Null: a question of the workspace itself, without a key. */
  readonly keyId: string | null;
};

/** What planning has to know of a call: nothing of its content. */
export type RequestOutline = {
  readonly model: string;
  readonly requirements: Omit<Requirements, "modelBy" | "limitIs">;
  readonly routingHints?: RoutingHints | undefined;
};

export type PlanningRequest = PlanningCaller & { readonly outline: RequestOutline };

export type PlannedRequest = {
  readonly plan: Plan | PlanRefusal;
  /** The policy of workspace, key, router and request at this moment; undefined when the workspace is gone. */
  readonly currentPolicy: () => Policy | undefined;
  /** The router of this moment, where it is another than the plan was made by. */
  readonly changedRouter: () => RouterSpec | undefined;
};

/** Who may serve a request, and in which order. Throws only for a router that is not there. */
export function planOutline(planning: PlanningDeps, asked: PlanningRequest): PlannedRequest {
  const { workspace, surface, outline } = asked;
  const { routingHints: hints } = outline;
  const target = resolveTarget(outline.model, workspace.slug, (slug) => planning.routerOf(workspace.id, slug));
  const currentPolicy = () => policyInForce(planning, asked, target);
  const nowMs = planning.clock.nowMs();
  const plan = planAttempts(
    {
      target,
      surface,
      policy: currentPolicy() ?? combinedPolicy(workspace.policy, target, hints),
      requirements: {
        ...outline.requirements,
        modelChosenBy: target.is === "router" ? "router" : "caller",
        // The messages dialect demands a limit of everyone, so there it is a bound: a model that writes less will do.
        outputLimitKind: surface === "messages" ? "bound" : "wanted",
      },
      hints,
      session:
        hints?.sessionId === undefined ? undefined : planning.sessions.find(workspace.id, hints.sessionId, nowMs),
    },
    planningContext(planning, asked, nowMs),
  );
  return { plan, currentPolicy, changedRouter: () => changedRouter(planning, asked, target) };
}

/** Whether a request would perhaps be served if it were shorter than its estimate. */
export function isTooLong(plan: Plan | PlanRefusal): boolean {
  return plan.is === "refused" && plan.isTooLong;
}

function planningContext(
  planning: PlanningDeps,
  { surface, workspace, outline }: PlanningRequest,
  nowMs: number,
): PlanningContext {
  const { currency } = workspace;
  const own = planning.ownKeys.of(workspace.id);
  const nodes = planning.nodes.overlayFor(workspace.id);
  const snapshot = nodes?.snapshot ?? planning.snapshot();
  const base = own?.reach ?? planning.reachability;
  const reach = nodes?.reachabilityOver(base) ?? base;
  return {
    snapshot,
    // A machine of its own is as real as any provider: nobody who has one is served by a simulated model unasked.
    hasRealProvider:
      planning.connections.hasRealProvider || own?.connections.hasRealProvider === true || nodes !== undefined,
    absentModel: (modelId) => {
      const model = planning.nodes.unavailableModel(workspace.id, modelId);
      return model && { reason: model.why, reachability: model.reach.forModel(modelId, surface, currency, nowMs) };
    },
    reachability: (modelId) => reach.forModel(modelId, surface, currency, nowMs),
    pool: () => reach.pool(surface, currency, nowMs),
    latency: nodes === undefined ? planning.health : healthWithNodes(planning.health, nodes),
    trafficStats: planning.trafficStats,
    circuits: nodes === undefined ? planning.breakers : breakersWithNodes(planning.breakers, nodes),
    ownKeyCircuits: own === undefined ? undefined : (provider) => own.keys.get(provider)?.breakers,
    support: dialectSupport(surface),
    walletPerUsd:
      outline.routingHints?.provider?.maxPrice === undefined
        ? undefined
        : exchangeRate(snapshot.currencies, "USD", currency),
    priceFactor: priceTimesOf(planning.margins.marginFor(workspace.id)),
    nowMs,
    attemptsMax: planning.limits.attemptsMax,
  };
}

function priceTimesOf(margin: Margin): number {
  return margin === NO_MARGIN ? 1 : Number(margin.numerator) / Number(margin.denominator);
}

function policyInForce(planning: PlanningDeps, asked: PlanningRequest, route: RoutingTarget): Policy | undefined {
  const { workspace, keyId, outline } = asked;
  const own = planning.policyOf(workspace.id, keyId);
  if (own === undefined) return undefined;
  const policy = combinedPolicy(own, route, outline.routingHints);
  // What either version keeps out stays out.
  const now = changedRouter(planning, asked, route);
  return now === undefined ? policy : tightenPolicy(policy, policyOfRouter(now));
}

/** The router may be another since the plan was made, or the first. */
function changedRouter(
  planning: PlanningDeps,
  { workspace }: PlanningRequest,
  route: RoutingTarget,
): RouterSpec | undefined {
  if (route.is === "model") return undefined;
  const now = planning.routerOf(workspace.id, route.router?.slug ?? AUTO_ROUTER);
  return now === route.router ? undefined : now?.spec;
}

function combinedPolicy(own: Policy, route: RoutingTarget, wishes: RoutingHints | undefined): Policy {
  const router = route.is === "router" ? route.router : undefined;
  const routed = router === undefined ? own : tightenPolicy(own, policyOfRouter(router.spec));
  return wishes === undefined ? routed : tightenPolicy(routed, policyFromHints(wishes));
}
