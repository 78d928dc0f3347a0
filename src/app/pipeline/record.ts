import { isUtf8 } from "node:buffer";
import type { CurrencyTable, Margin } from "../../domain/billing/charge.ts";
import type { AttemptRecord, RequestRecord, UsageRecord } from "../../domain/record/record.ts";
import type { Attempt } from "../../domain/routing/reachable-endpoint.ts";
import type { UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";
import type { BillableExtra } from "../../language/canon/extras.ts";
import { type AttemptOutcome, isMaybeAccepted } from "./attempt-outcome.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import type { RequestOutline } from "./inference-request.ts";
import type { OutcomeDescription } from "./record.ts";
import { RequestTrace } from "./request-trace.ts";

/** Journals a committed stream. It is not awaited: settlement waits for the journal. */
export function recordOpened({ clock, journal }: Pick<GatewayDeps, "clock" | "journal">, trace: RequestTrace): void {
  const { requestId, principal } = trace;
  const atMs = clock.nowMs();
  journal
    .append({ t: "open", id: requestId, workspaceId: principal.workspace.id, atMs, record: trace.openRecord() })
    .catch(() => undefined);
}

/** Passes every finished request on to metrics, alerts and traces. */
export function notifyObservers(
  observers: readonly { recordRequest(record: RequestRecord): void }[],
): (record: RequestRecord) => void {
  return (record) => {
    for (const observer of observers) observer.recordRequest(record);
  };
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

const LABEL_CHARS_MAX = 128;
export const UPSTREAM_ID_CHARS_MAX = 256;
export type RequestEnd = Pick<RequestRecord, "status" | "errorCode" | "usage" | "charge">;
/** Pricing inputs of a request besides the endpoint's price. */
export type PricingTerms = {
  readonly currencies: CurrencyTable;
  readonly margin: Margin;
  /** Requested features that are billed separately. */
  readonly extras: readonly BillableExtra[] | undefined;
  /** Only with an output limit the hold is an upper bound. */
  readonly hasOutputLimit: boolean;
};

export const roundToTenths = (ms: number) => Math.round(ms * 10) / 10;
export function sanitizeLabel(header: string | string[] | undefined): string | null {
  if (typeof header !== "string") return null;
  const clean = decodeHeader(header)
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "")
    .trim()
    .slice(0, LABEL_CHARS_MAX)
    .replace(/[\ud800-\udbff]$/, "");
  return clean === "" ? null : clean;
}

/** Node decodes headers as Latin-1 while clients send UTF-8; invalid UTF-8 is left as it is. */
function decodeHeader(header: string): string {
  if (/^[\0-\x7f]*$/.test(header)) return header;
  const bytes = Buffer.from(header, "latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : header;
}

type OutcomeDescription = Pick<AttemptRecord, "outcome" | "upstreamStatus" | "reason" | "maybeAccepted">;
export function attemptRecord(
  { endpoint, ownKey }: Attempt,
  { startedAtMs, durationMs }: Pick<AttemptRecord, "startedAtMs" | "durationMs">,
  { outcome, upstreamStatus, reason, maybeAccepted }: OutcomeDescription,
): AttemptRecord {
  const { id, provider } = endpoint;
  const record = {
    endpoint: id,
    provider,
    startedAtMs,
    durationMs,
    outcome,
    upstreamStatus,
    reason,
    maybeAccepted,
  };
  return ownKey === undefined ? record : { ...record, ownKey: true };
}

export function describeOutcome(
  outcome: AttemptOutcome,
  { droppedFields }: Pick<UpstreamAdapter, "droppedFields">,
): OutcomeDescription {
  switch (outcome.is) {
    case "complete":
    case "relayed":
      return {
        outcome: "served",
        upstreamStatus: outcome.upstreamStatus,
        reason: droppedFields.length === 0 ? "answered whole" : `answered whole; left out: ${listNames(droppedFields)}`,
        maybeAccepted: false,
      };
    case "broken":
      return {
        outcome: "stop",
        upstreamStatus: outcome.upstreamStatus,
        reason: truncateReason(outcome.verdict.why),
        maybeAccepted: true,
      };
    case "disconnected":
      return { outcome: "cancelled", upstreamStatus: null, reason: "the client hung up", maybeAccepted: true };
    case "failed": {
      const { verdict, upstreamStatus } = outcome;
      return {
        outcome: verdict.is === "stop" ? "stop" : "next",
        upstreamStatus,
        reason: truncateReason(verdict.why),
        maybeAccepted: isMaybeAccepted(outcome),
      };
    }
  }
}

/** Callers choose the number and length of field names, and the journal limits the size of a record. */
const NAMES_MAX = 20;
const NAME_CHARS_MAX = 200;
const REASON_CHARS_MAX = 500;
const truncateReason = (reason: string) => reason.slice(0, REASON_CHARS_MAX);
function listNames(names: readonly string[]): string {
  const listed = names.slice(0, NAMES_MAX).map((name) => name.slice(0, NAME_CHARS_MAX));
  return names.length > NAMES_MAX ? `${listed.join(", ")} and ${names.length - NAMES_MAX} more` : listed.join(", ");
}
