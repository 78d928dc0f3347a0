import type { RoutingHints } from "../../language/canon/routing-hints.ts";
import type { CatalogueSnapshot } from "../catalogue/catalogue.ts";
import type { Surface } from "../record/record.ts";
import type { Policy } from "../tenancy/policy.ts";
import type { NodeUse, RouterSpec } from "../tenancy/router.ts";
import type { Attempt } from "./attempt.ts";
import {
  type DialectSupport,
  findInaccessibleFile,
  findMissingCapability,
  findUnpermittedModels,
  findUnpricedExtra,
  type MissingCapability,
  type Requirements,
} from "./capability.ts";
import type { CircuitStateReader } from "./circuit-state.ts";
import type { ExclusionCause } from "./exclusion.ts";
import type { LatencyTracker } from "./latency-tracker.ts";
import { permitsModel } from "./policy.ts";
import { type PreparedPreferences, preferenceExclusionCause, preparePreferences } from "./preferences.ts";
import type { ModelReachability, ReachableEndpoint, ReachableModel } from "./reachability.ts";
import type { RoutingTarget } from "./routing-target.ts";
import type { SessionPlacement } from "./session-affinity.ts";
import type { TrafficStats } from "./traffic-stats.ts";
import { PolicyVerdictCache } from "./verdicts.ts";

export type PlanRequest = {
  readonly target: RoutingTarget;
  readonly surface: Surface;
  /** Of workspace, key, router and request together. */
  readonly policy: Policy;
  readonly requirements: Requirements;
  readonly hints?: RoutingHints | undefined;
  /** Where this conversation was served before. */
  readonly session?: SessionPlacement | undefined;
};

/** Everything a plan is made from; the same world gives the same plan. */
export type PlanningContext = {
  readonly snapshot: Pick<CatalogueSnapshot, "models">;
  /** True once any provider that is not simulated is connected. */
  readonly hasRealProvider: boolean;
  /** A model that was asked for and is not there now: why, and what could be called of it otherwise. */
  readonly absentModel?: ((modelId: string) => AbsentModel | undefined) | undefined;
  readonly reachability: (modelId: string) => ModelReachability;
  /** Everything that can be called on the surface. */
  readonly pool: () => readonly ReachableModel[];
  readonly latency: Pick<LatencyTracker, "of">;
  readonly trafficStats: Pick<TrafficStats, "outputTokens">;
  readonly circuits: CircuitStateReader;
  /** For endpoints that are called with the workspace's own key; undefined for a workspace without any. */
  readonly ownKeyCircuits?: ((provider: string) => CircuitStateReader | undefined) | undefined;
  readonly support: DialectSupport;
  readonly walletPerUsd: number | undefined;
  /** What the workspace pays, in times of the provider's price; absent: the price itself. */
  readonly priceFactor?: number;
  readonly nowMs: number;
  /** How many endpoints one request may try. */
  readonly attemptsMax: number;
};

export type AbsentModel = { readonly reason: string; readonly reachability: ModelReachability };

/** What passed and what did not. */
export type FilterResult = {
  /** The pool first, then the router's fallbacks, then nodes that the router wants behind all others. */
  readonly eligible: ReachableEndpoint[];
  /** How many rows there are: while rows are added, their list may have room for more. */
  eligibleCount: number;
  /** How many of the rows are of the pool. */
  poolCount: number;
  /** What did not pass, and at the same places why. */
  readonly excluded: ReachableEndpoint[];
  readonly causes: ExclusionCause[];
  excludedCount: number;
  /** Why endpoints of a model that was asked for cannot be called at all. */
  readonly obstacles: string[];
  /** Models that could be called, were they allowed. */
  readonly forbiddenModels: string[];
  /** Nodes that passed and stand behind everything else. */
  readonly deferredNodes: ReachableEndpoint[];
};

export function emptyFilterResult(room = 0): FilterResult {
  return {
    eligible: new Array<ReachableEndpoint>(room),
    eligibleCount: 0,
    poolCount: 0,
    excluded: new Array<ReachableEndpoint>(room),
    causes: new Array<ExclusionCause>(room),
    excludedCount: 0,
    obstacles: [],
    forbiddenModels: [],
    deferredNodes: [],
  };
}

export type EligibilityCheck = {
  readonly request: PlanRequest;
  readonly context: PlanningContext;
  /** Of the request's policy. */
  readonly policyVerdicts: PolicyVerdictCache;
  readonly preferences: PreparedPreferences | undefined;
  readonly qualityFloor: number | null;
  /** What the router wants of the workspace's own nodes. */
  readonly nodes: NodeUse | null;
};

export function eligibilityCheckFor(request: PlanRequest, context: PlanningContext): EligibilityCheck {
  const preferences = request.hints?.provider;
  const spec = request.target.is === "router" ? request.target.router?.spec : undefined;
  return {
    request,
    context,
    policyVerdicts: new PolicyVerdictCache(request.policy),
    preferences:
      preferences === undefined
        ? undefined
        : preparePreferences(preferences, request.requirements.inputTokens, comparableWalletPerUsd(context)),
    qualityFloor: spec?.qualityFloor ?? null,
    nodes: spec?.nodes ?? null,
  };
}

/** A ceiling is of what the caller pays; endpoints are compared by what their providers take. */
function comparableWalletPerUsd({ walletPerUsd, priceFactor = 1 }: PlanningContext): number | undefined {
  return walletPerUsd === undefined || priceFactor === 1 ? walletPerUsd : walletPerUsd / priceFactor;
}

