import type { RoutingHints } from "../../language/canon/routing-hints.ts";
import type { Snapshot } from "../catalogue/catalogue.ts";
import type { Surface } from "../record/record.ts";
import type { Policy } from "../tenancy/policy.ts";
import type { NodeUse, RouterSpec } from "../tenancy/router.ts";
import type { Attempt } from "./attempt.ts";
import {
  type Demand,
  type DialectSupport,
  foreignFile,
  type Shortcoming,
  shortcomingOf,
  unnamedModels,
  unpricedExtra,
} from "./capability.ts";
import type { Cause } from "./fallen.ts";
import type { Health } from "./health.ts";
import type { Learned } from "./learned.ts";
import { permitsModel } from "./policy.ts";
import type { Route } from "./pool.ts";
import { type Preferring, preferringOf, unwantedBy } from "./preferences.ts";
import type { Reachable, Reached, ReachedModel } from "./reach.ts";
import type { SessionTrace } from "./session.ts";
import type { Breakers } from "./standing.ts";
import { PolicyVerdicts } from "./verdicts.ts";

export type PlanRequest = {
  readonly route: Route;
  readonly surface: Surface;
  /** Of workspace, key, router and request together. */
  readonly policy: Policy;
  readonly demand: Demand;
  readonly wishes?: RoutingHints | undefined;
  /** Where this conversation was served before. */
  readonly session?: SessionTrace | undefined;
};

