import { envelopeOf, Fault } from "../../contract/faults.ts";
import { MODEL_NAME_CHARS_MAX } from "../../contract/schemas/model-name.ts";
import type { Surface } from "../../domain/record/record.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import type { MaybePromise } from "../../kit/maybe-promise.ts";
import { ClientDisconnected, type Exchange, principalOf, type ResponseSink } from "../exchange.ts";
import { tryParseJson } from "../request-input.ts";
import { toFault } from "../to-fault.ts";
import { admit } from "./admit.ts";
import { AdmittedRequest, SettledFault } from "./admitted-request.ts";
import type { CaptureRecorder } from "./capture-recorder.ts";
import { disconnectedRecord } from "./client-gone.ts";
import type { DecodedRequest } from "./decoded.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { claimIdempotencyKey, hasIdempotencyKey, replayResponse } from "./idempotent-replay.ts";
import { type InferenceRequest, responseHeadFor } from "./inference-request.ts";
import { rejectLoop } from "./loop-detection.ts";
import { requireModelId } from "./named-model.ts";
import { isTooLong, type PlannedRequest, planOutline } from "./plan.ts";
import { type PricingTerms, RequestTrace } from "./request-trace.ts";
import { settleUncharged } from "./settle.ts";
import { waitForSlot } from "./wait.ts";

/** How a request is read: from its whole body, or from an upload. */
export type RequestSource =
  | ((body: Buffer) => MaybePromise<DecodedRequest>)
  | { readonly upload: () => Promise<ReceivedRequest> };

export type ReceivedRequest = {
  /** What a capture window may keep of it: of an upload its fields alone. */
  readonly loggableBody: Buffer;
  /** Two requests are the same when these bytes are. */
  readonly requestFingerprint: Buffer;
  decode(): MaybePromise<DecodedRequest>;
  /** Called when the request is over, however it ended: what it arrived with is let go. */
  dispose?(): void;
};

function receivedBody(body: Buffer, reading: (body: Buffer) => MaybePromise<DecodedRequest>): ReceivedRequest {
  return { loggableBody: body, requestFingerprint: body, decode: () => reading(body) };
}

/** One request, all the way: decode → plan → admit → queue → attempt → relay → settle. Whatever happens is recorded. */
export async function run(
  gateway: GatewayDeps,
  surface: Surface,
  exchange: Exchange,
  sink: ResponseSink,
  reading: RequestSource,
): Promise<void> {
  const trail = new RequestTrace(exchange, principalOf(exchange), surface, gateway.clock);
  const capturing = gateway.captures.begin(surface, trail.requestId, trail.principal);
  let place: "none" | "taken" = "none";
  let arrived: ReceivedRequest | undefined;
  let decoded: DecodedRequest | undefined;
  let waiting: Waiting | undefined;
  try {
    rejectLoop(trail.hops, gateway.loopDetection.mark);
    arrived = typeof reading === "function" ? receivedBody(await exchange.body(), reading) : await reading.upload();
    if (hasIdempotencyKey(exchange)) {
      const first = await claimIdempotencyKey(gateway, trail, exchange, arrived.requestFingerprint);
      if (first !== undefined) {
        capturing?.optOut();
        traceUndecoded(trail, arrived.loggableBody);
        await gateway.beforeSettlement?.(trail.requestId, "less");
        return await replayResponse(
          { gateway, trail, exchange, sink, surface, loggableBody: arrived.loggableBody },
          first,
        );
      }
    }
    capturing?.setRequest(arrived.loggableBody);
    const soon = arrived.decode();
    decoded = soon instanceof Promise ? await soon : soon;
    if (capturing !== undefined) decoded = withCapture(capturing, decoded, sink);
    gateway.recheckKey(exchange);
    let planned = planRequest(gateway, trail, surface, decoded.request);
    if (isTooLong(planned.plan) && decoded.request.withCountedInput !== undefined) {
      // An estimate is no reason to refuse what can be counted.
      decoded = { ...decoded, request: await decoded.request.withCountedInput(gateway.tokenCounter) };
      gateway.recheckKey(exchange);
      planned = planRequest(gateway, trail, surface, decoded.request);
    }
    const { plan, currentPolicy, changedRouter } = planned;
    const { request } = decoded;
    if (plan.is === "refused") throw plan.fault;
    waiting = { errand: request, plan };
    const admitting = admit(gateway, trail, plan, request);
    if (admitting instanceof Promise) await admitting;
    const deadlineMs = gateway.clock.monotonicMs() + gateway.limits.requestTimeoutMs;
    if (gateway.queue.tryEnter() === "wait") {
      if ((await waitForSlot(gateway, trail, sink)) === "left")
        return await settleUncharged(gateway, trail, disconnectedRecord(trail));
      place = "taken";
      gateway.recheckKey(exchange);
    }
    place = "taken";
    waiting = undefined;
    if (decoded.onAdmitted !== undefined) await decoded.onAdmitted();
    const admitted = { plan, policyNow: currentPolicy, otherRouter: changedRouter, deadlineMs };
    await new AdmittedRequest(gateway, trail, exchange, decoded.sink ?? sink, decoded, admitted).serve();
  } catch (error) {
    if (decoded === undefined && arrived !== undefined) traceUndecoded(trail, arrived.loggableBody);
    const found = problemOf(error);
    // What is wrong with the request itself is said before what it wants in money or room.
    const problem = (WANTING.has(found.status) && waiting && firstEncodingError(exchange, trail, waiting)) || found;
    if (!(error instanceof SettledFault)) {
      await gateway.beforeSettlement?.(trail.requestId, "less");
      await settleUncharged(
        gateway,
        trail,
        error instanceof ClientDisconnected ? disconnectedRecord(trail) : trail.refusedRecord(problem),
      );
    }
    capturing?.setResponse(JSON.stringify(envelopeOf(problem, trail.requestId)));
    throw decoded?.toCallerParameterNames?.(problem) ?? problem;
  } finally {
    if (place === "taken") gateway.queue.leave();
    capturing?.finish();
    arrived?.dispose?.();
    if (trail.idempotencyClaim !== undefined)
      await gateway.state.releaseClaim(trail.idempotencyClaim.key, trail.requestId);
  }
}

