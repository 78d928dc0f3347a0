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
  readonly anyReal: boolean;
  /** A model that was asked for and is not there now: why, and what could be called of it otherwise. */
  readonly absent?: ((modelId: string) => AbsentModel | undefined) | undefined;
  readonly reach: (modelId: string) => ModelReachability;
  /** Everything that can be called on the surface. */
  readonly pool: () => readonly ReachableModel[];
  readonly health: Pick<LatencyTracker, "of">;
  readonly learned: Pick<TrafficStats, "outputTokens">;
  readonly breakers: CircuitStateReader;
  /** For endpoints that are called with the workspace's own key; undefined for a workspace without any. */
  readonly ownBreakers?: ((provider: string) => CircuitStateReader | undefined) | undefined;
  readonly support: DialectSupport;
  readonly walletPerUsd: number | undefined;
  /** What the workspace pays, in times of the provider's price; absent: the price itself. */
  readonly priceTimes?: number;
  readonly nowMs: number;
  /** How many endpoints one request may try. */
  readonly attemptsMax: number;
};

export type AbsentModel = { readonly why: string; readonly reached: ModelReachability };

/** What passed and what did not. */
export type FilterResult = {
  /** The pool first, then the router's fallbacks, then nodes that the router wants behind all others. */
  readonly rows: ReachableEndpoint[];
  /** How many rows there are: while rows are added, their list may have room for more. */
  passed: number;
  /** How many of the rows are of the pool. */
  pooled: number;
  /** What did not pass, and at the same places why. */
  readonly fallen: ReachableEndpoint[];
  readonly causes: ExclusionCause[];
  fell: number;
  /** Why endpoints of a model that was asked for cannot be called at all. */
  readonly uncallable: string[];
  /** Models that could be called, were they allowed. */
  readonly forbidden: string[];
  /** Nodes that passed and stand behind everything else. */
  readonly later: ReachableEndpoint[];
};

export function emptyFilterResult(room = 0): FilterResult {
  return {
    rows: new Array<ReachableEndpoint>(room),
    passed: 0,
    pooled: 0,
    fallen: new Array<ReachableEndpoint>(room),
    causes: new Array<ExclusionCause>(room),
    fell: 0,
    uncallable: [],
    forbidden: [],
    later: [],
  };
}

export type EligibilityCheck = {
  readonly request: PlanRequest;
  readonly world: PlanningContext;
  /** Of the request's policy. */
  readonly verdicts: PolicyVerdictCache;
  readonly preferring: PreparedPreferences | undefined;
  readonly qualityFloor: number | null;
  /** What the router wants of the workspace's own nodes. */
  readonly nodes: NodeUse | null;
};

export function eligibilityCheckFor(request: PlanRequest, world: PlanningContext): EligibilityCheck {
  const preferences = request.hints?.provider;
  const spec = request.target.is === "router" ? request.target.router?.spec : undefined;
  return {
    request,
    world,
    verdicts: new PolicyVerdictCache(request.policy),
    preferring:
      preferences === undefined
        ? undefined
        : preparePreferences(preferences, request.requirements.inputTokens, comparableWalletPerUsd(world)),
    qualityFloor: spec?.qualityFloor ?? null,
    nodes: spec?.nodes ?? null,
  };
}

/** A ceiling is of what the caller pays; endpoints are compared by what their providers take. */
function comparableWalletPerUsd({ walletPerUsd, priceTimes = 1 }: PlanningContext): number | undefined {
  return walletPerUsd === undefined || priceTimes === 1 ? walletPerUsd : walletPerUsd / priceTimes;
}

/** Every endpoint that the route leads to, through every filter. */
export function filterCandidates(judge: EligibilityCheck): FilterResult {
  const { target } = judge.request;
  if (target.is === "model") {
    const sifted = emptyFilterResult();
    filterModels([target.modelId], judge, sifted);
    sifted.pooled = sifted.passed;
    return sifted;
  }
  const { models = null, fallback = [] } = target.router?.spec ?? {};
  const sifted = emptyFilterResult(models === null ? endpointCountOf(judge.world.pool()) : 0);
  filterRouterModels(models, fallback, judge, sifted);
  sifted.rows.length = sifted.passed;
  sifted.fallen.length = sifted.fell;
  sifted.causes.length = sifted.fell;
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
  sifted.pooled = sifted.passed;
  // A fallback that the router also chooses from has its place in the pool.
  filterModels(models === null ? fallback : fallback.filter((name) => !models.includes(name)), judge, sifted);
  for (const row of sifted.later) {
    sifted.rows[sifted.passed] = row;
    sifted.passed += 1;
  }
}

/** Everything but the fallbacks; simulated models leave the pool once a real provider is connected. */
function filterPool(fallback: readonly string[], judge: EligibilityCheck, sifted: FilterResult): void {
  const { request, world } = judge;
  for (const { model, endpoints } of world.pool()) {
    if ((model.sandbox && world.anyReal) || fallback.includes(model.id)) continue;
    if (permitsModel(model.id, request.policy)) filterEndpoints(endpoints, judge, sifted);
    else sifted.forbidden.push(model.id);
  }
}

function filterModels(modelIds: readonly string[], judge: EligibilityCheck, sifted: FilterResult): void {
  const { snapshot, reach } = judge.world;
  for (const modelId of modelIds) if (snapshot.models.has(modelId)) filterModel(modelId, reach(modelId), judge, sifted);
}

export function filterModel(
  modelId: string,
  { endpoints, obstacles }: ModelReachability,
  judge: EligibilityCheck,
  sifted: FilterResult,
): void {
  const { request } = judge;
  if (endpoints.length === 0) sifted.uncallable.push(...obstacles);
  else if (!permitsModel(modelId, request.policy)) sifted.forbidden.push(modelId);
  else filterEndpoints(endpoints, judge, sifted);
}

function filterEndpoints(endpoints: readonly ReachableEndpoint[], judge: EligibilityCheck, sifted: FilterResult): void {
  for (const reachable of endpoints) {
    const cause = exclusionCauseFor(reachable, judge);
    if (cause === undefined && judge.nodes === "fallback" && reachable.node !== undefined) sifted.later.push(reachable);
    else if (cause === undefined) {
      sifted.rows[sifted.passed] = reachable;
      sifted.passed += 1;
    } else if (sifted.fallen[sifted.fell - 1]?.endpoint !== reachable.endpoint) {
      // With its second key an endpoint falls for the same reason: that is told once.
      sifted.fallen[sifted.fell] = reachable;
      sifted.causes[sifted.fell] = cause;
      sifted.fell += 1;
    }
  }
}

/** The first filter that an endpoint does not pass, and why. */
export function exclusionCauseFor(reachable: ReachableEndpoint, judge: EligibilityCheck): ExclusionCause | undefined {
  const { kind } = reachable;
  const { request, world, verdicts, preferring } = judge;
  const { requirements, policy } = request;
  const short =
    findMissingCapability(reachable, requirements, world.support) ??
    findUnpricedExtra(reachable, requirements, world.support) ??
    findInaccessibleFile(reachable, requirements) ??
    findUnpermittedModels(reachable.endpoint, requirements, policy, world.support);
  if (short !== undefined) return capabilityCause(short);
  const excluded = verdicts.causeFor(kind);
  if (excluded !== undefined) return excluded;
  const unwanted = preferring === undefined ? undefined : preferenceExclusionCause(reachable, preferring);
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
