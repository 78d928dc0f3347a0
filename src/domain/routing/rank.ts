import type { ProviderSort } from "../../language/canon/routing-hints.ts";
import type { NodeUse } from "../tenancy/router.ts";
import { isOwnResource } from "./attempt.ts";
import type { CircuitState } from "./circuit-state.ts";
import type { FilterResult, PlanningContext, PlanRequest } from "./filter.ts";
import { indexInList } from "./preferences.ts";
import { type CandidateMetrics, type CandidateScores, endpointAt, fillMissing, MEDIAN } from "./score.ts";

/** Why the first one is first. */
export type RankingBasis =
  | "cost"
  | "own_key"
  | "nodes_first"
  | "score"
  | "session"
  | "order"
  | "fallback"
  | ProviderSort;

/** Places of rows, best first. */
export type Ranking = {
  /**
   * Those that may be tried, in order: the best of the pool, then fallbacks, then what is set aside. However much there is
   * that costs, what is the workspace's own is among them.
   */
  readonly shortlist: readonly number[];
  readonly basis: RankingBasis;
  /** Of the rows that are not simply in; undefined when all are. */
  readonly circuitStates: ReadonlyMap<number, CircuitState> | undefined;
  /** Sorts any places in the same way; only the record of a decision needs them all in order. */
  readonly sortIndices: (places: readonly number[]) => number[];
};

/** More than any request tries, so that some may be passed over. */
const SHORTLIST_MAX = 16;

export function rank(
  sifted: FilterResult,
  figures: CandidateMetrics,
  scores: CandidateScores | undefined,
  request: PlanRequest,
  world: PlanningContext,
): Ranking {
  const { eligible, poolCount } = sifted;
  const circuitStates = nonClosedCircuits(sifted, world);
  const keys = world.ownKeyCircuits === undefined ? "platform" : "own";
  const nodes = request.target.is === "router" ? (request.target.router?.spec.nodes ?? null) : null;
  const tiers = tiersOf(sifted, request, figures.sessionIndex, circuitStates, keys, nodes);
  const { primary, bestEnd, secondary } = sortMetricsFor(sifted, figures, scores, request);
  const order = { rows: eligible, tiers, primary, best: bestEnd, secondary };
  const compare = (a: number, b: number) => compareIndices(a, b, order);
  const choices = bestWithOwnResources(0, poolCount, order);
  const isNodeBehind = (place: number) => nodes === "fallback" && eligible[place]?.node !== undefined;
  const isPoolAll = eligible.length === poolCount;
  const firsts = isPoolAll ? [] : bestOfEachFallback(poolCount, order, isNodeBehind).slice(0, world.attemptsMax);
  const fallbacks = isPoolAll
    ? []
    : [...new Set([...bestWithOwnResources(poolCount, eligible.length, order), ...firsts])].sort(compare);
  const isAside = (place: number) => circuitStates?.get(place) === "aside";
  // A conversation that a fallback has served stays there too.
  const stays = fallbacks.findIndex((place) => tiers?.[place] === SESSION_TIER);
  const [ahead, behind] = stays < 0 ? [choices, fallbacks] : [[...fallbacks.splice(stays, 1), ...choices], fallbacks];
  const isLast = (place: number) => eligible[place]?.ownKey?.use === "fallback";
  const isKept = (place: number) => isLast(place) || isNodeBehind(place);
  const isChoice = (place: number) => place < poolCount;
  const shortlist = assembleShortlist(ahead, behind, firsts, { isAside, isLast, isKept, isChoice }, world.attemptsMax);
  return {
    shortlist,
    basis: basisOf(shortlist[0], tiers, request, sifted),
    circuitStates,
    sortIndices: (places) => [...places].sort(compare),
  };
}

function nonClosedCircuits(
  { eligible }: FilterResult,
  { circuits, ownKeyCircuits }: PlanningContext,
): ReadonlyMap<number, CircuitState> | undefined {
  let standings: Map<number, CircuitState> | undefined;
  for (let place = 0; place < eligible.length; place += 1) {
    const row = eligible[place];
    const judges = row?.ownKey === undefined ? circuits : ownKeyCircuits?.(row.endpoint.provider);
    const standing = judges?.circuitStateOf(row?.endpoint.id ?? "") ?? "in";
    if (standing !== "in") standings = (standings ?? new Map<number, CircuitState>()).set(place, standing);
  }
  return standings;
}

const SESSION_TIER = -1;
/** Before everybody else, whoever served before and whatever order the caller would like. */
const NODES_FIRST_TIER = -1_000;
/** Behind the router's own fallbacks. */
const NODES_LAST_TIER = 5_000;
/** Above every place in an order. */
const FALLBACK_TIER = 1_000;
const OPEN_CIRCUIT_TIER = 1_000_000;
/** Nodes and own keys that are to be used first stand before their equals, keys that are a fallback behind all others. */
const OWN_FIRST_STEP = 0.5;
const OWN_LAST_TIER = 10_000;

