import { type Fault, fault } from "../../contract/faults.ts";
import type { ConcurrencyLimiter } from "../../domain/admission/concurrency-limiter.ts";
import { type Attempt, isOwnResource } from "../../domain/routing/attempt.ts";
import { CircuitBreakers } from "../../domain/routing/circuit-breakers.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import type { OperatorEvent } from "../../io/telemetry/operator-events.ts";
import { type FailureReport, type FailureVerdict, faultEndedBy } from "../../io/upstream/classify-failure.ts";
import type { MaybePromise } from "../../kit/maybe-promise.ts";
import { cancelTimer, type Timers } from "../../kit/timers.ts";
import type { AttemptResult } from "./attempt.ts";
import type { AttemptOutcome, EndedAttempt, FailedAttempt } from "./attempt-outcome.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { type Relay, TIMEOUT_REASON } from "./relay.ts";
import type { RequestTrace } from "./request-trace.ts";
import { currentKeyUse, failedExclusiveKey } from "./workspace-resources.ts";

type RetryLoopDeps = {
  readonly gateway: GatewayDeps;
  readonly trace: RequestTrace;
  readonly plan: Plan;
  readonly relay: Relay;
  /** When the request has to be over, on the clock that never jumps. */
  readonly deadlineMs: number;
  readonly runAttempt: (attempt: Attempt) => MaybePromise<AttemptResult>;
  /** Whether what was reserved pays for it: asked of endpoints beyond those that the reservation was made for. */
  readonly isCoveredByHold: (attempt: Attempt) => boolean;
  /** Whether the request names what only a provider keeps, such as a file: that it is not there is no fault of theirs. */
  readonly referencesProviderState: () => boolean;
};

/** Who answered, and how that ended. */
export type ServedAttempt = { readonly attempt: Attempt; readonly outcome: EndedAttempt };

type AttemptSlots = Pick<ConcurrencyLimiter, "acquire" | "release">;

type SkipReason = Extract<OperatorEvent, { is: "passed_over" }>["why"];

const SKIP_REASONS: Record<SkipReason, string> = {
  full: "passed over: it has as many requests as it may have at once",
  aside: "set aside since the plan was made: tried after the others",
  dear: "passed over: it may cost more than was reserved",
};

const NOT_FOUND = 404;

/** The most that a wait is longer than it must be, so that those who wait do not all come back at once. */
const JITTER_SHARE = 0.5;
const JITTER_MS_MIN = 100;

/**
 * The one retry loop: the endpoints of a plan in turn, each within its places, every attempt after the first within the
 * retry budget, until one answers or nobody is left. What an attempt shows of its endpoint is told to the breakers.
 */
export class RetryLoop {
  readonly #deps: RetryLoopDeps;
  /** The next place in the plan. */
  #nextIndex = 0;
  /** Those that were set aside since the plan was made: never left out, but tried last. */
  readonly #deferred: Attempt[] = [];
  /** How many were really asked. */
  #attemptsMade = 0;
  #lastFailure: FailureReport | undefined;
  #pendingRetry: Attempt | undefined;
  #repeated: "no" | "yes" = "no";
  #time: "left" | "up" = "left";
  /** Busy when something of the workspace's own was passed over as full: it needs no money, only another try. */
  #own: "free" | "busy" = "free";

  constructor(parts: RetryLoopDeps) {
    this.#deps = parts;
  }

  /** The time of the request is up: what runs is given up, and nothing else is begun. */
  expire(): void {
    this.#time = "up";
    this.#deps.relay.expire();
  }

