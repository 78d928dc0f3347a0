import { envelopeOf } from "../../contract/error-envelope.ts";
import { type Fault, type FaultDetail, fault } from "../../contract/faults.ts";
import type { Surface } from "../../domain/record/record.ts";
import type { Attempt } from "../../domain/routing/reachable-endpoint.ts";
import type { FailureVerdict } from "../../io/upstream/classify-failure.ts";
import type { ReplyStream, StreamedReply } from "../../language/canon/reply.ts";
import { toFault } from "../to-fault.ts";
import type { AttemptStage } from "./attempt.ts";
import type { EndedAttempt } from "./attempt-outcome.ts";
import type { ChargedEnd, MeteredUsage, Settlement } from "./metered-usage.ts";
import type { AdmittedRequest } from "./planned-request.ts";
import { recordStats } from "./record.ts";
import { settleCharged, settleUncharged, traceReply, usageContext } from "./settle.ts";
import { CLIENT_DISCONNECTED, disconnectedRecord } from "./settled-end.ts";

/** The settle stage of a streamed or abandoned response: charges or releases the hold by the outcome and ends the stream. */
export function settleStream(
  request: AdmittedRequest,
  stage: AttemptStage,
  attempt: Attempt,
  outcome: Exclude<EndedAttempt, { is: "complete" }>,
): Promise<void> {
  if (outcome.is === "relayed") return settleRelayed(request, stage, attempt, outcome);
  if (outcome.is === "broken")
    return settleBroken(request, outcome.stream, brokenStreamFault(outcome.verdict, request.trace.surface));
  return outcome.is === "withheld"
    ? settlePartly(request, stage, attempt, { stream: outcome.stream, end: WITHHELD, reason: outcome.fault })
    : settleDisconnected(request, stage, attempt, outcome);
}

/** Ends a response that another run of the same request took over: it breaks off uncharged. */
export function settleTakenOver(request: AdmittedRequest, outcome: EndedAttempt, refusal: Fault): Promise<void> {
  if (outcome.is === "complete" || outcome.stream === undefined) throw refusal;
  return settleBroken(request, outcome.stream, refusal);
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
  const end: Pick<ChargedEnd, "status"> & { errorCode: string | null } = isDisconnected
    ? { ...CLIENT_DISCONNECTED }
    : { status: 200, errorCode: null };
  try {
    const { close, beforeCharge } = streamClosing(stream, decoded.beforeSettle, () => {
      if (stream.detail !== undefined) trace.detail = { ...trace.detail, ...stream.detail };
      end.errorCode ??= stream.withheld?.code ?? null;
    });
    const closing = Object.assign(end, { beforeCharge });
    const settlement = await settleCharged(gateway, trace, attempt, stream, usageContext(request, stage), closing);
    recordStats(gateway, trace, attempt, settlement.usage, decoded.request.outline, stage.relay.pace);
    const lastFrames = close(settlement);
    if (stream.withheld !== undefined) {
      sink.write(lastFrames);
      return await endBroken(request, stream, stream.withheld);
    }
    if (decoded.storeResponse !== undefined && stream.finalJson !== undefined)
      await decoded.storeResponse(stream.finalJson, exchange.baseHeaders);
    sink.end(lastFrames);
  } catch (error) {
    await settleFailed(request, stream, error);
  }
}

