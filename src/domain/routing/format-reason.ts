import type { Endpoint } from "../catalogue/catalogue.ts";
import type { RankingBasis } from "./rank-tiers.ts";

const BASIS_TEXT: Readonly<Record<RankingBasis, string>> = {
  cost: "lowest expected cost of",
  own_key: "called with the workspace's own key, of",
  nodes_first: "the workspace's own node, which the router puts first, of",
  score: "best score of quality, cost and latency of",
  session: "where its session was served before, of",
  order: "first of the caller's order, of",
  fallback: "fallback of the router, which has nothing else, of",
  price: "lowest price, as the caller asked, of",
  throughput: "highest throughput, as the caller asked, of",
  latency: "lowest latency, as the caller asked, of",
};

export type ReasonFacts = {
  readonly basis: RankingBasis;
  readonly eligibleCount: number;
  readonly excludedByPolicyCount: number;
  readonly isCircuitOpen: boolean;
};

export function formatReason(
  { provider, region, sovereignty }: Endpoint,
  { basis, eligibleCount, excludedByPolicyCount, isCircuitOpen }: ReasonFacts,
): string {
  const openNote = isCircuitOpen ? "; all of them are set aside after failures" : "";
  const policyNote = excludedByPolicyCount === 0 ? "" : `; policy kept out ${excludedByPolicyCount}`;
  return `${provider} ${region} (${sovereignty.level}): ${BASIS_TEXT[basis]} ${eligibleCount} eligible${openNote}${policyNote}`;
}