/** What the log says of a request that is not decoded: as it was sent, right or wrong. What is too long is no name. */
export function traceUndecoded(trail: RequestTrace, asked: Buffer): void {
  const { model, stream } = tryParseJson(asked) ?? {};
  if (typeof model === "string" && model.length <= MODEL_NAME_CHARS_MAX) trail.modelRequested = model;
  trail.streaming = stream === true;
}

/** The same request, listened to for the capture window it is in. */
function withCapture(capturing: CaptureRecorder, decoded: DecodedRequest, sink: ResponseSink): DecodedRequest {
  const { provider } = decoded.request.outline.routingHints ?? {};
  if (provider?.zeroDataRetention === true) capturing.optOut();
  const { storeResponse } = decoded;
  if (decoded.sink === undefined || storeResponse === undefined)
    return { ...decoded, sink: capturing.wrapSink(decoded.sink ?? sink) };
  return {
    ...decoded,
    sink: capturing.wrapSink(decoded.sink),
    // Who asked for work in the background is shown its whole answer in the end.
    storeResponse(final, headers) {
      capturing.setResponse(final);
      return storeResponse(final, headers);
    },
  };
}

function planRequest(
  gateway: GatewayDeps,
  trail: RequestTrace,
  surface: Surface,
  errand: InferenceRequest,
): PlannedRequest {
  trail.modelRequested = errand.outline.model;
  trail.streaming = errand.streaming;
  trail.detail = errand.detail;
  requireModelId(errand.outline.model, surface);
  const { workspace, key } = trail.principal;
  const planned = planOutline(gateway, { surface, workspace, keyId: key.id, outline: errand.outline });
  trail.plan = planned.plan;
  // In the same turn as the plan: a rate or a margin that changes now is for the next request.
  trail.terms = pricingTermsFor(gateway, workspace.id, errand);
  return planned;
}

const WANTING: ReadonlySet<number> = new Set([402, 429]);

/** A request with a plan, as long as money or room may still be wanting for it. */
type Waiting = { readonly errand: InferenceRequest; readonly plan: Plan };

/** Why no endpoint of the plan can be told the request; undefined when one can. */
function firstEncodingError(exchange: Exchange, trail: RequestTrace, { errand, plan }: Waiting): Fault | undefined {
  let first: Fault | undefined;
  for (const attempt of plan.attempts) {
    try {
      const { adapter } = errand.adapterFor(attempt, plan, responseHeadFor(exchange, trail, errand, attempt));
      if (adapter.subRequests === undefined) adapter.encode();
      return undefined;
    } catch (error) {
      if (!(error instanceof Fault)) return undefined;
      first ??= error;
    }
  }
  return first;
}

function pricingTermsFor(
  gateway: GatewayDeps,
  workspaceId: string,
  { outline: { requirements } }: InferenceRequest,
): PricingTerms {
  const { extras, maxOutputTokens } = requirements;
  const limited = maxOutputTokens === undefined ? "no" : "yes";
  return { currencies: gateway.snapshot().currencies, margin: gateway.margins.marginFor(workspaceId), extras, limited };
}

function problemOf(error: unknown): Fault {
  return error instanceof SettledFault ? error.fault : toFault(error);
}
