import type { Endpoint } from "../catalogue/catalogue.ts";
import type { RankingBasis } from "./ranking-types.ts";

const BASIS_TEXT: Readonly<Record<RankingBasis, string>> = {
  cost: "lowest expected cost",
  own_key: "uses the workspace's own key",
  nodes_first: "the workspace's own node, preferred by the router",
  score: "best score of quality, cost and latency",
  session: "served this session before",
  order: "first in the caller's order",
  fallback: "fallback of the router",
  price: "lowest price, as requested",
  throughput: "highest throughput, as requested",
  latency: "lowest latency, as requested",
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
  const openNote = isCircuitOpen ? ", all with open circuits" : "";
  const policyNote = excludedByPolicyCount === 0 ? "" : `, ${excludedByPolicyCount} excluded by policy`;
  return `${provider} ${region} (${sovereignty.level}): ${BASIS_TEXT[basis]} (${eligibleCount} eligible${openNote}${policyNote})`;
}