  async run(): Promise<ServedAttempt> {
    const { gateway, trace, runAttempt } = this.#deps;
    const { limits, retryBudget } = gateway;
    while (this.#attemptsMade < limits.attemptsMax + (this.#pendingRetry === undefined ? 0 : 1)) {
      const attempt = this.#nextAttempt();
      if (attempt === undefined) break;
      const places = this.#slotsFor(attempt);
      if (this.#acquireSlot(attempt, places) === "full") continue;
      const isFurther = this.#attemptsMade > 0;
      let tried: AttemptResult | undefined;
      try {
        tried = await runAttempt(attempt);
      } finally {
        places?.release(attempt.endpoint.id);
        if (isFurther) retryBudget.release();
        this.#reportToBreakers(attempt, tried?.outcome);
      }
      const { outcome, record } = tried;
      if (outcome.is !== "failed") {
        trace.addAttempt(record);
        return { attempt, outcome: outcome };
      }
      const ended = await this.#handleFailure(attempt, outcome, record);
      if (ended !== undefined) return { attempt, outcome: ended };
    }
    const unpaid = this.#own === "busy" ? undefined : trace.holdRefusal;
    throw this.#finalFault(limits.attemptsMax) ?? unpaid ?? allBusyFault();
  }

  /** What the caller hears after so many attempts: others may be left, or were left out. */
  #finalFault(attemptsMax: number): Fault | undefined {
    const { gateway, plan, trace } = this.#deps;
    if (this.#lastFailure === undefined) return undefined;
    const others = [...plan.attempts.slice(this.#nextIndex), ...this.#deferred];
    const isLeft = others.some((one) => isOwnResource(one) || this.#platformBarredReason() === undefined);
    if (isLeft)
      return faultEndedBy(this.#lastFailure, `all ${attemptsMax} attempts that a request may make are used up`);
    const isOpen = failedExclusiveKey(gateway, trace) === undefined;
    const isUnpaid = isOpen && !plan.attempts.every(isOwnResource);
    return isUnpaid && trace.holdRefusal !== undefined
      ? withHoldRefusal(this.#lastFailure, trace.holdRefusal)
      : this.#lastFailure.finalFault;
  }

  /** Whose turn it is. */
  #nextAttempt(): Attempt | undefined {
    const again = this.#pendingRetry;
    if (again !== undefined) {
      this.#pendingRetry = undefined;
      return again;
    }
    const { gateway, plan, isCoveredByHold } = this.#deps;
    for (;;) {
      const attempt = plan.attempts[this.#nextIndex];
      if (attempt === undefined) return this.#nextDeferred();
      this.#nextIndex += 1;
      if (this.#skipIfBarred(attempt)) continue;
      if (this.#nextIndex > gateway.limits.attemptsMax && !isCoveredByHold(attempt)) this.#skip(attempt, "dear");
      else if (this.#deferIfCircuitOpen(attempt)) this.#deferred.push(attempt);
      else return attempt;
    }
  }

  /** What was put off may have been shut since. */
  #nextDeferred(): Attempt | undefined {
    for (;;) {
      const attempt = this.#deferred.shift();
      if (attempt === undefined || !this.#skipIfBarred(attempt)) return attempt;
    }
  }

  #skipIfBarred(attempt: Attempt): boolean {
    const closed = isOwnResource(attempt) ? undefined : this.#platformBarredReason();
    if (closed !== undefined) this.#recordSkipped(attempt, "next", closed);
    return closed !== undefined;
  }

  /** Why the platform's endpoints are not for this request. */
  #platformBarredReason(): string | undefined {
    const { gateway, trace } = this.#deps;
    if (failedExclusiveKey(gateway, trace) !== undefined)
      return "passed over: only your own key is to be used, and it failed";
    return trace.holdRefusal === undefined ? undefined : "passed over: nothing could be reserved for it";
  }

  /** The plan has those who were aside at its end; who was put there since lets the others go first. */
  #deferIfCircuitOpen(attempt: Attempt): boolean {
    const { plan } = this.#deps;
    const isAside = (one: Attempt) => this.#breakersFor(one).circuitStateOf(one.endpoint.id) === "open";
    if (!isAside(attempt)) return false;
    const others = plan.attempts.slice(this.#nextIndex);
    if (others.every(isAside)) return false;
    this.#skip(attempt, "aside");
    return true;
  }

  /** How an endpoint does with one key says nothing of how it does with another; nor one node of another. */
  #breakersFor({ ownKey, node, endpoint }: Attempt): CircuitBreakers {
    const { breakers, ownKeys, nodes, clock } = this.#deps.gateway;
    if (ownKey === undefined && node === undefined) return breakers;
    const kept =
      node === undefined
        ? ownKeys.of(ownKey?.workspaceId ?? "")?.keys.get(endpoint.provider)?.breakers
        : nodes.held(node.id)?.breakers;
    // A key or a node that was taken away while its request ran is told to nobody.
    return kept ?? new CircuitBreakers(clock);
  }

  /**
   * Places are the platform's share of an endpoint; who comes with a key of their own has a share of their own. A node
   * has as many as it says, for all its models together.
   */
  #slotsFor({ ownKey, node }: Attempt): AttemptSlots | undefined {
    const { endpointSlots, nodes } = this.#deps.gateway;
    if (node !== undefined) return nodes.held(node.id);
    return ownKey === undefined ? endpointSlots : undefined;
  }

  /** Whether one more attempt is within all bounds; it is full where somebody else is to be tried. */
  #acquireSlot(attempt: Attempt, places: AttemptSlots | undefined): "entered" | "full" {
    const { retryBudget, onNotice } = this.#deps.gateway;
    const { id, provider } = attempt.endpoint;
    if (places?.acquire(id) === "full") {
      this.#skip(attempt, "full");
      if (isOwnResource(attempt)) this.#own = "busy";
      return "full";
    }
    const isFurther = this.#attemptsMade > 0;
    if (isFurther && retryBudget.acquire() === "spent") {
      places?.release(id);
      throw this.#budgetSpentFault(attempt);
    }
    if (isFurther) onNotice({ is: "retried", provider, at: this.#repeated === "yes" ? "same" : "next" });
    this.#breakersFor(attempt).recordStart(id);
    return "entered";
  }

  async #handleFailure(
    attempt: Attempt,
    { verdict }: FailedAttempt,
    told: AttemptResult["record"],
  ): Promise<EndedAttempt | undefined> {
    const { gateway, trace, relay } = this.#deps;
    const isCut = this.#time === "up" && verdict.is === "next" && verdict.blame.on === "nobody";
    const record = isCut ? { ...told, reason: TIMEOUT_REASON } : told;
    trace.servingAttempt = undefined;
    // Who answered had the input, and so may have who was sent it and said nothing.
    if (record.upstreamStatus !== null || record.maybeAccepted) trace.addProcessingLocation(attempt.endpoint);
    if (verdict.is === "busy") return this.#handleBusy(attempt, record);
    const waitMs = this.#retryDelayMs(verdict);
    if (verdict.is === "next" && verdict.isUnencodable && !record.maybeAccepted) trace.addSkippedAttempt(record);
    else trace.addAttempt(waitMs === undefined ? record : { ...record, outcome: "retry" });
    if (verdict.is === "stop") throw verdict.fault;
    if (this.#time === "up") throw requestTimeoutFault();
    this.#lastFailure = this.#reportableFailure(verdict);
    const isKeyOut = verdict.blame.on === "workspace" || verdict.isOwnKeyRemoved === true;
    if (isKeyOut && attempt.ownKey !== undefined) trace.failedOwnKeys.push(attempt.ownKey);
    if (verdict.blame.on !== "nobody" || verdict.mayHaveBeenAccepted) this.#attemptsMade += 1;
    if (waitMs === undefined) return undefined;
    this.#repeated = "yes";
    this.#pendingRetry = attempt;
    if ((await waitUnlessCancelled(waitMs, relay, gateway.timers)) === "waited") return undefined;
    if (relay.disconnected) return { is: "gone", stream: undefined };
    throw requestTimeoutFault();
  }

  /** It takes no more requests: nothing was asked of it, unless it had parts of this one before. */
  #handleBusy(attempt: Attempt, record: AttemptResult["record"]): undefined {
    const { gateway, trace } = this.#deps;
    if (record.maybeAccepted) {
      trace.addAttempt(record);
      this.#attemptsMade += 1;
    } else trace.addSkippedAttempt({ ...record, reason: SKIP_REASONS.full });
    gateway.onNotice({ is: "passed_over", provider: record.provider, why: "full" });
    if (isOwnResource(attempt)) this.#own = "busy";
    if (this.#time === "up") throw requestTimeoutFault();
    return undefined;
  }

  /**
   * What the caller hears if nobody else answers. Whoever was asked and failed says more than who could not be, and an
   * answer that was not whole more than any failure after it.
   */
  #reportableFailure(verdict: Extract<FailureVerdict, { is: "next" }>): FailureReport {
    if (this.#lastFailure === undefined) return verdict;
    const isUnasked = verdict.isUnencodable === true || (verdict.wasNotSent === true && this.#attemptsMade > 0);
    return isUnasked || this.#lastFailure.finalFault.code === "upstream_invalid_answer" ? this.#lastFailure : verdict;
  }

  /** The same endpoint is asked once more, when nobody else is left, it may be, and there is time. */
  #retryDelayMs(verdict: FailureVerdict): number | undefined {
    const { gateway, plan, deadlineMs } = this.#deps;
    if (verdict.is !== "next" || verdict.retrySameAfterMs === undefined || this.#repeated === "yes") return undefined;
    if (this.#nextIndex < plan.attempts.length || this.#deferred.length > 0) return undefined;
    const jitterMs = gateway.random() * Math.max(JITTER_MS_MIN, verdict.retrySameAfterMs * JITTER_SHARE);
    const waitMs = verdict.retrySameAfterMs + jitterMs;
    return gateway.clock.monotonicMs() + waitMs < deadlineMs ? waitMs : undefined;
  }

  /** What the attempt shows of the endpoint, for the requests that come after. */
  #reportToBreakers(attempt: Attempt, outcome: AttemptOutcome | undefined): void {
    const { onNotice } = this.#deps.gateway;
    const breakers = this.#breakersFor(attempt);
    const { id, provider } = attempt.endpoint;
    if (attempt.node !== undefined) this.#reportToNode(attempt.node.id, outcome);
    switch (outcome?.is) {
      case "whole":
      case "relayed":
        breakers.recordSuccess(id);
        return;
      case "broke":
      case "failed": {
        const { verdict, upstreamStatus } = outcome;
        // A refusal says nothing of whether it could serve: else bad requests would keep a broken endpoint in its place.
        // Nor does the end of the request's time, or of the gateway, which breaks a stream as well.
        if (verdict.is !== "next" || verdict.blame.on === "nobody") breakers.recordInconclusive(id);
        // Were it set aside, the platform's endpoints would go first: they are what `only` does not want.
        else if (verdict.blame.on === "workspace" && this.#isExclusiveKey(attempt)) breakers.recordInconclusive(id);
        // A wait of nothing is no wait.
        else if (verdict.blame.on === "endpoint") breakers.recordFailure(id, verdict.blame.retryAfterMs || undefined);
        else if (upstreamStatus === NOT_FOUND && this.#deps.referencesProviderState()) breakers.recordInconclusive(id);
        else {
          breakers.recordFailure(id, undefined);
          if (verdict.blame.on === "operator")
            onNotice({ is: "credential_refused", endpoint: id, provider, status: upstreamStatus });
        }
        return;
      }
      default:
        breakers.recordInconclusive(id);
    }
  }

  #isExclusiveKey({ ownKey }: Attempt): boolean {
    return ownKey !== undefined && currentKeyUse(this.#deps.gateway, ownKey) === "only";
  }

  /** A machine that anyone can put anything on is not asked again after an answer that cannot be. */
  #reportToNode(nodeId: string, outcome: AttemptOutcome | undefined): void {
    const { nodes } = this.#deps.gateway;
    if (outcome?.is !== "failed" && outcome?.is !== "broke") return;
    const { verdict } = outcome;
    if (verdict.is !== "next" || verdict.blame.on === "nobody") return;
    nodes.held(nodeId)?.recordError(verdict.why);
    if (verdict.isMalformed === true) nodes.reportImplausible(nodeId, verdict.why);
  }

  #skip(attempt: Attempt, why: SkipReason): void {
    this.#recordSkipped(attempt, "next", SKIP_REASONS[why]);
    this.#deps.gateway.onNotice({ is: "passed_over", provider: attempt.endpoint.provider, why });
  }

  #budgetSpentFault(attempt: Attempt): Fault {
    this.#recordSkipped(attempt, "stop", "not tried: the retry budget is spent");
    this.#deps.gateway.onNotice({ is: "budget_spent", provider: attempt.endpoint.provider });
    return this.#lastFailure === undefined
      ? allBusyFault()
      : faultEndedBy(this.#lastFailure, "the gateway's budget for further attempts is spent");
  }

  #recordSkipped({ endpoint, ownKey }: Attempt, outcome: "next" | "stop", reason: string): void {
    const { gateway, trace } = this.#deps;
    trace.addSkippedAttempt({
      endpoint: endpoint.id,
      provider: endpoint.provider,
      startedAtMs: gateway.clock.nowMs(),
      durationMs: 0,
      outcome,
      upstreamStatus: null,
      reason,
      maybeAccepted: false,
      ...(ownKey === undefined ? {} : { ownKey: true }),
    });
  }
}

/** The last failure where money would have had others asked: whoever looks after the wallet can do something. */
function withHoldRefusal(last: FailureReport, unpaid: Fault): Fault {
  const ended = faultEndedBy(last, "nothing could be reserved for the others");
  return ended.reworded({ message: `${ended.message} ${unpaid.message}` });
}

function allBusyFault(): Fault {
  return fault("rate_limit_exceeded", {
    message:
      "Every endpoint that may serve this request has as many requests as it may have at once. Try again shortly.",
    headers: { "retry-after": "1" },
  });
}

function requestTimeoutFault(): Fault {
  return fault("upstream_timeout", {
    message:
      "The request took longer than this gateway allows. Ask for less at once, or stream where that is possible.",
  });
}

/** A wait that ends at once when the client leaves or the time of the request is up. */
function waitUnlessCancelled(ms: number, relay: Relay, timers: Timers): Promise<"waited" | "cancelled"> {
  return new Promise((resolve) => {
    const timer = timers.after(ms, () => resolve("waited"));
    relay.setCancel(() => {
      cancelTimer(timer);
      resolve("cancelled");
    });
  });
}
