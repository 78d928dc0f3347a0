import type { NodeUse } from "../tenancy/router.ts";
import { endpointAt } from "./candidate-metrics.ts";
import type { CircuitState } from "./circuit-state.ts";
import type { FilterResult } from "./exclusion.ts";
import type { PlanRequest } from "./planning-context.ts";
import { indexInList } from "./preferences.ts";
import type { RankingBasis } from "./ranking-types.ts";

export const SESSION_TIER = -1;
/** Before session affinity and before the caller's order. */
const NODES_FIRST_TIER = -1_000;
/** Behind the router's fallbacks. */
const NODES_LAST_TIER = 5_000;
/** Greater than any index in a caller's order. */
const FALLBACK_TIER = 1_000;
const OPEN_CIRCUIT_TIER = 1_000_000;
/** Preferred own resources rank before candidates of the same tier; own keys used as a fallback rank behind all tiers. */
const OWN_FIRST_STEP = 0.5;
const OWN_LAST_TIER = 10_000;

/** Tiers take precedence over the sort metric; undefined when only the metric counts. */
export function tiersOf(
  { eligible, poolCount }: FilterResult,
  { hints, target }: PlanRequest,
  sessionIndex: number,
  circuitStates: ReadonlyMap<number, CircuitState> | undefined,
  { hasOwnKeys, nodes }: { readonly hasOwnKeys: boolean; readonly nodes: NodeUse | null },
): number[] | undefined {
  const order = hints?.provider?.order;
  // Without further turns the prompt cache only saves once, and the expected cost already includes that.
  const sessionEndpoint =
    order === undefined && hints?.remainingTurns !== 0 ? endpointAt(eligible, sessionIndex) : undefined;
  const isByMetricOnly =
    order === undefined &&
    sessionEndpoint === undefined &&
    circuitStates === undefined &&
    poolCount === eligible.length;
  const areNodesFirst = nodes === "first";
  if (isByMetricOnly && !hasOwnKeys && !areNodesFirst) return undefined;
  // A router or an explicit sort compares candidates by merit, not by who pays.
  const firstStep = target.is === "model" && hints?.provider?.sort === undefined ? OWN_FIRST_STEP : 0;
  const fallback = target.is === "router" ? (target.router?.spec.fallback ?? []) : [];
  const tiers = new Array<number>(eligible.length).fill(0);
  // Without an order the pool is one tier, and the session's endpoint is in it once.
  const isOneTier = order === undefined && !hasOwnKeys && !areNodesFirst;
  if (isOneTier && sessionEndpoint !== undefined) tiers[sessionIndex] = SESSION_TIER;
  for (let index = isOneTier ? poolCount : 0; index < eligible.length; index += 1) {
    const endpoint = eligible[index]?.endpoint;
    if (endpoint === undefined) continue;
    const isNode = eligible[index]?.node !== undefined;
    if (areNodesFirst && isNode && index < poolCount) tiers[index] = NODES_FIRST_TIER;
    else if (endpoint === sessionEndpoint) tiers[index] = SESSION_TIER;
    else if (index >= poolCount && nodes === "fallback" && isNode) tiers[index] = NODES_LAST_TIER;
    else if (index >= poolCount) tiers[index] = FALLBACK_TIER + fallback.indexOf(endpoint.model);
    else if (order !== undefined) {
      const named = indexInList(order, endpoint);
      tiers[index] = named < 0 ? order.length : named;
    }
    const use = eligible[index]?.ownKey?.use;
    if (use === "fallback") tiers[index] = OWN_LAST_TIER + (tiers[index] ?? 0);
    else if (use !== undefined || isNode) tiers[index] = (tiers[index] ?? 0) - firstStep;
  }
  for (const [index, state] of circuitStates ?? [])
    if (state === "open") tiers[index] = OPEN_CIRCUIT_TIER + (tiers[index] ?? 0);
  return tiers;
}

/** Undefined when no tier but the sort metric decided. */
export function tierBasis(
  first: number | undefined,
  tiers: readonly number[],
  { hints }: PlanRequest,
  { eligible, poolCount }: FilterResult,
): RankingBasis | undefined {
  const tier = first === undefined ? 0 : (tiers[first] ?? 0);
  if (tier === NODES_FIRST_TIER) return "nodes_first";
  if (tier <= SESSION_TIER) return "session";
  if (first !== undefined && first >= poolCount) return "fallback";
  const preferences = hints?.provider;
  if (preferences?.order !== undefined && Math.ceil(tier) < preferences.order.length) return "order";
  if (tier < OPEN_CIRCUIT_TIER && !Number.isInteger(tier) && eligible[first ?? -1]?.ownKey !== undefined)
    return "own_key";
  return undefined;
}