/** Everything a plan is made from; the same world gives the same plan. */
export type World = {
  readonly snapshot: Pick<Snapshot, "models">;
  /** True once any provider that is not simulated is connected. */
  readonly anyReal: boolean;
  /** A model that was asked for and is not there now: why, and what could be called of it otherwise. */
  readonly absent?: ((modelId: string) => Absent | undefined) | undefined;
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

export type Absent = { readonly why: string; readonly reached: Reached };

/** What passed and what did not. */
export type Sifted = {
  /** The pool first, then the router's fallbacks, then nodes that the router wants behind all others. */
  readonly rows: Reachable[];
  /** How many rows there are: while rows are added, their list may have room for more. */
  passed: number;
  /** How many of the rows are of the pool. */
  pooled: number;
  /** What did not pass, and at the same places why. */
  readonly fallen: Reachable[];
  readonly causes: Cause[];
  fell: number;
  /** Why endpoints of a model that was asked for cannot be called at all. */
  readonly uncallable: string[];
  /** Models that could be called, were they allowed. */
  readonly forbidden: string[];
  /** Nodes that passed and stand behind everything else. */
  readonly later: Reachable[];
};

export function emptySieve(room = 0): Sifted {
  return {
    rows: new Array<Reachable>(room),
    passed: 0,
    pooled: 0,
    fallen: new Array<Reachable>(room),
    causes: new Array<Cause>(room),
    fell: 0,
    uncallable: [],
    forbidden: [],
    later: [],
  };
}

export type Judge = {
  readonly request: PlanRequest;
  readonly world: World;
  /** Of the request's policy. */
  readonly verdicts: PolicyVerdicts;
  readonly preferring: Preferring | undefined;
  readonly qualityFloor: number | null;
  /** What the router wants of the workspace's own nodes. */
  readonly nodes: NodeUse | null;
};

export function judgeOf(request: PlanRequest, world: World): Judge {
  const preferences = request.wishes?.provider;
  const spec = request.route.is === "router" ? request.route.router?.spec : undefined;
  return {
    request,
    world,
    verdicts: new PolicyVerdicts(request.policy),
    preferring:
      preferences === undefined ? undefined : preferringOf(preferences, request.demand.inputTokens, perUsd(world)),
    qualityFloor: spec?.qualityFloor ?? null,
    nodes: spec?.nodes ?? null,
  };
}

/** A ceiling is of what the caller pays; endpoints are compared by what their providers take. */
function perUsd({ walletPerUsd, priceTimes = 1 }: World): number | undefined {
  return walletPerUsd === undefined || priceTimes === 1 ? walletPerUsd : walletPerUsd / priceTimes;
}

/** Every endpoint that the route leads to, through every filter. */
export function sift(judge: Judge): Sifted {
  const { route } = judge.request;
  if (route.is === "model") {
    const sifted = emptySieve();
    siftNamed([route.modelId], judge, sifted);
    sifted.pooled = sifted.passed;
    return sifted;
  }
  const { models = null, fallback = [] } = route.router?.spec ?? {};
  const sifted = emptySieve(models === null ? sizeOf(judge.world.pool()) : 0);
  siftChoice(models, fallback, judge, sifted);
  sifted.rows.length = sifted.passed;
  sifted.fallen.length = sifted.fell;
  sifted.causes.length = sifted.fell;
  return sifted;
}

/** Lists that have their room from the start: growing them little by little costs more than the filters do. */
function sizeOf(pool: readonly ReachedModel[]): number {
  let size = 0;
  for (const { endpoints } of pool) size += endpoints.length;
  return size;
}

function siftChoice(models: readonly string[] | null, fallback: readonly string[], judge: Judge, sifted: Sifted): void {
  if (models === null) siftAll(fallback, judge, sifted);
  else siftNamed(models, judge, sifted);
  sifted.pooled = sifted.passed;
  // A fallback that the router also chooses from has its place in the pool.
  siftNamed(models === null ? fallback : fallback.filter((name) => !models.includes(name)), judge, sifted);
  for (const row of sifted.later) {
    sifted.rows[sifted.passed] = row;
    sifted.passed += 1;
  }
}

/** Everything but the fallbacks; simulated models leave the pool once a real provider is connected. */
function siftAll(fallback: readonly string[], judge: Judge, sifted: Sifted): void {
  const { request, world } = judge;
  for (const { model, endpoints } of world.pool()) {
    if ((model.sandbox && world.anyReal) || fallback.includes(model.id)) continue;
    if (permitsModel(model.id, request.policy)) siftEach(endpoints, judge, sifted);
    else sifted.forbidden.push(model.id);
  }
}

function siftNamed(modelIds: readonly string[], judge: Judge, sifted: Sifted): void {
  const { snapshot, reach } = judge.world;
  for (const modelId of modelIds) if (snapshot.models.has(modelId)) siftModel(modelId, reach(modelId), judge, sifted);
}

export function siftModel(modelId: string, { endpoints, obstacles }: Reached, judge: Judge, sifted: Sifted): void {
  const { request } = judge;
  if (endpoints.length === 0) sifted.uncallable.push(...obstacles);
  else if (!permitsModel(modelId, request.policy)) sifted.forbidden.push(modelId);
  else siftEach(endpoints, judge, sifted);
}

function siftEach(endpoints: readonly Reachable[], judge: Judge, sifted: Sifted): void {
  for (const reachable of endpoints) {
    const cause = causeAgainst(reachable, judge);
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
export function causeAgainst(reachable: Reachable, judge: Judge): Cause | undefined {
  const { kind } = reachable;
  const { request, world, verdicts, preferring } = judge;
  const { demand, policy } = request;
  const short =
    shortcomingOf(reachable, demand, world.support) ??
    unpricedExtra(reachable, demand, world.support) ??
    foreignFile(reachable, demand) ??
    unnamedModels(reachable.endpoint, demand, policy, world.support);
  if (short !== undefined) return lacking(short);
  const excluded = verdicts.causeFor(kind);
  if (excluded !== undefined) return excluded;
  const unwanted = preferring === undefined ? undefined : unwantedBy(reachable, preferring);
  return unwanted ?? causeByRouter(reachable, judge);
}

/** What a router demands beyond a policy. */
export function causeByRouter(
  { model, node }: Pick<Attempt, "model" | "node">,
  { qualityFloor, nodes }: Pick<RouterSpec, "qualityFloor" | "nodes">,
): SaidCause | undefined {
  // What is not known is below any floor.
  if (qualityFloor !== null && (model.quality === null || model.quality.score < qualityFloor)) {
    const quality = model.quality === null ? "its quality is not known" : `its quality is ${model.quality.score}`;
    return { stage: "quality", rule: "quality_floor", reason: `${quality}, the floor is ${qualityFloor}` };
  }
  return nodes === "only" && node === undefined ? NO_NODE : undefined;
}

type SaidCause = Cause & { readonly reason: string };

const NO_NODE: SaidCause = { stage: "nodes", rule: "nodes", reason: "the router wants the workspace's own nodes only" };

function lacking({ param, reason, contextTokens, fault, code }: Shortcoming): Cause {
  return { stage: "capability", rule: param, reason, contextTokens, fault, code };
}
