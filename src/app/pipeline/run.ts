import { envelopeOf } from "../../contract/error-envelope.ts";
import type { Fault } from "../../contract/faults.ts";
import type { Surface } from "../../domain/record/record.ts";
import type { ResponseCompleteness } from "../../domain/responses/response-store.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import {
  ClientDisconnected,
  type Exchange,
  type Handler,
  keylessRouteError,
  type ResponseSink,
  streamed,
} from "../exchange.ts";
import { toFault } from "../to-fault.ts";
import { admit } from "./admit.ts";
import { AttemptStage } from "./attempt.ts";
import type { ReplyRecorder } from "./caching/reply-recorder.ts";
import { receivedBody } from "./decode.ts";
import { firstEncodingError } from "./encoding-check.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { IDEMPOTENCY_KEY_HEADER, replayIfCharged } from "./idempotent-replay.ts";
import type { DecodedRequest, InferenceRequest, ReceivedRequest, RequestSource } from "./inference-request.ts";
import { inspectContent } from "./inspect-content.ts";
import { rejectLoop } from "./loop-detection.ts";
import { isTooLong, planRequest } from "./plan.ts";
import type { AdmittedRequest } from "./planned-request.ts";
import { RequestTrace } from "./record.ts";
import type { ServedAttempt } from "./retry-loop.ts";
import { settleComplete, settleUncharged } from "./settle.ts";
import { settleStream, settleTakenOver } from "./settle-stream.ts";
import { disconnectedRecord, SettledFault } from "./settled-end.ts";
import { traceUndecoded } from "./trace-undecoded.ts";
import { waitForSlot } from "./wait-for-slot.ts";
import { withCapture } from "./with-capture.ts";

/** The handler of an inference route. */
export function inferenceHandler(gateway: GatewayDeps, surface: Surface, source: RequestSource): Handler {
  return streamed((exchange, sink) => run(gateway, surface, exchange, sink, source));
}

/**
 * One request through the stages: decode, plan, admit, attempt (which relays the response), settle, record. The edge has
 * authenticated it. Every request is recorded, however it ends.
 */
export async function run(
  gateway: GatewayDeps,
  surface: Surface,
  exchange: Exchange,
  sink: ResponseSink,
  source: RequestSource,
): Promise<void> {
  const { principal } = exchange;
  if (principal === undefined) throw keylessRouteError(exchange);
  const trace = new RequestTrace(exchange, principal, surface, gateway.clock);
  const recorder =
    gateway.captures.openFor(principal.workspace.id) && gateway.captures.begin(surface, trace.requestId, principal);
  let hasSlot = false;
  let replyRecorder: ReplyRecorder | undefined;
  let received: ReceivedRequest | undefined;
  let decoded: DecodedRequest | undefined;
  /** Set between plan and admission. */
  let unadmitted: { readonly request: InferenceRequest; readonly plan: Plan } | undefined;
  try {
    const { hops } = trace;
    if (hops.length > 0) rejectLoop(hops, gateway.loopDetection.mark);
    received =
      typeof source === "function"
        ? receivedBody(exchange, await exchange.body(), source)
        : await source.upload(exchange);
    if (
      exchange.headers[IDEMPOTENCY_KEY_HEADER] !== undefined &&
      (await replayIfCharged({ gateway, trace, exchange, sink, surface }, received, recorder))
    )
      return;

    recorder?.setRequest(received.loggableBody);
    const decoding = received.decode();
    decoded = decoding instanceof Promise ? await decoding : decoding;
    if (recorder !== undefined) decoded = withCapture(recorder, decoded, sink);

    gateway.recheckKey(exchange);
    let planned = planRequest(gateway, trace, surface, decoded.request);
    if (planned.isUninspected) {
      await inspectContent(gateway, planned, trace.principal.workspace.id);
      gateway.recheckKey(exchange);
      planned = planRequest(gateway, trace, surface, decoded.request, planned.inspected);
    }
    if (isTooLong(planned.plan) && decoded.request.withCountedInput !== undefined) {
      // The size is an estimate: an exact count decides.
      decoded = { ...decoded, request: await decoded.request.withCountedInput(gateway.tokenCounter) };
      gateway.recheckKey(exchange);
      planned = planRequest(gateway, trace, surface, decoded.request, planned.inspected);
    }
    const { plan, cacheRule } = planned;
    if (plan.is === "refused") throw plan.fault;
    const request = { ...planned, plan, trace, exchange, decoded, sink: decoded.sink ?? sink };
    if (cacheRule !== undefined) {
      const { openCaching } = await import("./caching/open-caching.ts");
      const caching = await openCaching({ ...request, cacheRule, gateway, body: received.loggableBody });
      if (caching === "served") return;
      replyRecorder = caching;
    }
    unadmitted = { request: decoded.request, plan };

    const admitting = admit(gateway, trace, plan, decoded.request);
    if (admitting instanceof Promise) await admitting;
    const deadlineMs = gateway.clock.monotonicMs() + gateway.limits.requestTimeoutMs;
    if (gateway.queue.tryEnter() === "wait") {
      if ((await waitForSlot(gateway, trace, sink)) === "left")
        return await settleUncharged(gateway, trace, disconnectedRecord(trace));
      hasSlot = true;
      gateway.recheckKey(exchange);
    }
    hasSlot = true;
    unadmitted = undefined;
    if (decoded.onAdmitted !== undefined) await decoded.onAdmitted();

    await attemptAndSettle({ ...request, gateway: replyRecorder?.gateway ?? gateway, deadlineMs });
  } catch (error) {
    if (decoded === undefined && received !== undefined) traceUndecoded(trace, received.loggableBody);
    const found = error instanceof SettledFault ? error.fault : toFault(error);
    // An invalid request is reported before missing funds or capacity.
    const problem =
      (RESOURCE_STATUSES.has(found.status) && unadmitted && firstEncodingError(exchange, trace, unadmitted)) || found;
    if (!(error instanceof SettledFault)) {
      await gateway.beforeSettlement?.(trace.requestId, "partial");
      const record = error instanceof ClientDisconnected ? disconnectedRecord(trace) : trace.refusedRecord(problem);
      await settleUncharged(gateway, trace, record);
    }
    recorder?.setResponse(JSON.stringify(envelopeOf(problem, trace.requestId)));
    throw decoded?.toCallerParameterNames?.(problem) ?? problem;
  } finally {
    if (hasSlot) gateway.queue.leave();
    replyRecorder?.finish();
    recorder?.finish();
    received?.dispose?.();
    if (trace.idempotencyClaim !== undefined)
      await gateway.state.releaseClaim(trace.idempotencyClaim.key, trace.requestId);
  }
}

async function attemptAndSettle(request: AdmittedRequest): Promise<void> {
  const { beforeSettlement } = request.gateway;
  const stage = new AttemptStage(request);
  try {
    const attempting = stage.run();
    const refusal: Fault | undefined =
      beforeSettlement &&
      (await beforeSettlement(
        request.trace.requestId,
        await attempting.then(completenessOf, () => "partial" as const),
      ));
    const { attempt, outcome } = await attempting;
    if (refusal !== undefined) await settleTakenOver(request, outcome, refusal);
    else if (outcome.is === "complete") await settleComplete(request, stage, attempt, outcome);
    else await settleStream(request, stage, attempt, outcome);
  } finally {
    stage.stop();
  }
}

function completenessOf({ outcome: { is } }: ServedAttempt): ResponseCompleteness {
  return is === "complete" || is === "relayed" ? "complete" : "partial";
}

const RESOURCE_STATUSES: ReadonlySet<number> = new Set([402, 429]);
