import { type Fault, fault } from "../../contract/faults.ts";
import type { ConcurrencyLimiter } from "../../domain/admission/concurrency-limiter.ts";
import { type Attempt, isOwnResource } from "../../domain/routing/attempt.ts";
import { CircuitBreakers } from "../../domain/routing/circuit-breakers.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import type { OperatorEvent } from "../../io/telemetry/operator-events.ts";
import { type FailureReport, type FailureVerdict, faultEndedBy } from "../../io/upstream/classify-failure.ts";
import type { MaybePromise } from "../../kit/maybe-promise.ts";
import { cancelTimer, type Timers } from "../../kit/timers.ts";
import type { AttemptOutcome, AttemptResult, EndedAttempt, FailedAttempt } from "./attempt-outcome.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { type Relay, TIMEOUT_REASON } from "./relay.ts";
import type { RequestTrace } from "./request-trace.ts";
import { currentKeyUse, failedExclusiveKey } from "./workspace-resources.ts";

type RetryLoopDeps = {
  readonly gateway: GatewayDeps;
  readonly trace: RequestTrace;
  readonly plan: Plan;
  readonly relay: Relay;
  /** On the monotonic clock. */
  readonly deadlineMs: number;
  readonly runAttempt: (attempt: Attempt) => MaybePromise<AttemptResult>;
  /** The hold covers the first attempts of the plan only; later ones are checked by this. */
  readonly isCoveredByHold: (attempt: Attempt) => boolean;
  /** True when a 404 may mean a missing file of the caller instead of a broken endpoint. */
  readonly referencesProviderState: () => boolean;
};

export type ServedAttempt = { readonly attempt: Attempt; readonly outcome: EndedAttempt };

type AttemptSlots = Pick<ConcurrencyLimiter, "acquire" | "release">;

type SkipReason = Extract<OperatorEvent, { is: "endpoint_skipped" }>["why"];

const SKIP_REASONS: Record<SkipReason, string> = {
  full: "passed over: it has as many requests as it may have at once",
  aside: "set aside since the plan was made: tried after the others",
  dear: "passed over: it may cost more than was reserved",
};

const NOT_FOUND = 404;

/** Random extra delay, so that retries do not arrive all at once. */
const JITTER_SHARE = 0.5;
const JITTER_MS_MIN = 100;

/**
 * The one retry loop: tries the endpoints of a plan in order, each within its concurrency limit and every further attempt
 * within the retry budget, until one serves the request. Each result is reported to the circuit breakers.
 */
export class RetryLoop {
  readonly #deps: RetryLoopDeps;
  #nextIndex = 0;
  /** Endpoints whose circuit opened since the plan was made; they are tried last. */
  readonly #deferred: Attempt[] = [];
  #attemptsMade = 0;
  #lastFailure: FailureReport | undefined;
  #pendingRetry: Attempt | undefined;
  #hasRetriedSame = false;
  #isExpired = false;
  /** An own key or node was skipped as full, so a later retry can succeed without funds. */
  #isOwnResourceBusy = false;

  constructor(deps: RetryLoopDeps) {
    this.#deps = deps;
  }

  /** The deadline passed: cancels the running attempt and starts no other. */
  expire(): void {
    this.#isExpired = true;
    this.#deps.relay.expire();
  }

