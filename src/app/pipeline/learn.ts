import type { UsageRecord } from "../../domain/record/record.ts";
import type { Attempt } from "../../domain/routing/attempt.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import type { RequestOutline } from "./plan.ts";
import type { RequestTrace } from "./request-trace.ts";

/**
 * What an answer teaches the planner: how fast the endpoint is, how much the model writes, where a session lives. A
 * stream at the pace of its client says nothing of the endpoint: who reads slowly must not make it look slow to others;
 * nor does what an account of a workspace's own is given there. What a node is like is kept with the node: nobody else
 * is to learn from it, least of all what models of the catalogue are like.
 */
export function recordStats(
  { clock, health, trafficStats, sessions, nodes }: GatewayDeps,
  trail: RequestTrace,
  { endpoint, ownKey, node }: Attempt,
  usage: UsageRecord,
  { routingHints, requirements: { maxOutputTokens } }: RequestOutline,
  pace: "provider" | "client",
): void {
  const nowMs = clock.nowMs();
  const { firstByteMs, totalMs } = trail.attemptTimings;
  // An answer that came whole does not show when it began.
  const sample = { firstByteMs: trail.streaming ? firstByteMs : null, totalMs, outputTokens: usage.outputTokens };
  if (pace === "provider" && ownKey === undefined)
    (node === undefined ? health : nodes.held(node.id)?.health)?.record(endpoint.id, sample, nowMs);
  if (node === undefined) trafficStats.recordReply(endpoint.model, usage.outputTokens, maxOutputTokens);
  if (routingHints?.sessionId === undefined) return;
  const seenTokens = usage.inputTokens + usage.outputTokens;
  sessions.record(trail.principal.workspace.id, routingHints.sessionId, { endpoint: endpoint.id, seenTokens }, nowMs);
}
