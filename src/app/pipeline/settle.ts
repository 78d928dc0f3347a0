import { fault } from "../../contract/faults.ts";
import { chargedKeyUseOf } from "../../domain/admission/idempotency.ts";
import { type Charge, chargeFor } from "../../domain/billing/charge.ts";
import { ImpossibleUsage } from "../../domain/billing/charge-errors.ts";
import { inputOnlyPrice } from "../../domain/billing/tariff.ts";
import type { RequestRecord, UsageRecord } from "../../domain/record/record.ts";
import { isOwnResource } from "../../domain/routing/plan.ts";
import type { Attempt } from "../../domain/routing/reachable-endpoint.ts";
import type { OperatorEvent } from "../../io/telemetry/operator-events.ts";
import type { StreamedReply } from "../../language/canon/reply.ts";
import { isImplausibleUsage, unitCounts } from "../../language/canon/tokens.ts";
import { NO_CEILING } from "../../language/canon/usage-ceiling.ts";
import type { AttemptStage } from "./attempt.ts";
import type { EndedAttempt } from "./attempt-outcome.ts";
import {
  type ChargedEnd,
  capCharge,
  estimatedUsage,
  type MeteredUsage,
  type Settlement,
  type SettlementDeps,
  type UsageContext,
  usedExtras,
  withoutReportedUsage,
} from "./metered-usage.ts";
import type { AdmittedRequest } from "./planned-request.ts";
import { type RequestTrace, recordStats, recordUncharged } from "./record.ts";
import { renderBeforeCharge } from "./render-before-charge.ts";
import { disconnectedRecord, SettledFault } from "./settled-end.ts";

/** The settle stage of a buffered response: charges it, then sends it. */
export async function settleComplete(
  request: AdmittedRequest,
  stage: AttemptStage,
  attempt: Attempt,
  { reply }: Extract<EndedAttempt, { is: "complete" }>,
): Promise<void> {
  const { gateway, trace, sink, decoded } = request;
  traceReply(trace, reply);
  if (sink.disconnected) return settleUncharged(gateway, trace, disconnectedRecord(trace));
  trace.markFirstByte();
  const refused = reply.declined ?? reply.withheld;
  const early = refused === undefined && decoded.beforeSettle && renderBeforeCharge(reply, decoded.beforeSettle);
  const { beforeCharge } = early || {};
  const end = { status: refused?.status ?? 200, errorCode: refused?.code ?? null, beforeCharge };
  const { usage, shown } = await settleCharged(gateway, trace, attempt, reply, usageContext(request, stage), end);
  recordStats(gateway, trace, attempt, usage, decoded.request.outline, stage.relay.pace);
  if (refused !== undefined) throw new SettledFault(refused);
  const inSlices = early ? early.rendered : reply.renderInSlices?.(usage, shown);
  const body = inSlices === undefined ? reply.render(usage, shown) : await inSlices;
  if (decoded.storeResponse !== undefined) await decoded.storeResponse(body, stage.responseHeaders());
  const headers = stage.responseHeaders();
  headers["content-type"] = reply.contentType ?? "application/json";
  headers["content-length"] = String(Buffer.byteLength(body));
  sink.start(200, headers);
  sink.end(body);
}

export function usageContext({ decoded }: AdmittedRequest, { adapter }: AttemptStage): UsageContext {
  return { inputTokens: decoded.request.inputTokens, ceiling: adapter?.maxUsage?.() };
}

export function traceReply(
  trace: RequestTrace,
  { upstreamId, detail, omitted }: Pick<StreamedReply, "upstreamId" | "detail" | "omitted">,
): void {
  trace.upstreamId = upstreamId;
  if (omitted !== undefined) trace.omitted = [...trace.omitted, ...omitted];
  if (detail !== undefined) trace.detail = { ...trace.detail, ...detail };
}

/**
 * Charges a request. The journal has the record before the caller sends the last bytes, so every response that a client
 * received completely is charged.
 */
