import type { Fault } from "../../contract/faults.ts";
import type { Wishes } from "../../language/canon/wishes.ts";
import type { Endpoint, Model, Snapshot } from "../catalogue/catalogue.ts";
import type { Surface } from "../record/record.ts";
import type { Policy } from "../tenancy/policy.ts";
import { type Demand, type DialectSupport, shortcomingOf, unpricedExtra } from "./capability.ts";
import type { Health } from "./health.ts";
import type { Learned } from "./learned.ts";
import { excludedByPolicy, permitsModel } from "./policy.ts";
import type { Route } from "./pool.ts";
import { type Preferring, preferringOf, unwantedBy, type Why } from "./preferences.ts";
import type { Reachable, Reached, ReachedModel } from "./reach.ts";
import type { SessionTrace } from "./session.ts";
import type { Breakers } from "./standing.ts";

export type PlanRequest = {
  readonly route: Route;
  readonly surface: Surface;
  /** Of workspace, key, router and request together. */
  readonly policy: Policy;
  readonly demand: Demand;
  readonly wishes?: Wishes | undefined;
  /** Where this conversation was served before. */
  readonly session?: SessionTrace | undefined;
};

/** Everything a plan is made from; the same world gives the same plan. */
export type World = {
  readonly snapshot: Pick<Snapshot, "models">;
  /** True once any provider that is not simulated is connected. */
  readonly anyReal: boolean;
  readonly reach: (modelId: string) => Reached;
  /** Everything that can be called on the surface. */
  readonly pool: () => readonly ReachedModel[];
  readonly health: Pick<Health, "of">;
  readonly learned: Pick<Learned, "outputTokens">;
  readonly breakers: Breakers;
  /** For endpoints that are called with the workspace's own key; undefined for a workspace without any. */
  readonly ownBreakers?: ((provider: string) => Breakers | undefined) | undefined;
  readonly support: DialectSupport;
  readonly walletPerUsd: number | undefined;
  /** What the workspace pays, in times of the provider's price; absent: the price itself. */
  readonly priceTimes?: number;
  readonly nowMs: number;
  /** How many endpoints one request may try. */
  readonly attemptsMax: number;
};

/** The filters in the order in which they answer when one of them leaves nothing (ERR-10). */
export type Stage = "capability" | "policy" | "wish" | "quality";

/** An endpoint that fell out: at which filter, by which rule or field, and why. */
export type Fallen = {
  readonly endpoint: Endpoint;
  readonly stage: Stage;
  readonly rule: string;
  readonly reason: Why;
  /** The prompt alone is beyond what the endpoint takes. */
  readonly contextTokens?: number;
  /** What a caller is told when every endpoint falls short. */
  readonly fault?: Fault;
};

/** What passed, with the output that is expected of it, and what did not. */
export type Sifted = {
  /** The pool first, then the router's fallbacks. */
  readonly rows: Reachable[];
  readonly outputTokens: number[];
  /** How many of the rows are of the pool. */
  pooled: number;
  readonly fallen: Fallen[];
  /** Why endpoints of a model that was asked for cannot be called at all. */
  readonly uncallable: string[];
  /** Models that could be called, were they allowed. */
  readonly forbidden: string[];
};

export function emptySieve(): Sifted {
  return { rows: [], outputTokens: [], pooled: 0, fallen: [], uncallable: [], forbidden: [] };
}

export type Judge = {
  readonly request: PlanRequest;
  readonly world: World;
  readonly preferring: Preferring | undefined;
  readonly qualityFloor: number | null;
};

export function judgeOf(request: PlanRequest, world: World): Judge {
  const preferences = request.wishes?.provider;
  return {
    request,
    world,
    preferring:
      preferences === undefined ? undefined : preferringOf(preferences, request.demand.inputTokens, perUsd(world)),
    qualityFloor: request.route.is === "router" ? (request.route.router?.spec.qualityFloor ?? null) : null,
  };
}

