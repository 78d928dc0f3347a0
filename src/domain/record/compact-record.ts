import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import type { AttemptRecord, CandidateRecord, DecisionRecord, RequestRecord, UsageRecord } from "./record.ts";

/** However it is written: whether it is one is asked of what was parsed. */
const COMPACT_MARK = '"short"';

/**
 * The text of a record without what goes without saying: figures that are nothing, and what attempts and candidates have
 * in common with the request itself. That is a third of it. What the books and SQL read out of a text is always there.
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

/** Whether the order is that of the candidates that are planned. */
function isCandidateOrder({ candidates, order }: DecisionRecord): boolean {
  let at = 0;
  for (const { outcome, endpoint } of candidates) {
    if (outcome !== "planned") continue;
    if (order[at] !== endpoint) return false;
    at += 1;
  }
  return at === order.length;
}

const DEFAULT_USAGE = {
  cachedTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  audioInputTokens: 0,
  audioOutputTokens: 0,
  characters: null,
  seconds: null,
  estimated: false,
};

/** What was parsed from the text of a record, with all that a short one leaves out. Whether it is a record is not asked. */
export function expandRecord(value: unknown): unknown {
  if (!isJsonObject(value) || value["short"] !== true) return value;
  const { endpoint, model, provider, level, usage, attempts, decision } = value;
  return {
    clientRequestId: null,
    router: null,
    ...value,
    usage: isJsonObject(usage) ? { ...DEFAULT_USAGE, ...usage } : usage,
    attempts: withDefaults({ endpoint, provider, maybeAccepted: false }, attempts),
    decision: isJsonObject(decision) ? expandDecision(decision, { endpoint, model, provider, level }) : decision,
    short: undefined,
  };
}

function expandDecision(decision: JsonObject, served: JsonObject): JsonObject {
  const candidates = withDefaults({ ...served, outcome: "planned" }, decision["candidates"]);
  const objects = Array.isArray(candidates) ? candidates.filter(isJsonObject) : [];
  const planned = objects.filter(({ outcome }) => outcome === "planned").map(({ endpoint }) => endpoint);
  return { ...decision, candidates, order: decision["order"] ?? planned };
}

/** What each of a list leaves out. */
function withDefaults(common: JsonObject, list: unknown): unknown {
  if (!Array.isArray(list)) return list;
  return list.map((one: unknown) => (isJsonObject(one) ? { ...common, ...one } : one));
}

/** Whether there may be short ones among these texts. A quote inside a text is escaped, so it is always a field. */
export function mayContainCompact(texts: Buffer): boolean {
  return texts.includes(COMPACT_MARK);
}

/** The same record in a text that leaves nothing out. */
export function expandText(text: string): string {
  return text.includes(COMPACT_MARK) ? JSON.stringify(expandRecord(JSON.parse(text))) : text;
}
