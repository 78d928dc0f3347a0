import { envelopeOf, type Fault } from "../../contract/faults.ts";
import type { Surface } from "../../domain/record/record.ts";
import type { ResponseCompleteness } from "../../domain/responses/response-store.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import { ClientDisconnected, type Exchange, principalOf, type ResponseSink } from "../exchange.ts";
import { toFault } from "../to-fault.ts";
import { type AdmittedRequest, admit, firstEncodingError, waitForSlot } from "./admit.ts";
import { AttemptStage } from "./attempt.ts";
import {
  type DecodedRequest,
  type ReceivedRequest,
  type RequestSource,
  receivedBody,
  traceUndecoded,
  withCapture,
} from "./decode.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { claimIdempotencyKey, hasIdempotencyKey, replayResponse } from "./idempotent-replay.ts";
import type { InferenceRequest } from "./inference-request.ts";
import { rejectLoop } from "./loop-detection.ts";
import { isTooLong, planRequest } from "./plan.ts";
import { RequestTrace } from "./request-trace.ts";
import type { ServedAttempt } from "./retry-loop.ts";
import { disconnectedRecord, SettledFault, settle, settleTakenOver, settleUncharged } from "./settle.ts";

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
  const trace = new RequestTrace(exchange, principalOf(exchange), surface, gateway.clock);
  const recorder = gateway.captures.begin(surface, trace.requestId, trace.principal);
  let hasSlot = false;
  let received: ReceivedRequest | undefined;
  let decoded: DecodedRequest | undefined;
  /** Set between plan and admission. */
  let unadmitted: { readonly request: InferenceRequest; readonly plan: Plan } | undefined;
  try {
    rejectLoop(trace.hops, gateway.loopDetection.mark);
    received = typeof source === "function" ? receivedBody(await exchange.body(), source) : await source.upload();
    if (hasIdempotencyKey(exchange)) {
      const first = await claimIdempotencyKey(gateway, trace, exchange, received.requestFingerprint);
      if (first !== undefined) {
        const { loggableBody } = received;
        recorder?.optOut();
        traceUndecoded(trace, loggableBody);
        await gateway.beforeSettlement?.(trace.requestId, "partial");
        return await replayResponse({ gateway, trace, exchange, sink, surface, loggableBody }, first);
      }
    }

    recorder?.setRequest(received.loggableBody);
    const decoding = received.decode();
    decoded = decoding instanceof Promise ? await decoding : decoding;
    if (recorder !== undefined) decoded = withCapture(recorder, decoded, sink);

    gateway.recheckKey(exchange);
    let planned = planRequest(gateway, trace, surface, decoded.request);
    if (isTooLong(planned.plan) && decoded.request.withCountedInput !== undefined) {
      // The size is an estimate: an exact count decides.
      decoded = { ...decoded, request: await decoded.request.withCountedInput(gateway.tokenCounter) };
      gateway.recheckKey(exchange);
      planned = planRequest(gateway, trace, surface, decoded.request);
    }
    const { plan, currentPolicy, changedRouter } = planned;
    if (plan.is === "refused") throw plan.fault;
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

    await attemptAndSettle({
      gateway,
      trace,
      exchange,
      sink: decoded.sink ?? sink,
      decoded,
      plan,
      currentPolicy,
      changedRouter,
      deadlineMs,
    });
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
    const served = await attempting;
    await (refusal === undefined ? settle(request, stage, served) : settleTakenOver(request, served.outcome, refusal));
  } finally {
    stage.stop();
  }
}

function completenessOf({ outcome: { is } }: ServedAttempt): ResponseCompleteness {
  return is === "complete" || is === "relayed" ? "complete" : "partial";
}

const RESOURCE_STATUSES: ReadonlySet<number> = new Set([402, 429]);