/** Who goes before whom whatever the figures say; undefined when only figures count. */
function tiersOf(
  { eligible, poolCount }: FilterResult,
  { hints, target }: PlanRequest,
  sessionPlace: number,
  standings: ReadonlyMap<number, CircuitState> | undefined,
  keys: "own" | "platform",
  nodes: NodeUse | null,
): number[] | undefined {
  const order = hints?.provider?.order;
  // With no turn left to come the cache is worth its price once, and the price is in the cost already.
  const kept = order === undefined && hints?.remainingTurns !== 0 ? endpointAt(eligible, sessionPlace) : undefined;
  const byFigures =
    order === undefined && kept === undefined && standings === undefined && poolCount === eligible.length;
  const inFront = nodes === "first";
  if (byFigures && keys === "platform" && !inFront) return undefined;
  // Who chooses between models, or asks for an order of their own, is not led astray by who is paid how.
  const firstStep = target.is === "model" && hints?.provider?.sort === undefined ? OWN_FIRST_STEP : 0;
  const fallback = target.is === "router" ? (target.router?.spec.fallback ?? []) : [];
  const tiers = new Array<number>(eligible.length).fill(0);
  // Without an order the pool is one tier, and its session's endpoint is there once.
  const isOneTier = order === undefined && keys === "platform" && !inFront;
  if (isOneTier && kept !== undefined) tiers[sessionPlace] = SESSION_TIER;
  for (let place = isOneTier ? poolCount : 0; place < eligible.length; place += 1) {
    const endpoint = eligible[place]?.endpoint;
    if (endpoint === undefined) continue;
    const isNode = eligible[place]?.node !== undefined;
    if (inFront && isNode && place < poolCount) tiers[place] = NODES_FIRST_TIER;
    else if (endpoint === kept) tiers[place] = SESSION_TIER;
    else if (place >= poolCount && nodes === "fallback" && isNode) tiers[place] = NODES_LAST_TIER;
    else if (place >= poolCount) tiers[place] = FALLBACK_TIER + fallback.indexOf(endpoint.model);
    else if (order !== undefined) {
      const named = indexInList(order, endpoint);
      tiers[place] = named < 0 ? order.length : named;
    }
    const use = eligible[place]?.ownKey?.use;
    if (use === "fallback") tiers[place] = OWN_LAST_TIER + (tiers[place] ?? 0);
    else if (use !== undefined || isNode) tiers[place] = (tiers[place] ?? 0) - firstStep;
  }
  for (const [place, standing] of standings ?? [])
    if (standing === "aside") tiers[place] = OPEN_CIRCUIT_TIER + (tiers[place] ?? 0);
  return tiers;
}

type SortMetrics = {
  readonly primary: Float64Array;
  /** Which end of it is best. */
  readonly bestEnd: "least" | "most";
  /** Least first, where the first sees no difference. */
  readonly secondary: Float64Array;
};

/** What places are compared by. */
type SortOrder = SortMetrics & {
  readonly rows: FilterResult["eligible"];
  readonly tiers: readonly number[] | undefined;
};

function sortMetricsFor(
  { poolCount }: FilterResult,
  figures: CandidateMetrics,
  scores: CandidateScores | undefined,
  { hints }: PlanRequest,
): SortMetrics {
  const sort = hints?.provider?.sort;
  switch (sort) {
    case "price":
      return { primary: figures.costNanos, bestEnd: "least", secondary: figures.latencyMs };
    case "throughput":
      return { primary: speeds((speed) => speed.perTokenMs), bestEnd: "least", secondary: figures.costNanos };
    case "latency":
      return { primary: speeds((speed) => speed.firstByteMs), bestEnd: "least", secondary: figures.costNanos };
    case undefined:
      return scores === undefined
        ? { primary: figures.costNanos, bestEnd: "least", secondary: figures.latencyMs }
        : { primary: scores.total, bestEnd: "most", secondary: figures.costNanos };
  }

  function speeds(of: (speed: NonNullable<CandidateMetrics["latencyEstimates"][number]>) => number): Float64Array {
    const values = Float64Array.from(figures.latencyEstimates, (speed) =>
      speed === undefined ? Number.NaN : of(speed),
    );
    fillMissing(values, MEDIAN, poolCount);
    return values;
  }
}

/** Below 0: the first place goes before the second. No two are the same. */
function compareIndices(a: number, b: number, { rows, tiers, primary, bestEnd, secondary }: SortOrder): number {
  if (tiers !== undefined && tiers[a] !== tiers[b]) return (tiers[a] ?? 0) - (tiers[b] ?? 0);
  const first = (primary[a] ?? 0) - (primary[b] ?? 0);
  if (first !== 0) return bestEnd === "most" ? -first : first;
  const second = (secondary[a] ?? 0) - (secondary[b] ?? 0);
  if (second !== 0) return second;
  const [one, other] = [rows[a]?.endpoint.id ?? "", rows[b]?.endpoint.id ?? ""];
  if (one === other) return rows[a]?.ownKey === undefined ? 1 : -1;
  return one < other ? -1 : 1;
}

