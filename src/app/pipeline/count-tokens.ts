import { Fault } from "../../contract/faults.ts";
import type { Attempt } from "../../domain/routing/attempt.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import { countTokensAdapter, isCountingUnsupported } from "../../io/upstream/count-tokens-adapter.ts";
import type { InboundMessages, UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";
import type { MaybePromise } from "../../kit/maybe-promise.ts";
import { cancelTimer } from "../../kit/timers.ts";
import { expectedTextTokens } from "../../language/canon/estimate.ts";
import { NO_EXTRAS } from "../../language/canon/extras.ts";
import { referencesStoredResources } from "../../language/canon/needs.ts";
import { NO_TOKENS } from "../../language/canon/usage.ts";
import { ClientDisconnected, type Exchange, principalOf, type ResponseSink } from "../exchange.ts";
import { toFault } from "../to-fault.ts";
import { type AttemptResult, runAttempt } from "./attempt.ts";
import type { EndedAttempt } from "./attempt-outcome.ts";
import { chatOutline } from "./chat-request.ts";
import { disconnectedRecord } from "./client-gone.ts";
import type { DecodedChatRequest } from "./decoded.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { countInput, estimateInput } from "./input-tokens.ts";
import { rejectLoop } from "./loop-detection.ts";
import { type PlannedRequest, planOutline } from "./plan.ts";
import { Relay } from "./relay.ts";
import { RequestTrace } from "./request-trace.ts";
import { addInferenceHeaders } from "./response-headers.ts";
import { RetryLoop } from "./retry-loop.ts";
import { traceUndecoded } from "./run.ts";
import { settleUncharged } from "./settle.ts";
import { waitForSlot } from "./wait.ts";

/**
 * How many tokens a request of the messages dialect has: planned as the request itself would be, so that no endpoint
 * sees it that may not; asked of the provider where it counts in this dialect, else counted here. Nothing is held or
 * charged.
 */
export async function countTokens(
  gateway: GatewayDeps,
  exchange: Exchange,
  sink: ResponseSink,
  decode: (body: Buffer) => DecodedChatRequest<InboundMessages>,
): Promise<void> {
  const trail = new RequestTrace(exchange, principalOf(exchange), "messages", gateway.clock);
  let place: "none" | "taken" = "none";
  let bytes: Buffer | undefined;
  let decoded: ReturnType<typeof decode> | undefined;
  try {
    rejectLoop(trail.hops, gateway.loopDetection.mark);
    bytes = await exchange.body();
    decoded = decode(bytes);
    const { inbound } = decoded.request;
    gateway.recheckKey(exchange);
    trail.modelRequested = inbound.call.model;
    // What is too long for every endpoint can be counted all the same: that is why one counts.
    const { workspace, key } = trail.principal;
    // Nothing of it is made, so nothing is billed apart.
    const unpriced = { ...inbound, call: { ...inbound.call, extras: NO_EXTRAS } };
    const question = { surface: "messages", workspace, keyId: key.id, outline: chatOutline(unpriced, 0) } as const;
    const { plan, ...now } = planOutline(gateway, question);
    trail.plan = plan;
    if (plan.is === "refused") throw plan.fault;
    const recheck = () => gateway.recheckKey(exchange);
    // It costs nothing, and takes as much of the gateway and of its providers as anything else.
    if (gateway.queue.tryEnter() === "wait" && (await waitForSlot(gateway, trail, sink)) === "left")
      return await settleUncharged(gateway, trail, disconnectedRecord(trail));
    place = "taken";
    const asked = await countAtProvider({ gateway, trail, sink, inbound, plan, ...now, recheck });
    if (asked.is === "gone") {
      await settleUncharged(gateway, trail, disconnectedRecord(trail));
      return;
    }
    const body =
      asked.is === "answered" ? asked.body : JSON.stringify({ input_tokens: await countLocally(gateway, inbound) });
    trail.markFirstByte();
    await settleUncharged(
      gateway,
      trail,
      trail.finishedRecord({ status: 200, errorCode: null, usage: null, charge: null }),
    );
    const headers = exchange.baseHeaders;
    addInferenceHeaders(headers, trail, plan, asked.is === "answered" ? asked.lane : undefined, undefined);
    if (asked.is === "nobody") {
      headers["x-svc-model"] = plan.attempts[0]?.endpoint.model ?? inbound.call.model;
      headers["x-svc-route-reason"] = "estimated by the gateway: no provider was asked for the count";
    }
    headers["content-type"] = "application/json";
    headers["content-length"] = String(Buffer.byteLength(body));
    sink.start(200, headers);
    sink.end(body);
  } catch (error) {
    if (decoded === undefined && bytes !== undefined) traceUndecoded(trail, bytes);
    const problem = toFault(error);
    await settleUncharged(
      gateway,
      trail,
      error instanceof ClientDisconnected ? disconnectedRecord(trail) : trail.refusedRecord(problem),
    );
    throw decoded?.toCallerParameterNames?.(problem) ?? problem;
  } finally {
    if (place === "taken") gateway.queue.leave();
  }
}

type CountOutcome =
  | { readonly is: "answered"; readonly body: string; readonly lane: UpstreamAdapter }
  /** No planned endpoint counts: it is done here. */
  | { readonly is: "nobody" }
  | { readonly is: "gone" };

type CountRequest = Pick<PlannedRequest, "policyNow" | "otherRouter"> & {
  readonly recheck: () => void;
  readonly gateway: GatewayDeps;
  readonly trail: RequestTrace;
  readonly sink: ResponseSink;
  readonly inbound: InboundMessages;
  readonly plan: Plan;
};

/** The endpoints of the plan that count in this dialect, one after the other, as any other request would ask them. */
async function countAtProvider(question: CountRequest): Promise<CountOutcome> {
  const { gateway, trail: trace, sink, inbound, plan, currentPolicy, changedRouter, recheck: recheckKey } = question;
  const laneTo = ({ endpoint, model }: Attempt) =>
    countTokensAdapter(inbound, {
      endpoint,
      model,
      head: { id: trace.requestId, createdSeconds: 0, model: endpoint.model, inputTokens: 0 },
    });
  const attempts = plan.attempts.filter((attempt) => laneTo(attempt) !== undefined);
  if (attempts[0] === undefined || attempts[0] !== plan.attempts[0]) return { is: "nobody" };
  const relay = new Relay(sink, gateway, { onCommit: () => undefined, onFirstContent: () => undefined });
  let adapter: UpstreamAdapter | undefined;
  const ask = (attempt: Attempt): MaybePromise<AttemptResult> => {
    adapter = laneTo(attempt);
    if (adapter === undefined) throw new Error(`${attempt.endpoint.id} does not count`);
    return runAttempt({ gateway, trace, attempt, adapter, relay, plan, currentPolicy, changedRouter, recheckKey });
  };
  const { clock, limits, deadlines, retryBudget } = gateway;
  const deadlineMs = clock.monotonicMs() + limits.requestTimeoutMs;
  const tries = new RetryLoop({
    gateway,
    trace,
    plan: { ...plan, attempts },
    relay,
    deadlineMs,
    runAttempt: ask,
    isCoveredByHold: () => true,
    referencesProviderState: () => referencesStoredResources(inbound.call),
  });
  const deadline = deadlines.at(deadlineMs, () => tries.expire());
  retryBudget.requestStarted();
  try {
    const { outcome } = await tries.run();
    return countOutcome(outcome, adapter);
  } catch (error) {
    if (error instanceof Fault && isCountingUnsupported(error.message)) return { is: "nobody" };
    throw error;
  } finally {
    cancelTimer(deadline);
    retryBudget.requestFinished();
    relay.stop();
  }
}

function countOutcome(outcome: EndedAttempt, lane: UpstreamAdapter | undefined): CountOutcome {
  if (outcome.is === "gone") return { is: "gone" };
  if (outcome.is !== "whole" || lane === undefined) throw new Error("a count came as a stream");
  return { is: "answered", body: outcome.answer.render(NO_TOKENS, undefined), lane };
}

/** By a tokenizer that is not the model's own; by length where that one is too busy. */
async function countLocally({ tokenCounter }: GatewayDeps, inbound: InboundMessages): Promise<number> {
  return (await countInput(tokenCounter, inbound.call)) ?? estimateInput(inbound, expectedTextTokens);
}