export async function settleCharged(
  gateway: SettlementDeps,
  trace: RequestTrace,
  attempt: Attempt,
  metered: MeteredUsage,
  context: UsageContext,
  end: ChargedEnd,
): Promise<Settlement> {
  const { usage, charge, replaced } = computeCharge(trace, attempt, metered, context);
  const isOwnKey = attempt.ownKey !== undefined;
  const { id: endpoint, provider } = attempt.endpoint;
  const cost = { cost: Number(charge.nanos) / 1e9, currency: charge.record.currency };
  const settlement: Settlement = { usage, shown: isOwnKey ? undefined : cost };
  if (end.beforeCharge !== undefined) await end.beforeCharge(settlement);
  const record = trace.finishedRecord({
    status: end.status,
    errorCode: end.errorCode,
    usage,
    charge: isOwnKey ? null : charge.record,
  });
  try {
    await gateway.journal.append({ t: "done", record });
  } catch (cause) {
    await gateway.state.settle(trace.hold, 0n);
    throw fault("service_unavailable", {
      message:
        "The gateway could not write its journal, so the response is withheld and nothing is charged. Try again shortly.",
      headers: { "retry-after": "5" },
      detail: { cause: String(cause) },
    });
  }
  const settling = gateway.state.settle(trace.hold, isOwnKey ? 0n : charge.nanos);
  if (settling instanceof Promise) await settling;
  const use = record.idempotency && chargedKeyUseOf(record);
  if (use !== undefined) await gateway.state.recordKeyUse(use);
  // Own keys and nodes are not charged, and the operator cannot fix their usage reports.
  if (replaced !== undefined && !isOwnResource(attempt))
    gateway.onNotice({ is: "usage_replaced", endpoint, provider, why: replaced, requestId: trace.requestId });
  gateway.onRequestFinished(record);
  return settlement;
}

/** Releases the hold of a request that is not charged, and records why. */
export async function settleUncharged(
  gateway: SettlementDeps,
  trace: RequestTrace,
  record: RequestRecord,
): Promise<void> {
  await gateway.state.settle(trace.hold, 0n);
  await recordUncharged(gateway, record);
}

type ReplacementReason = Extract<OperatorEvent, { is: "usage_replaced" }>["why"];

type ComputedCharge = {
  readonly usage: UsageRecord;
  readonly charge: Charge;
  /** Set when an estimate replaces the provider's usage. */
  readonly replaced: ReplacementReason | undefined;
};

/** Prices the usage; missing or implausible usage is replaced by an estimate. */
function computeCharge(
  trace: RequestTrace,
  attempt: Attempt,
  metered: MeteredUsage,
  context: UsageContext,
): ComputedCharge {
  const { currencies, margin, extras, hasOutputLimit } = trace.terms;
  const { currency } = trace.principal.workspace;
  const isPlausible = isPlausibleUsage(metered, attempt, context);
  const isRejected = metered.isUsageRejected === true || (metered.usage !== undefined && !isPlausible);
  const replaced = isRejected ? "impossible" : isUsageMissing(metered) ? "none" : undefined;
  const tokens = billableUsage(isPlausible ? metered : withoutReportedUsage(metered), context.inputTokens);
  const used = extras === undefined ? undefined : usedExtras(extras, attempt, metered.extraUses);
  const usage = used === undefined ? tokens : { ...tokens, extras: used };
  const price = metered.declined === undefined ? attempt.price : inputOnlyPrice(attempt.price);
  try {
    const charge = chargeFor(usage, price, currencies, currency, margin);
    // Without an output limit the hold is no upper bound, and a disconnect before the usage arrives must not save money.
    if (!hasOutputLimit && !isRejected) return { usage, charge, replaced };
    return { usage, charge: usage.estimated ? capCharge(charge, trace.heldNanos) : charge, replaced };
  } catch (error) {
    if (!(error instanceof ImpossibleUsage) || !isPlausible) throw error;
    return computeCharge(trace, attempt, withoutReportedUsage(metered), context);
  }
}

function isPlausibleUsage(
  metered: MeteredUsage,
  { endpoint, model }: Attempt,
  { ceiling = NO_CEILING }: UsageContext,
): boolean {
  const { usage, promptCount, promptReads = promptCount } = metered;
  const contextTokens = endpoint.limits.contextTokens ?? model.contextTokens;
  if (usage === undefined) return false;
  return !isImplausibleUsage({ usage, outputWeight: () => metered.outputWeight, promptReads }, contextTokens, ceiling);
}

function isUsageMissing({ usage, units, isUsagePartial }: MeteredUsage): boolean {
  return usage === undefined && units === undefined && isUsagePartial !== true;
}

/** The provider's usage, or the gateway's estimate marked as such. */
function billableUsage(metered: MeteredUsage, inputTokensEstimate: number): UsageRecord {
  const { usage, promptCount = 1, units } = metered;
  if (usage === undefined || metered.isUsagePartial === true) return estimatedUsage(metered, inputTokensEstimate);
  const counts = unitCounts(units);
  return { ...usage, ...(promptCount > 1 ? { inputs: promptCount } : {}), ...counts, estimated: false };
}