/** The best of a stretch of rows in order, with what is the workspace's own behind them: that costs nothing. */
function bestWithOwnResources(from: number, to: number, order: SortOrder): number[] {
  const best = bestOf(from, to, order, "all");
  if (best.length === to - from) return best;
  const own = bestOf(from, to, order, "own").filter((place) => !best.includes(place));
  return [...best, ...own];
}

/** As many as a shortlist takes, without sorting the rest. */
function bestOf(from: number, to: number, order: SortOrder, of: "all" | "own"): number[] {
  const found: number[] = [];
  for (let place = from; place < to; place += 1) {
    if (of === "own" && !isOwnRow(order.rows[place])) continue;
    let at = found.length;
    if (at === SHORTLIST_MAX) {
      at -= 1;
      if (compareIndices(place, found[at] ?? 0, order) > 0) continue;
    }
    for (; at > 0; at -= 1) {
      const before = found[at - 1] ?? 0;
      if (compareIndices(before, place, order) < 0) break;
      found[at] = before;
    }
    found[at] = place;
  }
  return found;
}

/** The best of each of the router's fallback models, in order. */
function bestOfEachFallback(pooled: number, order: SortOrder, isNodeBehind: (place: number) => boolean): number[] {
  const firsts = new Map<string, number>();
  for (let place = pooled; place < order.rows.length; place += 1) {
    if (isNodeBehind(place)) continue;
    const model = order.rows[place]?.endpoint.model ?? "";
    const first = firsts.get(model);
    if (first === undefined || compareIndices(place, first, order) < 0) firsts.set(model, place);
  }
  return [...firsts.values()].sort((a, b) => compareIndices(a, b, order));
}

const isOwnRow = (row: FilterResult["eligible"][number] | undefined) => row !== undefined && isOwnResource(row);

/** What decides where a place stands when lists are joined. */
type ShortlistPredicates = {
  readonly isAside: (place: number) => boolean;
  /** Own keys that are a fallback: behind the router's fallbacks too. */
  readonly isLast: (place: number) => boolean;
  /** What is the workspace's own and a fallback: one of them is tried, whoever else there is. */
  readonly isKept: (place: number) => boolean;
  readonly isChoice: (place: number) => boolean;
};

/**
 * The pool, the fallbacks, own keys that are a fallback; whoever is set aside is last. As far as the attempts reach, the
 * choice has one, and so has each fallback model: whoever would use those up stands behind them.
 */
function assembleShortlist(
  best: readonly number[],
  fallbacks: readonly number[],
  firsts: readonly number[],
  { isAside, isLast, isKept, isChoice }: ShortlistPredicates,
  attemptsMax: number,
): readonly number[] {
  if (fallbacks.length === 0 && !best.some(isLast)) return best;
  const all = [...best, ...fallbacks];
  const ready = all.filter((place) => !isAside(place));
  const inTurn = [...ready.filter((place) => !isLast(place)), ...ready.filter(isLast)];
  const others = [inTurn.find(isKept), inTurn.find(isChoice), ...firsts];
  const planned = reserveAttempts(attemptsMax, others, inTurn);
  return [...planned, ...reserveAttempts(attemptsMax - planned.length, firsts, all.filter(isAside))];
}

/** The same in the same order, but among the first so many are the very first and, as far as they fit, these others. */
function reserveAttempts(
  count: number,
  others: readonly (number | undefined)[],
  places: readonly number[],
): readonly number[] {
  if (count <= 0 || places.length <= count) return places;
  const wanted = new Set([...places.slice(0, 1), ...others, ...places]);
  const first = new Set([...wanted].filter((place) => place !== undefined && places.includes(place)).slice(0, count));
  return [...places.filter((place) => first.has(place)), ...places.filter((place) => !first.has(place))];
}

function basisOf(
  first: number | undefined,
  tiers: readonly number[] | undefined,
  { hints, target }: PlanRequest,
  { eligible, poolCount }: FilterResult,
): RankingBasis {
  const tier = first === undefined ? 0 : (tiers?.[first] ?? 0);
  if (tier === NODES_FIRST_TIER) return "nodes_first";
  if (tier <= SESSION_TIER) return "session";
  if (first !== undefined && first >= poolCount) return "fallback";
  const preferences = hints?.provider;
  if (preferences?.order !== undefined && Math.ceil(tier) < preferences.order.length) return "order";
  if (tier < OPEN_CIRCUIT_TIER && !Number.isInteger(tier) && eligible[first ?? -1]?.ownKey !== undefined)
    return "own_key";
  return preferences?.sort ?? (target.is === "router" ? "score" : "cost");
}