/** Builds the last frames once: before the charge when the reply must be stored first, else after it. */
function streamClosing(
  stream: Pick<ReplyStream, "close" | "finalJson" | "judgesLastFrames">,
  beforeSettle: ((final: string) => Promise<void>) | undefined,
  judged: () => void,
): { close(settlement: Settlement): string; readonly beforeCharge: ChargedEnd["beforeCharge"] } {
  let lastFrames: string | undefined;
  const close = ({ usage, shown }: Settlement) => {
    lastFrames ??= stream.close(usage, shown);
    return lastFrames;
  };
  if (beforeSettle === undefined && stream.judgesLastFrames !== true) return { close, beforeCharge: undefined };
  const beforeCharge = async (settlement: Settlement) => {
    close(settlement);
    judged();
    if (stream.finalJson !== undefined) await beforeSettle?.(stream.finalJson);
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
  const dialect = trace.surface === "messages" ? trace.surface : undefined;
  const lastFrames = stream.fail(envelopeOf(problem, trace.requestId, dialect));
  if (decoded.storeResponse !== undefined && stream.finalJson !== undefined)
    await decoded.storeResponse(stream.finalJson, exchange.baseHeaders);
  if (lastFrames === undefined) return sink.abort();
  if (stream.cutsWhenFailed !== true) return sink.end(lastFrames);
  sink.write(lastFrames);
  // The bytes leave the process before the connection is destroyed.
  setImmediate(() => sink.abort());
}

/** Output that was sent before the disconnect is charged. */
async function settleDisconnected(
  request: AdmittedRequest,
  stage: AttemptStage,
  attempt: Attempt,
  { stream }: Extract<EndedAttempt, { is: "disconnected" }>,
): Promise<void> {
  const { gateway, trace } = request;
  if (stream === undefined || !stage.relay.hasSentContent)
    return settleUncharged(gateway, trace, disconnectedRecord(trace));
  // A client that only read too slowly is still connected.
  return settlePartly(request, stage, attempt, { stream, end: CLIENT_DISCONNECTED, reason: slowReaderFault() });
}

type PartlyServed = {
  readonly stream: StreamedReply;
  readonly end: Pick<ChargedEnd, "status" | "errorCode">;
  /** For a client that is still connected. */
  readonly reason: Fault;
};

const WITHHELD = { status: 200, errorCode: "data_class_not_permitted" } as const;

/** Charges what the model wrote until its stream was ended. */
async function settlePartly(
  request: AdmittedRequest,
  stage: AttemptStage,
  attempt: Attempt,
  { stream, end, reason }: PartlyServed,
): Promise<void> {
  const { gateway, trace, sink } = request;
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
    await settleCharged(gateway, trace, attempt, metered, usageContext(request, stage), end);
    if (!sink.disconnected) await endBroken(request, stream, reason);
  } catch (error) {
    await settleFailed(request, stream, error);
  }
}

/** The provider's own message is passed on only when it concerns the request itself. */
function brokenStreamFault(verdict: FailureVerdict, surface: Surface): Fault {
  if (verdict.is === "stop") return verdict.fault;
  if (verdict.is === "busy") return streamBrokeFault({});
  const { finalFault } = verdict;
  if (verdict.isPeerStopping === true) return finalFault;
  if (finalFault.code === "upstream_timeout") return silentProviderFault();
  // A failed response states it as its code; the other surfaces have one code for a stream that broke.
  const isLimited = surface === "responses" && finalFault.code === "rate_limit_exceeded";
  return isLimited ? limitedStreamFault(finalFault) : streamBrokeFault(finalFault);
}

function slowReaderFault(): Fault {
  return fault("upstream_timeout", {
    message:
      "The response was read so slowly that the request deadline passed. The part sent so far is incomplete and is charged. Read faster, or send a smaller request.",
  });
}

function silentProviderFault(): Fault {
  return fault("upstream_timeout", {
    message:
      "The provider stopped sending before the end of the response. The part sent so far is incomplete and is not charged. Retry.",
  });
}

function limitedStreamFault({ headers }: Fault): Fault {
  return fault("rate_limit_exceeded", {
    message:
      "The provider reached its rate limit before the end of the response. The part sent so far is incomplete and is not charged. Retry shortly.",
    headers,
  });
}

function streamBrokeFault({ upstream, messagesType }: Pick<FaultDetail, "upstream" | "messagesType">): Fault {
  return fault("upstream_error", {
    message:
      "The provider's stream failed before the end of the response. The part sent so far is incomplete and is not charged. Retry.",
    upstream,
    messagesType,
  });
}
