import type { RequestRecord, UsageRecord } from "../../domain/record/record.ts";
import type { Attempt } from "../../domain/routing/attempt.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import type { RequestOutline } from "./inference-request.ts";
import type { RequestTrace } from "./request-trace.ts";

/** Journals a committed stream. It is not awaited: settlement waits for the journal. */
export function recordOpened({ clock, journal }: Pick<GatewayDeps, "clock" | "journal">, trace: RequestTrace): void {
  const { requestId, principal } = trace;
  const atMs = clock.nowMs();
  journal
    .append({ t: "open", id: requestId, workspaceId: principal.workspace.id, atMs, record: trace.openRecord() })
    .catch(() => undefined);
}

/** Journals an uncharged request; the response is sent even when the journal fails. */
export async function recordUncharged(
  { journal, onRequestFinished }: Pick<GatewayDeps, "journal" | "onRequestFinished">,
  record: RequestRecord,
): Promise<void> {
  onRequestFinished(record);
  await journal.append({ t: "done", record }).catch(() => undefined);
}

/**
 * Updates what planning learns from a reply: latency, output length and session affinity. Latency is not sampled when the
 * client was slower than the provider, nor for own keys, whose quota is the workspace's. Nodes keep their own statistics.
 */
export function recordStats(
  { clock, health, trafficStats, sessions, nodes }: GatewayDeps,
  trace: RequestTrace,
  { endpoint, ownKey, node }: Attempt,
  usage: UsageRecord,
  { routingHints, requirements: { maxOutputTokens } }: RequestOutline,
  pace: "provider" | "client",
): void {
  const nowMs = clock.nowMs();
  const { firstByteMs, totalMs } = trace.attemptTimings;
  // A buffered reply does not show when generation began.
  const sample = { firstByteMs: trace.streaming ? firstByteMs : null, totalMs, outputTokens: usage.outputTokens };
  if (pace === "provider" && ownKey === undefined)
    (node === undefined ? health : nodes.entry(node.id)?.health)?.record(endpoint.id, sample, nowMs);
  if (node === undefined) trafficStats.recordReply(endpoint.model, usage.outputTokens, maxOutputTokens);
  if (routingHints?.sessionId === undefined) return;
  const seenTokens = usage.inputTokens + usage.outputTokens;
  sessions.record(trace.principal.workspace.id, routingHints.sessionId, { endpoint: endpoint.id, seenTokens }, nowMs);
}
