import { envelopeOf, type Fault, fault } from "../../contract/faults.ts";
import type { UsageRecord } from "../../domain/record/record.ts";
import type { ResponseCompleteness } from "../../domain/responses/response-store.ts";
import type { Attempt } from "../../domain/routing/attempt.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import type { FailureVerdict } from "../../io/upstream/classify-failure.ts";
import type { UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";
import type { MaybePromise } from "../../kit/maybe-promise.ts";
import { cancelTimer } from "../../kit/timers.ts";
import type { StreamedReply } from "../../language/canon/reply.ts";
import type { Exchange, ResponseSink } from "../exchange.ts";
import { toFault } from "../to-fault.ts";
import { holdAmountFor } from "./admit.ts";
import { type AttemptResult, runAttempt, unencodableAttempt } from "./attempt.ts";
import type { EndedAttempt } from "./attempt-outcome.ts";
import { CLIENT_DISCONNECTED, disconnectedRecord } from "./client-gone.ts";
import { streamClosing } from "./closing.ts";
import type { DecodedRequest } from "./decoded.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { type InferenceRequest, responseHeadFor } from "./inference-request.ts";
import { recordStats } from "./learn.ts";
import type { PlannedRequest } from "./plan.ts";
import type { EndpointAdapter, ReasoningChoice } from "./reasoning-choice.ts";
import { Relay } from "./relay.ts";
import type { RequestTrace } from "./request-trace.ts";
import { addInferenceHeaders } from "./response-headers.ts";
import { RetryLoop, type ServedAttempt } from "./retry-loop.ts";
import { type ChargedEnd, type MeteredUsage, type Settlement, settleCharged, settleUncharged } from "./settle.ts";

/** A refusal that was paid for: the request is over and in the books. */
export class SettledFault extends Error {
  readonly fault: Fault;

  constructor(problem: Fault) {
    super(problem.message);
    this.fault = problem;
  }
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

function brokenStreamFault(): Fault {
  return fault("upstream_error", {
    message: "The provider's stream broke before its end. What was sent is incomplete and is not charged. Ask again.",
  });
}

/** What the caller hears of a stream that broke: a provider's words only where they are about the request itself. */
function faultForVerdict(verdict: FailureVerdict): Fault {
  if (verdict.is === "stop") return verdict.fault;
  if (verdict.is === "busy") return brokenStreamFault();
  if (verdict.isPeerStopping === true) return verdict.finalFault;
  return verdict.finalFault.code === "upstream_timeout" ? silentProviderFault() : brokenStreamFault();
}

/** What was decided of a request before anyone is asked. */
type AdmittedPlan = Pick<PlannedRequest, "policyNow" | "otherRouter"> & {
  readonly plan: Plan;
  /** When it has to be over, on the clock that never jumps. */
  readonly deadlineMs: number;
};

function completionOf({ outcome: { is } }: ServedAttempt): ResponseCompleteness {
  return is === "whole" || is === "relayed" ? "all" : "less";
}

/** A request that was admitted: from here on money is held and must be settled exactly once. */
export class AdmittedRequest {
  readonly #gateway: GatewayDeps;
  readonly #trail: RequestTrace;
  readonly #exchange: Exchange;
  readonly #sink: ResponseSink;
  readonly #errand: InferenceRequest;
  readonly #made: DecodedRequest["beforeSettle"];
  readonly #keep: DecodedRequest["storeResponse"];
  readonly #admitted: AdmittedPlan;
  readonly #relay: Relay;
  #lane: UpstreamAdapter | undefined;
  #thinking: ReasoningChoice | undefined;

  constructor(
    gateway: GatewayDeps,
    trail: RequestTrace,
    exchange: Exchange,
    sink: ResponseSink,
    { request, beforeSettle, storeResponse }: DecodedRequest,
    admitted: AdmittedPlan,
  ) {
    this.#gateway = gateway;
    this.#trail = trail;
    this.#exchange = exchange;
    this.#sink = sink;
    this.#errand = request;
    this.#made = beforeSettle;
    this.#keep = storeResponse;
    this.#admitted = admitted;
    this.#relay = new Relay(sink, gateway, {
      onCommit: () => this.#commit(),
      onFirstContent: () => this.#trail.markFirstByte(),
    });
  }

  async serve(): Promise<void> {
    const { retryBudget, deadlines, beforeSettlement } = this.#gateway;
    const { plan, deadlineMs } = this.#admitted;
    const tries = new RetryLoop({
      gateway: this.#gateway,
      trace: this.#trail,
      plan,
      relay: this.#relay,
      deadlineMs,
      runAttempt: (attempt) => this.#try(attempt),
      isCoveredByHold: (attempt) => this.#covers(attempt),
      referencesProviderState: () => this.#errand.referencesProviderState(),
    });
    const deadline = deadlines.at(deadlineMs, () => tries.expire());
    retryBudget.requestStarted();
    try {
      const serving = tries.run();
      const why =
        beforeSettlement &&
        (await beforeSettlement(this.#trail.requestId, await serving.then(completionOf, () => "less")));
      const { attempt, outcome } = await serving;
      await (why === undefined ? this.#conclude(attempt, outcome) : this.#leave(outcome, why));
    } finally {
      cancelTimer(deadline);
      retryBudget.requestFinished();
      this.#relay.stop();
    }
  }

  #covers(attempt: Attempt): boolean {
    return holdAmountFor(this.#gateway, this.#trail, attempt, this.#errand) <= this.#trail.heldNanos;
  }

  #try(attempt: Attempt): MaybePromise<AttemptResult> {
    const { plan, currentPolicy, changedRouter } = this.#admitted;
    const head = responseHeadFor(this.#exchange, this.#trail, this.#errand, attempt);
    const [gateway, trace, relay] = [this.#gateway, this.#trail, this.#relay];
    let way: EndpointAdapter;
    try {
      way = this.#errand.adapterFor(attempt, plan, head);
    } catch (error) {
      return unencodableAttempt(gateway, attempt, error);
    }
    const { adapter, reasoning } = way;
    this.#lane = adapter;
    this.#thinking = reasoning;
    const recheckKey = () => gateway.recheckKey(this.#exchange);
    return runAttempt({
      gateway,
      trace,
      attempt,
      adapter: adapter,
      relay,
      plan,
      currentPolicy,
      changedRouter,
      recheckKey,
    });
  }

  /** The commit point of a stream: head and open record, then only this endpoint. */
  #commit(): void {
    const { requestId, principal } = this.#trail;
    const atMs = this.#gateway.clock.nowMs();
    // The close of the stream waits for the journal; the opening need not.
    this.#gateway.journal
      .append({ t: "open", id: requestId, workspaceId: principal.workspace.id, atMs, record: this.#trail.openRecord() })
      .catch(() => undefined);
    const headers = this.#headers();
    headers["content-type"] ??= "text/event-stream; charset=utf-8";
    headers["cache-control"] = "no-cache";
    this.#sink.start(200, headers);
  }

  /** The call's own headers with what every inference answer says; each request has one set of its own. */
  #headers(): Record<string, string> {
    const { baseHeaders } = this.#exchange;
    addInferenceHeaders(baseHeaders, this.#trail, this.#admitted.plan, this.#lane, this.#thinking);
    return baseHeaders;
  }

  #conclude(attempt: Attempt, outcome: EndedAttempt): Promise<void> {
    switch (outcome.is) {
      case "whole":
        return this.#answerWhole(attempt, outcome);
      case "relayed":
        return this.#closeStream(attempt, outcome);
      case "broke":
        return this.#breakStream(outcome.stream, faultForVerdict(outcome.verdict));
      case "gone":
        return this.#clientGone(attempt, outcome);
    }
  }

  #settle(attempt: Attempt, metered: MeteredUsage, end: ChargedEnd): Promise<Settlement> {
    const asked = { inputTokens: this.#errand.inputTokens, end: this.#lane?.maxUsage?.() };
    return settleCharged(this.#gateway, this.#trail, attempt, metered, asked, end);
  }

  async #answerWhole(attempt: Attempt, { answer }: Extract<EndedAttempt, { is: "whole" }>): Promise<void> {
    this.#heard(answer);
    if (this.#sink.disconnected) return settleUncharged(this.#gateway, this.#trail, disconnectedRecord(this.#trail));
    this.#trail.markFirstByte();
    const { declined } = answer;
    const end = { status: declined?.status ?? 200, errorCode: declined?.code ?? null };
    const { usage, shown } = await this.#settle(attempt, answer, end);
    this.#learn(attempt, usage);
    if (declined !== undefined) throw new SettledFault(declined);
    const body = answer.render(usage, shown);
    if (this.#keep !== undefined) await this.#keep(body, this.#headers());
    const headers = this.#headers();
    headers["content-type"] = answer.contentType ?? "application/json";
    headers["content-length"] = String(Buffer.byteLength(body));
    this.#sink.start(200, headers);
    this.#sink.end(body);
  }

  /** What only the answer shows of a request. */
  #heard({ upstreamId, detail }: Pick<StreamedReply, "upstreamId" | "detail">): void {
    this.#trail.upstreamId = upstreamId;
    if (detail !== undefined) this.#trail.detail = { ...this.#trail.detail, ...detail };
  }

  async #closeStream(attempt: Attempt, { stream }: Extract<EndedAttempt, { is: "relayed" }>): Promise<void> {
    this.#heard(stream);
    // The model was done and the client left before the figures came: it is billed by them all the same. What nobody
    // waited for is kept as a whole answer, and is one in the log.
    const left = this.#sink.disconnected && this.#sink.unattended !== true;
    const end = left ? CLIENT_DISCONNECTED : { status: 200, errorCode: null };
    try {
      const { close, made: beforeCharge } = streamClosing(stream, this.#made);
      const settled = await this.#settle(attempt, stream, { ...end, beforeCharge });
      this.#learn(attempt, settled.usage);
      const last = close(settled);
      if (this.#keep !== undefined && stream.finalJson !== undefined)
        await this.#keep(stream.finalJson, this.#exchange.baseHeaders);
      this.#sink.end(last);
    } catch (error) {
      await this.#endUnsettled(stream, error);
    }
  }

  /** The head is out, so nobody above can answer: the hold goes back here, whatever failed. */
  async #endUnsettled(stream: StreamedReply, error: unknown): Promise<void> {
    const problem = toFault(error);
    await settleUncharged(this.#gateway, this.#trail, this.#trail.refusedRecord(problem));
    await this.#endBroken(stream, problem);
  }

  /**
   * It broke after content had gone out: an error frame, no end marker, no charge. Only who leaves pays for half an answer;
   * whether the provider broke it, its time was up or the gateway stopped makes no difference.
   */
  async #breakStream(stream: StreamedReply, problem: Fault): Promise<void> {
    this.#heard(stream);
    await settleUncharged(
      this.#gateway,
      this.#trail,
      this.#trail.finishedRecord({ status: 200, errorCode: problem.code, usage: null, charge: null }),
    );
    await this.#endBroken(stream, problem);
  }

  async #endBroken(stream: StreamedReply, problem: Fault): Promise<void> {
    const last = stream.fail(envelopeOf(problem, this.#trail.requestId));
    if (this.#keep !== undefined && stream.finalJson !== undefined)
      await this.#keep(stream.finalJson, this.#exchange.baseHeaders);
    if (last === undefined) this.#sink.abort();
    else this.#sink.end(last);
  }

  /** Who asked for it has no use for it any more, and has not left: what there is of it breaks off. */
  #leave(outcome: EndedAttempt, why: Fault): Promise<void> {
    if (outcome.is === "whole" || outcome.stream === undefined) throw why;
    return this.#breakStream(outcome.stream, why);
  }

  /** Output that was relayed before the client hung up is charged; where nothing was, nothing is. */
  async #clientGone(attempt: Attempt, { stream }: Extract<EndedAttempt, { is: "gone" }>): Promise<void> {
    if (stream === undefined || !this.#relay.hasSentContent)
      return settleUncharged(this.#gateway, this.#trail, disconnectedRecord(this.#trail));
    this.#heard(stream);
    const { usage, outputWeight, units, estimate, extraUses, promptCount } = stream;
    try {
      await this.#settle(
        attempt,
        { usage, outputWeight, units, estimate, extraUses: extraUses, promptCount: promptCount, isUsagePartial: true },
        CLIENT_DISCONNECTED,
      );
      // Who only took it too slowly is still there.
      if (!this.#sink.disconnected) await this.#endBroken(stream, slowReaderFault());
    } catch (error) {
      await this.#endUnsettled(stream, error);
    }
  }

  #learn(attempt: Attempt, usage: UsageRecord): void {
    recordStats(this.#gateway, this.#trail, attempt, usage, this.#errand.outline, this.#relay.pace);
  }
}