/** A ceiling is of what the caller pays; endpoints are compared by what their providers take. */
function perUsd({ walletPerUsd, priceTimes = 1 }: World): number | undefined {
  return walletPerUsd === undefined || priceTimes === 1 ? walletPerUsd : walletPerUsd / priceTimes;
}

/** Every endpoint that the route leads to, through every filter. */
export function sift(judge: Judge): Sifted {
  const sifted = emptySieve();
  const { route } = judge.request;
  if (route.is === "model") siftNamed([route.modelId], judge, sifted);
  else siftChoice(route.router?.spec.models ?? null, route.router?.spec.fallback ?? [], judge, sifted);
  if (route.is === "model") sifted.pooled = sifted.rows.length;
  return sifted;
}

function siftChoice(models: readonly string[] | null, fallback: readonly string[], judge: Judge, sifted: Sifted): void {
  if (models === null) siftAll(fallback, judge, sifted);
  else siftNamed(models, judge, sifted);
  sifted.pooled = sifted.rows.length;
  // A fallback that the router also chooses from has its place in the pool.
  siftNamed(models === null ? fallback : fallback.filter((name) => !models.includes(name)), judge, sifted);
}

/** Everything but the fallbacks; simulated models leave the pool once a real provider is connected. */
function siftAll(fallback: readonly string[], judge: Judge, sifted: Sifted): void {
  const { request, world } = judge;
  for (const { model, endpoints } of world.pool()) {
    if ((model.sandbox && world.anyReal) || fallback.includes(model.id)) continue;
    if (permitsModel(model.id, request.policy)) siftModel(model, endpoints, judge, sifted);
    else sifted.forbidden.push(model.id);
  }
}

function siftNamed(modelIds: readonly string[], judge: Judge, sifted: Sifted): void {
  const { request, world } = judge;
  for (const modelId of modelIds) {
    const model = world.snapshot.models.get(modelId);
    if (model === undefined) continue;
    const { endpoints, obstacles } = world.reach(modelId);
    if (endpoints.length === 0) sifted.uncallable.push(...obstacles);
    else if (!permitsModel(modelId, request.policy)) sifted.forbidden.push(modelId);
    else siftModel(model, endpoints, judge, sifted);
  }
}

function siftModel(model: Model, endpoints: readonly Reachable[], judge: Judge, sifted: Sifted): void {
  const { request, world } = judge;
  const outputTokens = world.learned.outputTokens(model.id, request.demand.maxOutputTokens);
  for (const reachable of endpoints) {
    const fallen = falls(reachable, judge);
    // With its second key an endpoint falls for the same reason: that is told once.
    if (fallen !== undefined && sifted.fallen.at(-1)?.endpoint === fallen.endpoint) continue;
    if (fallen !== undefined) sifted.fallen.push(fallen);
    else {
      sifted.rows.push(reachable);
      sifted.outputTokens.push(outputTokens);
    }
  }
}

/** The first filter that an endpoint does not pass. */
export function falls(reachable: Reachable, judge: Judge): Fallen | undefined {
  const { endpoint, model } = reachable;
  const { request, world, preferring, qualityFloor } = judge;
  const short =
    shortcomingOf(endpoint, model, request.demand, world.support) ??
    unpricedExtra(reachable, request.demand, world.support);
  if (short !== undefined) return { endpoint, stage: "capability", rule: short.param, ...short };
  const excluded = excludedByPolicy(endpoint, request.policy);
  if (excluded !== undefined) return { endpoint, stage: "policy", rule: excluded.rule, reason: excluded.reason };
  const unwanted = preferring === undefined ? undefined : unwantedBy(reachable, preferring);
  if (unwanted !== undefined) return { endpoint, stage: "wish", rule: unwanted.rule, reason: unwanted.reason };
  // What is not known is below any floor.
  if (qualityFloor !== null && (model.quality === null || model.quality.score < qualityFloor)) {
    const quality = model.quality === null ? "its quality is not known" : `its quality is ${model.quality.score}`;
    return { endpoint, stage: "quality", rule: "quality_floor", reason: `${quality}, the floor is ${qualityFloor}` };
  }
  return undefined;
}