  async run(): Promise<ServedAttempt> {
    const { gateway, trace, runAttempt } = this.#deps;
    const { limits, retryBudget } = gateway;
    while (this.#attemptsMade < limits.attemptsMax + (this.#pendingRetry === undefined ? 0 : 1)) {
      const attempt = this.#nextAttempt();
      if (attempt === undefined) break;
      const slots = this.#slotsFor(attempt);
      if (this.#acquireSlot(attempt, slots) === "full") continue;
      const isRetry = this.#attemptsMade > 0;
      let result: AttemptResult | undefined;
      try {
        result = await runAttempt(attempt);
      } finally {
        slots?.release(attempt.endpoint.id);
        if (isRetry) retryBudget.release();
        this.#reportToBreakers(attempt, result?.outcome);
      }
      const { outcome, record } = result;
      if (outcome.is !== "failed") {
        trace.addAttempt(record);
        return { attempt, outcome };
      }
      const ended = await this.#handleFailure(attempt, outcome, record);
      if (ended !== undefined) return { attempt, outcome: ended };
    }
    const holdRefusal = this.#isOwnResourceBusy ? undefined : trace.holdRefusal;
    throw this.#finalFault(limits.attemptsMax) ?? holdRefusal ?? allBusyFault();
  }

  /** The fault after the last attempt; it says when eligible endpoints were not tried. */
  #finalFault(attemptsMax: number): Fault | undefined {
    const { gateway, plan, trace } = this.#deps;
    if (this.#lastFailure === undefined) return undefined;
    const others = [...plan.attempts.slice(this.#nextIndex), ...this.#deferred];
    const hasUntried = others.some((other) => isOwnResource(other) || this.#platformBarredReason() === undefined);
    if (hasUntried)
      return faultEndedBy(this.#lastFailure, `all ${attemptsMax} attempts that a request may make are used up`);
    const isPlatformAllowed = failedExclusiveKey(gateway, trace) === undefined;
    const wouldNeedFunds = isPlatformAllowed && !plan.attempts.every(isOwnResource);
    return wouldNeedFunds && trace.holdRefusal !== undefined
      ? withHoldRefusal(this.#lastFailure, trace.holdRefusal)
      : this.#lastFailure.finalFault;
  }

  #nextAttempt(): Attempt | undefined {
    const retry = this.#pendingRetry;
    if (retry !== undefined) {
      this.#pendingRetry = undefined;
      return retry;
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

  /** A deferred endpoint may have been barred since. */
  #nextDeferred(): Attempt | undefined {
    for (;;) {
      const attempt = this.#deferred.shift();
      if (attempt === undefined || !this.#skipIfBarred(attempt)) return attempt;
    }
  }

  #skipIfBarred(attempt: Attempt): boolean {
    const reason = isOwnResource(attempt) ? undefined : this.#platformBarredReason();
    if (reason !== undefined) this.#recordSkipped(attempt, "next", reason);
    return reason !== undefined;
  }

  /** Why the platform's endpoints must not serve this request. */
  #platformBarredReason(): string | undefined {
    const { gateway, trace } = this.#deps;
    if (failedExclusiveKey(gateway, trace) !== undefined)
      return "passed over: only your own key is to be used, and it failed";
    return trace.holdRefusal === undefined ? undefined : "passed over: nothing could be reserved for it";
  }

  /** The plan already puts open circuits last; one that opened since lets the others go first. */
  #deferIfCircuitOpen(attempt: Attempt): boolean {
    const { plan } = this.#deps;
    const isCircuitOpen = (candidate: Attempt) =>
      this.#breakersFor(candidate).circuitStateOf(candidate.endpoint.id) === "open";
    if (!isCircuitOpen(attempt)) return false;
    const others = plan.attempts.slice(this.#nextIndex);
    if (others.every(isCircuitOpen)) return false;
    this.#skip(attempt, "aside");
    return true;
  }

  /** Own keys and nodes have circuit breakers of their own. */
  #breakersFor({ ownKey, node, endpoint }: Attempt): CircuitBreakers {
    const { breakers, ownKeys, nodes, clock } = this.#deps.gateway;
    if (ownKey === undefined && node === undefined) return breakers;
    const own =
      node === undefined
        ? ownKeys.of(ownKey?.workspaceId ?? "")?.keys.get(endpoint.provider)?.breakers
        : nodes.entry(node.id)?.breakers;
    // The key or node was removed while the request ran, so its result is discarded.
    return own ?? new CircuitBreakers(clock);
  }

  /** The limiter counts the platform's own use of an endpoint; an own key is not limited, and a node limits all its models together. */
  #slotsFor({ ownKey, node }: Attempt): AttemptSlots | undefined {
    const { endpointSlots, nodes } = this.#deps.gateway;
    if (node !== undefined) return nodes.entry(node.id);
    return ownKey === undefined ? endpointSlots : undefined;
  }

  /** Acquires a concurrency slot and, after the first attempt, a retry from the budget. */
  #acquireSlot(attempt: Attempt, slots: AttemptSlots | undefined): "entered" | "full" {
    const { retryBudget, onNotice } = this.#deps.gateway;
    const { id, provider } = attempt.endpoint;
    if (slots?.acquire(id) === "full") {
      this.#skip(attempt, "full");
      if (isOwnResource(attempt)) this.#isOwnResourceBusy = true;
      return "full";
    }
    const isRetry = this.#attemptsMade > 0;
    if (isRetry && retryBudget.acquire() === "spent") {
      slots?.release(id);
      throw this.#budgetSpentFault(attempt);
    }
    if (isRetry) onNotice({ is: "retried", provider, at: this.#hasRetriedSame ? "same" : "next" });
    this.#breakersFor(attempt).recordStart(id);
    return "entered";
  }

  async #handleFailure(
    attempt: Attempt,
    { verdict }: FailedAttempt,
    attempted: AttemptResult["record"],
  ): Promise<EndedAttempt | undefined> {
    const { gateway, trace, relay } = this.#deps;
    const isCutByDeadline = this.#isExpired && verdict.is === "next" && verdict.blame.on === "none";
    const record = isCutByDeadline ? { ...attempted, reason: TIMEOUT_REASON } : attempted;
    trace.servingAttempt = undefined;
    // The endpoint has processed the input if it replied, and may have if it was sent the request.
    if (record.upstreamStatus !== null || record.maybeAccepted) trace.addProcessingLocation(attempt.endpoint);
    if (verdict.is === "busy") return this.#handleBusy(attempt, record);
    const waitMs = this.#retryDelayMs(verdict);
    if (verdict.is === "next" && verdict.isUnencodable && !record.maybeAccepted) trace.addSkippedAttempt(record);
    else trace.addAttempt(waitMs === undefined ? record : { ...record, outcome: "retry" });
    if (verdict.is === "stop") throw verdict.fault;
    if (this.#isExpired) throw requestTimeoutFault();
    this.#lastFailure = this.#reportableFailure(verdict);
    const hasKeyFailed = verdict.blame.on === "workspace" || verdict.isOwnKeyRemoved === true;
    if (hasKeyFailed && attempt.ownKey !== undefined) trace.failedOwnKeys.push(attempt.ownKey);
    if (verdict.blame.on !== "none" || verdict.mayHaveBeenAccepted) this.#attemptsMade += 1;
    if (waitMs === undefined) return undefined;
    this.#hasRetriedSame = true;
    this.#pendingRetry = attempt;
    if ((await waitUnlessCancelled(waitMs, relay, gateway.timers)) === "waited") return undefined;
    if (relay.disconnected) return { is: "disconnected", stream: undefined };
    throw requestTimeoutFault();
  }

  /** The endpoint is at its own limit; the request was not sent, unless it had accepted earlier parts. */
  #handleBusy(attempt: Attempt, record: AttemptResult["record"]): undefined {
    const { gateway, trace } = this.#deps;
    if (record.maybeAccepted) {
      trace.addAttempt(record);
      this.#attemptsMade += 1;
    } else trace.addSkippedAttempt({ ...record, reason: SKIP_REASONS.full });
    gateway.onNotice({ is: "endpoint_skipped", provider: record.provider, why: "full" });
    if (isOwnResource(attempt)) this.#isOwnResourceBusy = true;
    if (this.#isExpired) throw requestTimeoutFault();
    return undefined;
  }

  /**
   * The failure to report if no endpoint serves the request: a failure of a sent request wins over one that was not sent,
   * and an invalid reply wins over any later failure.
   */
  #reportableFailure(verdict: Extract<FailureVerdict, { is: "next" }>): FailureReport {
    if (this.#lastFailure === undefined) return verdict;
    const isUnsent = verdict.isUnencodable === true || (verdict.wasNotSent === true && this.#attemptsMade > 0);
    return isUnsent || this.#lastFailure.finalFault.code === "upstream_invalid_answer" ? this.#lastFailure : verdict;
  }

  /** Delay before the last endpoint is retried once; undefined when it must not be, or the deadline is too close. */
  #retryDelayMs(verdict: FailureVerdict): number | undefined {
    const { gateway, plan, deadlineMs } = this.#deps;
    if (verdict.is !== "next" || verdict.retrySameAfterMs === undefined || this.#hasRetriedSame) return undefined;
    if (this.#nextIndex < plan.attempts.length || this.#deferred.length > 0) return undefined;
    const jitterMs = gateway.random() * Math.max(JITTER_MS_MIN, verdict.retrySameAfterMs * JITTER_SHARE);
    const waitMs = verdict.retrySameAfterMs + jitterMs;
    return gateway.clock.monotonicMs() + waitMs < deadlineMs ? waitMs : undefined;
  }

  #reportToBreakers(attempt: Attempt, outcome: AttemptOutcome | undefined): void {
    const { onNotice } = this.#deps.gateway;
    const breakers = this.#breakersFor(attempt);
    const { id, provider } = attempt.endpoint;
    if (attempt.node !== undefined) this.#reportToNode(attempt.node.id, outcome);
    switch (outcome?.is) {
      case "complete":
      case "relayed":
        breakers.recordSuccess(id);
        return;
      case "broken":
      case "failed": {
        const { verdict, upstreamStatus } = outcome;
        // A rejected request, a passed deadline or a gateway shutdown says nothing about the endpoint's health.
        if (verdict.is !== "next" || verdict.blame.on === "none") breakers.recordInconclusive(id);
        // An open circuit would prefer the platform's endpoints, which an exclusive key forbids.
        else if (verdict.blame.on === "workspace" && this.#isExclusiveKey(attempt)) breakers.recordInconclusive(id);
        // Retry-After: 0 counts as absent.
        else if (verdict.blame.on === "endpoint") breakers.recordFailure(id, verdict.blame.retryAfterMs || undefined);
        else if (upstreamStatus === NOT_FOUND && this.#deps.referencesProviderState()) breakers.recordInconclusive(id);
        else {
          breakers.recordFailure(id, undefined);
          if (verdict.blame.on === "operator")
            onNotice({ is: "credential_rejected", endpoint: id, provider, status: upstreamStatus });
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

  /** A node that sends an implausible reply is not trusted any more. */
  #reportToNode(nodeId: string, outcome: AttemptOutcome | undefined): void {
    const { nodes } = this.#deps.gateway;
    if (outcome?.is !== "failed" && outcome?.is !== "broken") return;
    const { verdict } = outcome;
    if (verdict.is !== "next" || verdict.blame.on === "none") return;
    nodes.entry(nodeId)?.recordError(verdict.why);
    if (verdict.isMalformed === true) nodes.reportImplausible(nodeId, verdict.why);
  }

  #skip(attempt: Attempt, why: SkipReason): void {
    this.#recordSkipped(attempt, "next", SKIP_REASONS[why]);
    this.#deps.gateway.onNotice({ is: "endpoint_skipped", provider: attempt.endpoint.provider, why });
  }

  #budgetSpentFault(attempt: Attempt): Fault {
    this.#recordSkipped(attempt, "stop", "not tried: the retry budget is spent");
    this.#deps.gateway.onNotice({ is: "retry_budget_exhausted", provider: attempt.endpoint.provider });
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

/** Adds the hold's refusal when funds would have allowed further attempts. */
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

/** Ends early on a client disconnect or at the deadline. */
function waitUnlessCancelled(ms: number, relay: Relay, timers: Timers): Promise<"waited" | "cancelled"> {
  return new Promise((resolve) => {
    const timer = timers.after(ms, () => resolve("waited"));
    relay.setCancel(() => {
      cancelTimer(timer);
      resolve("cancelled");
    });
  });
}
