import { envelopeOf, type Fault, fault } from "../../contract/faults.ts";
import { chargedKeyUseOf } from "../../domain/admission/idempotency.ts";
import type { RequestRecord, UsageRecord } from "../../domain/record/record.ts";
import { type Attempt, isOwnResource } from "../../domain/routing/attempt.ts";
import type { FailureVerdict } from "../../io/upstream/classify-failure.ts";
import type { ReplyStream, ReportedCost, StreamedReply } from "../../language/canon/reply.ts";
import { toFault } from "../to-fault.ts";
import type { AdmittedRequest } from "./admit.ts";
import type { AttemptStage } from "./attempt.ts";
import type { EndedAttempt } from "./attempt-outcome.ts";
import { computeCharge, type MeteredUsage, type UsageContext } from "./charge.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { recordStats, recordUncharged } from "./record.ts";
import type { RequestTrace } from "./request-trace.ts";
import type { ServedAttempt } from "./retry-loop.ts";

/** The status of a client that disconnected before the response was complete; it appears in the log only. */
const CLIENT_DISCONNECTED = { status: 499, errorCode: "client_disconnected" } as const;

export function disconnectedRecord(trace: RequestTrace): RequestRecord {
  return trace.finishedRecord({ ...CLIENT_DISCONNECTED, usage: null, charge: null });
}

/** A fault of a request that is already settled and charged. */
export class SettledFault extends Error {
  readonly fault: Fault;

  constructor(problem: Fault) {
    super(problem.message);
    this.fault = problem;
  }
}

export type SettlementDeps = Pick<GatewayDeps, "journal" | "state" | "onRequestFinished" | "onNotice">;

/** `shown` is undefined when nothing was charged. */
export type Settlement = { readonly usage: UsageRecord; readonly shown: ReportedCost | undefined };

export type ChargedEnd = {
  readonly status: number;
  readonly errorCode: string | null;
  /** Awaited before the charge is journaled; must not fail. */
  readonly beforeCharge?: ((settlement: Settlement) => Promise<void>) | undefined;
};

/** The settle stage: charges or releases the hold by the outcome and ends the response. */
export function settle(request: AdmittedRequest, stage: AttemptStage, served: ServedAttempt): Promise<void> {
  const { attempt, outcome } = served;
  switch (outcome.is) {
    case "complete":
      return settleComplete(request, stage, attempt, outcome);
    case "relayed":
      return settleRelayed(request, stage, attempt, outcome);
    case "broken":
      return settleBroken(request, outcome.stream, brokenStreamFault(outcome.verdict));
    case "disconnected":
      return settleDisconnected(request, stage, attempt, outcome);
  }
}

/** Ends a response that another run of the same request took over: it breaks off uncharged. */
export function settleTakenOver(request: AdmittedRequest, outcome: EndedAttempt, refusal: Fault): Promise<void> {
  if (outcome.is === "complete" || outcome.stream === undefined) throw refusal;
  return settleBroken(request, outcome.stream, refusal);
}

async function settleComplete(
  request: AdmittedRequest,
  stage: AttemptStage,
  attempt: Attempt,
  { reply }: Extract<EndedAttempt, { is: "complete" }>,
): Promise<void> {
  const { gateway, trace, sink, decoded } = request;
  traceReply(trace, reply);
  if (sink.disconnected) return settleUncharged(gateway, trace, disconnectedRecord(trace));
  trace.markFirstByte();
  const { declined } = reply;
  const end = { status: declined?.status ?? 200, errorCode: declined?.code ?? null };
  const { usage, shown } = await settleCharged(gateway, trace, attempt, reply, usageContext(request, stage), end);
  recordStats(gateway, trace, attempt, usage, decoded.request.outline, stage.relay.pace);
  if (declined !== undefined) throw new SettledFault(declined);
  const body = reply.render(usage, shown);
  if (decoded.storeResponse !== undefined) await decoded.storeResponse(body, stage.responseHeaders());
  const headers = stage.responseHeaders();
  headers["content-type"] = reply.contentType ?? "application/json";
  headers["content-length"] = String(Buffer.byteLength(body));
  sink.start(200, headers);
  sink.end(body);
}

async function settleRelayed(
  request: AdmittedRequest,
  stage: AttemptStage,
  attempt: Attempt,
  { stream }: Extract<EndedAttempt, { is: "relayed" }>,
): Promise<void> {
  const { gateway, trace, exchange, sink, decoded } = request;
  traceReply(trace, stream);
  // The model had finished when the client disconnected, so the usage is complete and charged. A background job without
  // clients counts as a normal response.
  const isDisconnected = sink.disconnected && sink.unattended !== true;
  const end = isDisconnected ? CLIENT_DISCONNECTED : { status: 200, errorCode: null };
  try {
    const { close, beforeCharge } = streamClosing(stream, decoded.beforeSettle);
    const settlement = await settleCharged(gateway, trace, attempt, stream, usageContext(request, stage), {
      ...end,
      beforeCharge,
    });
    recordStats(gateway, trace, attempt, settlement.usage, decoded.request.outline, stage.relay.pace);
    const lastFrames = close(settlement);
    if (decoded.storeResponse !== undefined && stream.finalJson !== undefined)
      await decoded.storeResponse(stream.finalJson, exchange.baseHeaders);
    sink.end(lastFrames);
  } catch (error) {
    await settleFailed(request, stream, error);
  }
}