/** Every endpoint that the route leads to, through every filter. */
export function filterCandidates(judge: EligibilityCheck): FilterResult {
  const { target } = judge.request;
  if (target.is === "model") {
    const sifted = emptyFilterResult();
    filterModels([target.modelId], judge, sifted);
    sifted.poolCount = sifted.eligibleCount;
    return sifted;
  }
  const { models = null, fallback = [] } = target.router?.spec ?? {};
  const sifted = emptyFilterResult(models === null ? endpointCountOf(judge.context.pool()) : 0);
  filterRouterModels(models, fallback, judge, sifted);
  sifted.eligible.length = sifted.eligibleCount;
  sifted.excluded.length = sifted.excludedCount;
  sifted.causes.length = sifted.excludedCount;
  return sifted;
}

/** Lists that have their room from the start: growing them little by little costs more than the filters do. */
function endpointCountOf(pool: readonly ReachableModel[]): number {
  let size = 0;
  for (const { endpoints } of pool) size += endpoints.length;
  return size;
}

function filterRouterModels(
  models: readonly string[] | null,
  fallback: readonly string[],
  judge: EligibilityCheck,
  sifted: FilterResult,
): void {
  if (models === null) filterPool(fallback, judge, sifted);
  else filterModels(models, judge, sifted);
  sifted.poolCount = sifted.eligibleCount;
  // A fallback that the router also chooses from has its place in the pool.
  filterModels(models === null ? fallback : fallback.filter((name) => !models.includes(name)), judge, sifted);
  for (const row of sifted.deferredNodes) {
    sifted.eligible[sifted.eligibleCount] = row;
    sifted.eligibleCount += 1;
  }
}

/** Everything but the fallbacks; simulated models leave the pool once a real provider is connected. */
function filterPool(fallback: readonly string[], judge: EligibilityCheck, sifted: FilterResult): void {
  const { request, context } = judge;
  for (const { model, endpoints } of context.pool()) {
    if ((model.sandbox && context.hasRealProvider) || fallback.includes(model.id)) continue;
    if (permitsModel(model.id, request.policy)) filterEndpoints(endpoints, judge, sifted);
    else sifted.forbiddenModels.push(model.id);
  }
}

function filterModels(modelIds: readonly string[], judge: EligibilityCheck, sifted: FilterResult): void {
  const { snapshot, reachability } = judge.context;
  for (const modelId of modelIds)
    if (snapshot.models.has(modelId)) filterModel(modelId, reachability(modelId), judge, sifted);
}

export function filterModel(
  modelId: string,
  { endpoints, obstacles }: ModelReachability,
  judge: EligibilityCheck,
  sifted: FilterResult,
): void {
  const { request } = judge;
  if (endpoints.length === 0) sifted.obstacles.push(...obstacles);
  else if (!permitsModel(modelId, request.policy)) sifted.forbiddenModels.push(modelId);
  else filterEndpoints(endpoints, judge, sifted);
}

function filterEndpoints(endpoints: readonly ReachableEndpoint[], judge: EligibilityCheck, sifted: FilterResult): void {
  for (const reachable of endpoints) {
    const cause = exclusionCauseFor(reachable, judge);
    if (cause === undefined && judge.nodes === "fallback" && reachable.node !== undefined)
      sifted.deferredNodes.push(reachable);
    else if (cause === undefined) {
      sifted.eligible[sifted.eligibleCount] = reachable;
      sifted.eligibleCount += 1;
    } else if (sifted.excluded[sifted.excludedCount - 1]?.endpoint !== reachable.endpoint) {
      // With its second key an endpoint falls for the same reason: that is told once.
      sifted.excluded[sifted.excludedCount] = reachable;
      sifted.causes[sifted.excludedCount] = cause;
      sifted.excludedCount += 1;
    }
  }
}

/** The first filter that an endpoint does not pass, and why. */
export function exclusionCauseFor(reachable: ReachableEndpoint, judge: EligibilityCheck): ExclusionCause | undefined {
  const { policyClass } = reachable;
  const { request, context, policyVerdicts, preferences } = judge;
  const { requirements, policy } = request;
  const short =
    findMissingCapability(reachable, requirements, context.support) ??
    findUnpricedExtra(reachable, requirements, context.support) ??
    findInaccessibleFile(reachable, requirements) ??
    findUnpermittedModels(reachable.endpoint, requirements, policy, context.support);
  if (short !== undefined) return capabilityCause(short);
  const excluded = policyVerdicts.exclusionCauseFor(policyClass);
  if (excluded !== undefined) return excluded;
  const unwanted = preferences === undefined ? undefined : preferenceExclusionCause(reachable, preferences);
  return unwanted ?? routerExclusionCause(reachable, judge);
}

/** What a router demands beyond a policy. */
export function routerExclusionCause(
  { model, node }: Pick<Attempt, "model" | "node">,
  { qualityFloor, nodes }: Pick<RouterSpec, "qualityFloor" | "nodes">,
): RouterCause | undefined {
  // What is not known is below any floor.
  if (qualityFloor !== null && (model.quality === null || model.quality.score < qualityFloor)) {
    const quality = model.quality === null ? "its quality is not known" : `its quality is ${model.quality.score}`;
    return { stage: "quality", rule: "quality_floor", reason: `${quality}, the floor is ${qualityFloor}` };
  }
  return nodes === "only" && node === undefined ? NOT_A_NODE : undefined;
}

type RouterCause = ExclusionCause & { readonly reason: string };

const NOT_A_NODE: RouterCause = {
  stage: "nodes",
  rule: "nodes",
  reason: "the router wants the workspace's own nodes only",
};

function capabilityCause({ param, reason, contextTokens, fault, code }: MissingCapability): ExclusionCause {
  return { stage: "capability", rule: param, reason, contextTokens, fault, code };
}
