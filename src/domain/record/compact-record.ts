import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import type { AttemptRecord, CandidateRecord, DecisionRecord, RequestRecord, UsageRecord } from "./record.ts";

/** Its presence only suggests a compact record; the parsed value decides. */
const COMPACT_MARK = '"short"';

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

/** Restores what a compact text omits. Does not validate. */
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

/** Adds the defaults to each object of a list. */
function withDefaults(defaults: JsonObject, list: unknown): unknown {
  if (!Array.isArray(list)) return list;
  return list.map((item: unknown) => (isJsonObject(item) ? { ...defaults, ...item } : item));
}

/** Quotes inside strings are escaped, so a match always is a field. */
export function mayContainCompact(texts: Buffer): boolean {
  return texts.includes(COMPACT_MARK);
}

/** The same record as full text. */
export function expandText(text: string): string {
  return text.includes(COMPACT_MARK) ? JSON.stringify(expandRecord(JSON.parse(text))) : text;
}
