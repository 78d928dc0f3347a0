import type { CircuitState } from "./circuit-state.ts";
import type { FilterResult } from "./exclusion.ts";
import type { PlanningContext, PlanRequest } from "./planning-context.ts";
import { requestedSortMetrics } from "./provider-sort.ts";
import { tierBasis, tiersOf } from "./rank-tiers.ts";
import type { CandidateMetrics, CandidateScores, Ranking, SortMetrics } from "./ranking-types.ts";
import { assembleShortlist } from "./shortlist.ts";

/** More than any request tries, because candidates may be skipped. */
const SHORTLIST_MAX = 16;

export function rank(
  filtered: FilterResult,
  metrics: CandidateMetrics,
  scores: CandidateScores | undefined,
  request: PlanRequest,
  context: PlanningContext,
): Ranking {
  const { eligible, poolCount } = filtered;
  const { hints, target } = request;
  const circuitStates = nonClosedCircuits(filtered, context);
  const hasOwnKeys = context.ownKeyCircuits !== undefined;
  const nodes = target.is === "router" ? (target.router?.spec.nodes ?? null) : null;
  const isPoolOnly = eligible.length === poolCount;
  const isByMetricOnly =
    isPoolOnly &&
    !hasOwnKeys &&
    nodes === null &&
    circuitStates === undefined &&
    metrics.sessionIndex < 0 &&
    hints?.provider?.order === undefined;
  const tiers = isByMetricOnly
    ? undefined
    : tiersOf(filtered, request, metrics.sessionIndex, circuitStates, { hasOwnKeys, nodes });
  const { primary, bestEnd, secondary } = sortMetricsFor(filtered, metrics, scores, request);
  const order = { rows: eligible, tiers, primary, bestEnd, secondary };
  const compare = (a: number, b: number) => compareIndices(a, b, order);
  const choices = bestWithOwnResources(0, poolCount, order);
  const isLast = (index: number) => eligible[index]?.ownKey?.use === "fallback";
  const shortlist =
    isPoolOnly && !choices.some(isLast)
      ? choices
      : assembleShortlist(choices, bestWithOwnResources(poolCount, eligible.length, order), {
          filtered,
          tiers,
          circuitStates,
          nodes,
          attemptsMax: context.attemptsMax,
          compare,
        });
  const basis = tiers === undefined ? undefined : tierBasis(shortlist[0], tiers, request, filtered);
  return {
    shortlist,
    basis: basis ?? hints?.provider?.sort ?? (target.is === "router" ? "score" : "cost"),
    circuitStates,
    sortIndices: (indices) => [...indices].sort(compare),
  };
}

function nonClosedCircuits(
  { eligible }: FilterResult,
  { circuits, ownKeyCircuits }: PlanningContext,
): ReadonlyMap<number, CircuitState> | undefined {
  let states: Map<number, CircuitState> | undefined;
  for (let index = 0; index < eligible.length; index += 1) {
    const row = eligible[index];
    const source = row?.ownKey === undefined ? circuits : ownKeyCircuits?.(row.endpoint.provider);
    const state = source?.circuitStateOf(row?.endpoint.id ?? "") ?? "closed";
    if (state !== "closed") states = (states ?? new Map<number, CircuitState>()).set(index, state);
  }
  return states;
}

type SortOrder = SortMetrics & {
  readonly rows: FilterResult["eligible"];
  /** Take precedence over the metrics; undefined when only those count. */
  readonly tiers: readonly number[] | undefined;
};

function sortMetricsFor(
  { poolCount }: FilterResult,
  metrics: CandidateMetrics,
  scores: CandidateScores | undefined,
  { hints }: PlanRequest,
): SortMetrics {
  const sort = hints?.provider?.sort;
  if (sort !== undefined) return requestedSortMetrics(sort, metrics, poolCount);
  return scores === undefined
    ? { primary: metrics.costNanos, bestEnd: "least", secondary: metrics.latencyMs }
    : { primary: scores.total, bestEnd: "most", secondary: metrics.costNanos };
}

/** A total order: no two candidates compare as equal. */
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

/** The best candidates of a range in order, followed by the workspace's own resources that are not among them. */
function bestWithOwnResources(from: number, to: number, order: SortOrder): number[] {
  const best = bestOf(from, to, order, "all");
  if (best.length === to - from) return best;
  const own = bestOf(from, to, order, "own").filter((index) => !best.includes(index));
  return [...best, ...own];
}

/** Bounded insertion sort: the candidates beyond the shortlist stay unsorted. */
function bestOf(from: number, to: number, order: SortOrder, subset: "all" | "own"): number[] {
  const found: number[] = [];
  for (let index = from; index < to; index += 1) {
    if (subset === "own" && !isOwnRow(order.rows[index])) continue;
    let slot = found.length;
    if (slot === SHORTLIST_MAX) {
      slot -= 1;
      if (compareIndices(index, found[slot] ?? 0, order) > 0) continue;
    }
    for (; slot > 0; slot -= 1) {
      const before = found[slot - 1] ?? 0;
      if (compareIndices(before, index, order) < 0) break;
      found[slot] = before;
    }
    found[slot] = index;
  }
  return found;
}

function isOwnRow(row: FilterResult["eligible"][number] | undefined): boolean {
  return row?.ownKey !== undefined || row?.node !== undefined;
}
