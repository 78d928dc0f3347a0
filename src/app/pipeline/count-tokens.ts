import { Fault } from "../../contract/faults.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import type { Attempt } from "../../domain/routing/reachable-endpoint.ts";
import { isCountingUnsupported } from "../../io/upstream/count-tokens-adapter.ts";
import type { AdapterTarget, InboundRequest, UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";
import type { MaybePromise } from "../../kit/maybe-promise.ts";
import { cancelTimer } from "../../kit/timers.ts";
import { NO_EXTRAS } from "../../language/canon/extras.ts";
import { referencesStoredResources } from "../../language/canon/needs.ts";
import { expectedTextTokens } from "../../language/canon/tokens.ts";
import { NO_TOKENS } from "../../language/canon/usage.ts";
import { ClientDisconnected, type Exchange, principalOf, type ResponseSink } from "../exchange.ts";
import { toFault } from "../to-fault.ts";
import { runAttempt } from "./attempt.ts";
import type { AttemptResult, EndedAttempt } from "./attempt-outcome.ts";
import { chatOutline, estimateInput } from "./chat-request.ts";
import { countInput } from "./count-input.ts";
import type { DecodedChatRequest } from "./decode.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { inspectContent, traceInspection } from "./inspect-content.ts";
import { rejectLoop } from "./loop-detection.ts";
import { planOutline } from "./plan.ts";
import type { PlannedRequest, PlanningRequest } from "./planned-request.ts";
import { RequestTrace } from "./record.ts";
import { addInferenceHeaders, Relay } from "./relay.ts";
import { RetryLoop } from "./retry-loop.ts";
import { settleUncharged } from "./settle.ts";
import { disconnectedRecord } from "./settled-end.ts";
import { traceUndecoded } from "./trace-undecoded.ts";
import { waitForSlot } from "./wait-for-slot.ts";

/** What the counting routes of the dialects do differently. */
export type CountSurface<In extends InboundRequest> = {
  readonly surface: In["dialect"];
  decode(body: Buffer): DecodedChatRequest<In>;
  /** Undefined: the endpoint does not count. */
  adapterFor(inbound: In, target: AdapterTarget): UpstreamAdapter | undefined;
  /** The response to a count of the gateway's own. */
  render(inputTokens: number): string;
};

/**
 * Counts the input tokens of a request. It is planned like the request itself, so that policy applies; a planned
 * endpoint with a count API counts, otherwise the gateway does. Nothing is held or charged.
 */
export async function countTokens<In extends InboundRequest>(
  gateway: GatewayDeps,
  exchange: Exchange,
  sink: ResponseSink,
  counting: CountSurface<In>,
): Promise<void> {
  const { surface } = counting;
  const trace = new RequestTrace(exchange, principalOf(exchange), surface, gateway.clock);
  let hasSlot = false;
  let bytes: Buffer | undefined;
  let decoded: DecodedChatRequest<In> | undefined;
  try {
    rejectLoop(trace.hops, gateway.loopDetection.mark);
    bytes = await exchange.body();
    decoded = counting.decode(bytes);
    const { inbound } = decoded.request;
    gateway.recheckKey(exchange);
    trace.modelRequested = inbound.call.model;
    const { workspace, key } = trace.principal;
    // Zero input tokens and no extras: an overlong or unpriced request can still be counted.
    const unpriced = { ...inbound, call: { ...inbound.call, extras: NO_EXTRAS } };
    const { request: counted } = decoded;
    const request: PlanningRequest = {
      surface,
      workspace,
      keyId: key.id,
      outline: chatOutline(unpriced, 0),
      inspected: { content: () => counted.content(), sessionId: inbound.call.routingHints?.sessionId },
    };
    let planned = planOutline(gateway, request);
    if (planned.isUninspected) {
      await inspectContent(gateway, planned, workspace.id);
      traceInspection(trace, planned.inspected.inspection);
      gateway.recheckKey(exchange);
      planned = planOutline(gateway, request);
    }
    const { plan, model, ...current } = planned;
    trace.modelRequested = model;
    trace.plan = plan;
    if (plan.is === "refused") throw plan.fault;
    const recheckKey = () => gateway.recheckKey(exchange);
    // A count is free of charge but needs the same resources as any request.
    if (gateway.queue.tryEnter() === "wait" && (await waitForSlot(gateway, trace, sink)) === "left")
      return await settleUncharged(gateway, trace, disconnectedRecord(trace));
    hasSlot = true;
    const adapterFor = (target: AdapterTarget) => counting.adapterFor(inbound, target);
    const count = await countAtProvider({ gateway, trace, sink, inbound, adapterFor, plan, ...current, recheckKey });
    if (count.is === "disconnected") {
      await settleUncharged(gateway, trace, disconnectedRecord(trace));
      return;
    }
    const body = count.is === "counted" ? count.body : counting.render(await countLocally(gateway, inbound));
    trace.markFirstByte();
    await settleUncharged(
      gateway,
      trace,
      trace.finishedRecord({ status: 200, errorCode: null, usage: null, charge: null }),
    );
    const headers = exchange.baseHeaders;
    addInferenceHeaders(headers, trace, plan, count.is === "counted" ? count.adapter : undefined, undefined);
    if (count.is === "unsupported") {
      headers["x-svc-model"] = plan.attempts[0]?.endpoint.model ?? model;
      headers["x-svc-route-reason"] = "estimated by the gateway: no provider counted the tokens";
    }
    headers["content-type"] = "application/json";
    headers["content-length"] = String(Buffer.byteLength(body));
    sink.start(200, headers);
    sink.end(body);
  } catch (error) {
    if (decoded === undefined && bytes !== undefined) traceUndecoded(trace, bytes);
    const problem = toFault(error);
    await settleUncharged(
      gateway,
      trace,
      error instanceof ClientDisconnected ? disconnectedRecord(trace) : trace.refusedRecord(problem),
    );
    throw decoded?.toCallerParameterNames?.(problem) ?? problem;
  } finally {
    if (hasSlot) gateway.queue.leave();
  }
}

type CountOutcome =
  | { readonly is: "counted"; readonly body: string; readonly adapter: UpstreamAdapter }
  /** The gateway has to count. */
  | { readonly is: "unsupported" }
  | { readonly is: "disconnected" };

type CountRequest = Pick<PlannedRequest, "currentPolicy" | "changedRouter" | "inspected"> & {
  readonly recheckKey: () => void;
  readonly gateway: GatewayDeps;
  readonly trace: RequestTrace;
  readonly sink: ResponseSink;
  readonly inbound: InboundRequest;
  readonly adapterFor: (target: AdapterTarget) => UpstreamAdapter | undefined;
  readonly plan: Plan;
};

/** Tries the planned endpoints with a count API, if the first planned endpoint has one. */
async function countAtProvider(request: CountRequest): Promise<CountOutcome> {
  const { gateway, trace, sink, inbound, adapterFor, plan, currentPolicy, changedRouter, inspected, recheckKey } =
    request;
  const countAdapterFor = ({ endpoint, model }: Attempt) =>
    adapterFor({
      endpoint,
      model,
      head: { id: trace.requestId, createdSeconds: 0, model: endpoint.model, inputTokens: 0 },
    });
  const attempts = plan.attempts.filter((attempt) => countAdapterFor(attempt) !== undefined);
  if (attempts[0] === undefined || attempts[0] !== plan.attempts[0]) return { is: "unsupported" };
  const relay = new Relay(sink, gateway, { onCommit: () => undefined, onFirstContent: () => undefined });
  let adapter: UpstreamAdapter | undefined;
  const attemptCount = (attempt: Attempt): MaybePromise<AttemptResult> => {
    adapter = countAdapterFor(attempt);
    if (adapter === undefined) throw new Error(`${attempt.endpoint.id} does not support token counting`);
    const current = { currentPolicy, changedRouter, inspected, recheckKey };
    return runAttempt({ gateway, trace, attempt, adapter, relay, plan, ...current });
  };
  const { clock, limits, deadlines, retryBudget } = gateway;
  const deadlineMs = clock.monotonicMs() + limits.requestTimeoutMs;
  const retryLoop = new RetryLoop({
    gateway,
    trace,
    plan: { ...plan, attempts },
    relay,
    deadlineMs,
    runAttempt: attemptCount,
    isCoveredByHold: () => true,
    referencesProviderState: () => referencesStoredResources(inbound.call),
  });
  const deadline = deadlines.at(deadlineMs, () => retryLoop.expire());
  retryBudget.requestStarted();
  try {
    const { outcome } = await retryLoop.run();
    return countOutcome(outcome, adapter);
  } catch (error) {
    if (error instanceof Fault && isCountingUnsupported(error.message)) return { is: "unsupported" };
    throw error;
  } finally {
    cancelTimer(deadline);
    retryBudget.requestFinished();
    relay.stop();
  }
}

function countOutcome(outcome: EndedAttempt, adapter: UpstreamAdapter | undefined): CountOutcome {
  if (outcome.is === "disconnected") return { is: "disconnected" };
  if (outcome.is !== "complete" || adapter === undefined) throw new Error("a token count arrived as a stream");
  return { is: "counted", body: outcome.reply.render(NO_TOKENS, undefined), adapter };
}

/** Uses a generic tokenizer, or an estimate by length when that is overloaded. */
async function countLocally({ tokenCounter }: GatewayDeps, inbound: InboundRequest): Promise<number> {
  return (await countInput(tokenCounter, inbound.call)) ?? estimateInput(inbound, expectedTextTokens);
}
