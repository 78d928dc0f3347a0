import type { AttemptRecord, CandidateRecord, DecisionRecord, RequestRecord, UsageRecord } from "./record.ts";

/**
 * The text of a record without zero counts and without values that attempts and candidates share with the request, about a
 * third of it. Fields that ingest and SQL read are never omitted.
 */
export function encodeCompact(record: RequestRecord): string {
  const { clientRequestId, router, usage, attempts, decision } = record;
  return JSON.stringify({
    ...record,
    clientRequestId: clientRequestId ?? undefined,
    router: router ?? undefined,
    usage: usage === null ? null : compactUsage(usage),
    attempts: attempts.map((attempt) => compactAttempt(attempt, record)),
    decision: decision === null ? null : compactDecision(decision, record),
    short: true,
  });
}

function compactUsage(usage: UsageRecord) {
  return {
    ...usage,
    cachedTokens: usage.cachedTokens || undefined,
    cacheWriteTokens: usage.cacheWriteTokens || undefined,
    reasoningTokens: usage.reasoningTokens || undefined,
    audioInputTokens: usage.audioInputTokens || undefined,
    audioOutputTokens: usage.audioOutputTokens || undefined,
    characters: usage.characters ?? undefined,
    seconds: usage.seconds ?? undefined,
    estimated: usage.estimated || undefined,
  };
}

function compactAttempt(attempt: AttemptRecord, { endpoint, provider }: RequestRecord) {
  return {
    ...attempt,
    endpoint: attempt.endpoint === endpoint ? undefined : attempt.endpoint,
    provider: attempt.provider === provider ? undefined : attempt.provider,
    maybeAccepted: attempt.maybeAccepted || undefined,
  };
}

function compactDecision(decision: DecisionRecord, record: RequestRecord) {
  return {
    ...decision,
    candidates: decision.candidates.map((candidate) => compactCandidate(candidate, record)),
    order: isCandidateOrder(decision) ? undefined : decision.order,
  };
}

function compactCandidate(candidate: CandidateRecord, { endpoint, model, provider, level }: RequestRecord) {
  return {
    ...candidate,
    endpoint: candidate.endpoint === endpoint ? undefined : candidate.endpoint,
    model: candidate.model === model ? undefined : candidate.model,
    provider: candidate.provider === provider ? undefined : candidate.provider,
    level: candidate.level === level ? undefined : candidate.level,
    outcome: candidate.outcome === "planned" ? undefined : candidate.outcome,
  };
}

/** Whether the order equals the order of the planned candidates. */
function isCandidateOrder({ candidates, order }: DecisionRecord): boolean {
  let index = 0;
  for (const { outcome, endpoint } of candidates) {
    if (outcome !== "planned") continue;
    if (order[index] !== endpoint) return false;
    index += 1;
  }
  return index === order.length;
}
