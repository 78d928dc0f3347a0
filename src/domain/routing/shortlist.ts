import type { NodeUse } from "../tenancy/router.ts";
import type { CircuitState } from "./circuit-state.ts";
import type { FilterResult } from "./exclusion.ts";
import { SESSION_TIER } from "./rank-tiers.ts";

type ShortlistContext = {
  readonly filtered: FilterResult;
  readonly tiers: readonly number[] | undefined;
  readonly circuitStates: ReadonlyMap<number, CircuitState> | undefined;
  readonly nodes: NodeUse | null;
  readonly attemptsMax: number;
  readonly compare: (a: number, b: number) => number;
};

/**
 * Pool, fallbacks, own keys used as a fallback, open circuits. Within the attempt limit, the pool and each fallback model get
 * at least one attempt; candidates that would use those up move behind them.
 */
export function assembleShortlist(
  choices: readonly number[],
  bestFallbacks: readonly number[],
  { filtered, tiers, circuitStates, nodes, attemptsMax, compare }: ShortlistContext,
): readonly number[] {
  const { eligible, poolCount } = filtered;
  const isDeferredNode = (index: number) => nodes === "fallback" && eligible[index]?.node !== undefined;
  const firsts = bestOfEachFallback(filtered, isDeferredNode, compare).slice(0, attemptsMax);
  const fallbacks = [...new Set([...bestFallbacks, ...firsts])].sort(compare);
  // Session affinity also applies to a fallback that served the conversation.
  const affinityIndex = fallbacks.findIndex((index) => tiers?.[index] === SESSION_TIER);
  const ahead = affinityIndex < 0 ? choices : [...fallbacks.splice(affinityIndex, 1), ...choices];
  const isLast = (index: number) => eligible[index]?.ownKey?.use === "fallback";
  if (fallbacks.length === 0 && !ahead.some(isLast)) return ahead;
  const isOpen = (index: number) => circuitStates?.get(index) === "open";
  const isGuaranteed = (index: number) => isLast(index) || isDeferredNode(index);
  const isInPool = (index: number) => index < poolCount;
  const all = [...ahead, ...fallbacks];
  const usable = all.filter((index) => !isOpen(index));
  const ready = [...usable.filter((index) => !isLast(index)), ...usable.filter(isLast)];
  const reserved = [ready.find(isGuaranteed), ready.find(isInPool), ...firsts];
  const planned = reserveAttempts(attemptsMax, reserved, ready);
  return [...planned, ...reserveAttempts(attemptsMax - planned.length, firsts, all.filter(isOpen))];
}

/** The best candidate of each fallback model, in order. */
function bestOfEachFallback(
  { eligible, poolCount }: FilterResult,
  isDeferredNode: (index: number) => boolean,
  compare: (a: number, b: number) => number,
): number[] {
  const firsts = new Map<string, number>();
  for (let index = poolCount; index < eligible.length; index += 1) {
    if (isDeferredNode(index)) continue;
    const model = eligible[index]?.endpoint.model ?? "";
    const first = firsts.get(model);
    if (first === undefined || compare(index, first) < 0) firsts.set(model, index);
  }
  return [...firsts.values()].sort(compare);
}

/** Keeps the order, but reserves the first `count` slots for the best candidate and as many of `reserved` as fit. */
function reserveAttempts(
  count: number,
  reserved: readonly (number | undefined)[],
  indices: readonly number[],
): readonly number[] {
  if (count <= 0 || indices.length <= count) return indices;
  const wanted = new Set([...indices.slice(0, 1), ...reserved, ...indices]);
  const first = new Set([...wanted].filter((index) => index !== undefined && indices.includes(index)).slice(0, count));
  return [...indices.filter((index) => first.has(index)), ...indices.filter((index) => !first.has(index))];
}