/** Builds the last frames once: before the charge when the reply must be stored first, else after it. */
function streamClosing(
  stream: Pick<ReplyStream, "close" | "finalJson">,
  beforeSettle: ((final: string) => Promise<void>) | undefined,
): { close(settlement: Settlement): string; readonly beforeCharge: ChargedEnd["beforeCharge"] } {
  let lastFrames: string | undefined;
  const close = ({ usage, shown }: Settlement) => {
    lastFrames ??= stream.close(usage, shown);
    return lastFrames;
  };
  if (beforeSettle === undefined) return { close, beforeCharge: undefined };
  const beforeCharge = async (settlement: Settlement) => {
    close(settlement);
    if (stream.finalJson !== undefined) await beforeSettle(stream.finalJson);
  };
  return { close, beforeCharge };
}

/** The response head is sent, so the fault goes into the stream, and the hold is released here. */
async function settleFailed(request: AdmittedRequest, stream: StreamedReply, error: unknown): Promise<void> {
  const { gateway, trace } = request;
  const problem = toFault(error);
  await settleUncharged(gateway, trace, trace.refusedRecord(problem));
  await endBroken(request, stream, problem);
}

/**
 * A stream that broke after content was sent ends with an error frame and is not charged, whether the provider failed, the
 * deadline passed or the gateway stopped. Only a disconnecting client pays for partial output.
 */
async function settleBroken(request: AdmittedRequest, stream: StreamedReply, problem: Fault): Promise<void> {
  const { gateway, trace } = request;
  traceReply(trace, stream);
  await settleUncharged(
    gateway,
    trace,
    trace.finishedRecord({ status: 200, errorCode: problem.code, usage: null, charge: null }),
  );
  await endBroken(request, stream, problem);
}

async function endBroken(request: AdmittedRequest, stream: StreamedReply, problem: Fault): Promise<void> {
  const { trace, exchange, sink, decoded } = request;
  const lastFrames = stream.fail(envelopeOf(problem, trace.requestId));
  if (decoded.storeResponse !== undefined && stream.finalJson !== undefined)
    await decoded.storeResponse(stream.finalJson, exchange.baseHeaders);
  if (lastFrames === undefined) sink.abort();
  else sink.end(lastFrames);
}

/** Output that was sent before the disconnect is charged. */
async function settleDisconnected(
  request: AdmittedRequest,
  stage: AttemptStage,
  attempt: Attempt,
  { stream }: Extract<EndedAttempt, { is: "disconnected" }>,
): Promise<void> {
  const { gateway, trace, sink } = request;
  if (stream === undefined || !stage.relay.hasSentContent)
    return settleUncharged(gateway, trace, disconnectedRecord(trace));
  traceReply(trace, stream);
  const { usage, outputWeight, units, estimate, extraUses, promptCount } = stream;
  const metered: MeteredUsage = {
    usage,
    outputWeight,
    units,
    estimate,
    extraUses,
    promptCount,
    isUsagePartial: true,
  };
  try {
    await settleCharged(gateway, trace, attempt, metered, usageContext(request, stage), CLIENT_DISCONNECTED);
    // A client that only read too slowly is still connected.
    if (!sink.disconnected) await endBroken(request, stream, slowReaderFault());
  } catch (error) {
    await settleFailed(request, stream, error);
  }
}

function usageContext({ decoded }: AdmittedRequest, { adapter }: AttemptStage): UsageContext {
  return { inputTokens: decoded.request.inputTokens, ceiling: adapter?.maxUsage?.() };
}

function traceReply(trace: RequestTrace, { upstreamId, detail }: Pick<StreamedReply, "upstreamId" | "detail">): void {
  trace.upstreamId = upstreamId;
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
        "The gateway could not write the request into its journal, so it gives no answer and charges nothing. Try again shortly.",
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

/** The provider's own message is passed on only when it concerns the request itself. */
function brokenStreamFault(verdict: FailureVerdict): Fault {
  if (verdict.is === "stop") return verdict.fault;
  if (verdict.is === "busy") return streamBrokeFault();
  if (verdict.isPeerStopping === true) return verdict.finalFault;
  return verdict.finalFault.code === "upstream_timeout" ? silentProviderFault() : streamBrokeFault();
}

function slowReaderFault(): Fault {
  return fault("upstream_timeout", {
    message:
      "The answer was taken so slowly that the time of the request is up. What was sent so far is incomplete, and is charged. Read it faster, or ask for less at once.",
  });
}

function silentProviderFault(): Fault {
  return fault("upstream_timeout", {
    message: "The provider fell silent before its end. What was sent is incomplete and is not charged. Ask again.",
  });
}

function streamBrokeFault(): Fault {
  return fault("upstream_error", {
    message: "The provider's stream broke before its end. What was sent is incomplete and is not charged. Ask again.",
  });
}
