import { type Fault, fault } from "../../contract/faults.ts";
import type { CircuitBreakers } from "../../domain/routing/endpoint-health.ts";
import { isOwnResource, type Plan } from "../../domain/routing/plan.ts";
import type { Attempt } from "../../domain/routing/reachable-endpoint.ts";
import { rememberRejection } from "../../domain/routing/rejected-claims.ts";
import {
  type Blame,
  type FailureReport,
  type FailureVerdict,
  faultEndedBy,
} from "../../io/upstream/classify-failure.ts";
import type { MaybePromise } from "../../kit/maybe-promise.ts";
import { cancelTimer, type Timers } from "../../kit/timers.ts";
import type { AttemptOutcome, AttemptResult, EndedAttempt, FailedAttempt } from "./attempt-outcome.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import type { RequestTrace } from "./record.ts";
import { type Relay, TIMEOUT_REASON } from "./relay.ts";
import { recordSkipped, SKIP_REASONS } from "./skipped-attempt.ts";
import { currentKeyUse } from "./workspace-resources.ts";

export type RetryLoopDeps = {
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

/** How far a retry loop has come. */
export type RetryProgress = {
  readonly deps: RetryLoopDeps;
  readonly nextIndex: number;
  /** Endpoints whose circuit opened since the plan was made; they are tried last. */
  readonly deferred: readonly Attempt[];
  readonly isExpired: boolean;
  attemptsMade: number;
  lastFailure: FailureReport | undefined;
  pendingRetry: Attempt | undefined;
  hasRetriedSame: boolean;
  /** An own key or node was skipped as full, so a later retry can succeed without funds. */
  isOwnResourceBusy: boolean;
};

const NOT_FOUND = 404;

/** Random extra delay, so that retries do not arrive all at once. */
const JITTER_SHARE = 0.5;
const JITTER_MS_MIN = 100;

/** Decides what follows a failed attempt: a retry of the same endpoint, the next one, or the end of the request. */
export async function handleFailure(
  loop: RetryProgress,
  attempt: Attempt,
  { verdict }: FailedAttempt,
  attempted: AttemptResult["record"],
): Promise<EndedAttempt | undefined> {
  const { gateway, trace, relay } = loop.deps;
  const isCutByDeadline = loop.isExpired && verdict.is === "next" && verdict.blame.on === "none";
  const record = isCutByDeadline ? { ...attempted, reason: TIMEOUT_REASON } : attempted;
  trace.servingAttempt = undefined;
  // The endpoint has processed the input if it replied, and may have if it was sent the request.
  if (record.upstreamStatus !== null || record.maybeAccepted) trace.addProcessingLocation(attempt.endpoint);
  if (verdict.is === "busy") return handleBusy(loop, attempt, record);
  const waitMs = retryDelayMs(loop, verdict);
  if (verdict.is === "next" && verdict.isUnencodable && !record.maybeAccepted) trace.addSkippedAttempt(record);
  else trace.addAttempt(waitMs === undefined ? record : { ...record, outcome: "retry" });
  if (verdict.is === "stop") throw verdict.fault;
  if (loop.isExpired) throw requestTimeoutFault();
  loop.lastFailure = reportableFailure(loop, verdict);
  const hasKeyFailed = verdict.blame.on === "workspace" || verdict.isOwnKeyRemoved === true;
  if (hasKeyFailed && attempt.ownKey !== undefined) trace.failedOwnKeys.push(attempt.ownKey);
  if (verdict.blame.on !== "none" || verdict.mayHaveBeenAccepted) loop.attemptsMade += 1;
  if (waitMs === undefined) return undefined;
  loop.hasRetriedSame = true;
  loop.pendingRetry = attempt;
  if ((await waitUnlessCancelled(waitMs, relay, gateway.timers)) === "waited") return undefined;
  if (relay.disconnected) return { is: "disconnected", stream: undefined };
  throw requestTimeoutFault();
}

/** The endpoint is at its own limit; the request was not sent, unless it had accepted earlier parts. */
function handleBusy(loop: RetryProgress, attempt: Attempt, record: AttemptResult["record"]): undefined {
  const { gateway, trace } = loop.deps;
  if (record.maybeAccepted) {
    trace.addAttempt(record);
    loop.attemptsMade += 1;
  } else trace.addSkippedAttempt({ ...record, reason: SKIP_REASONS.full });
  gateway.onNotice({ is: "endpoint_skipped", provider: record.provider, why: "full" });
  if (isOwnResource(attempt)) loop.isOwnResourceBusy = true;
  if (loop.isExpired) throw requestTimeoutFault();
  return undefined;
}

/**
 * The failure to report if no endpoint serves the request: a failure of a sent request wins over one that was not sent,
 * and an invalid reply wins over any later failure.
 */
function reportableFailure(
  { lastFailure, attemptsMade }: RetryProgress,
  verdict: Extract<FailureVerdict, { is: "next" }>,
): FailureReport {
  if (lastFailure === undefined) return verdict;
  const isUnsent = verdict.isUnencodable === true || (verdict.wasNotSent === true && attemptsMade > 0);
  return isUnsent || lastFailure.finalFault.code === "upstream_invalid_answer" ? lastFailure : verdict;
}

/** Delay before the last endpoint is retried once; undefined when it must not be, or the deadline is too close. */
function retryDelayMs(
  { deps: { gateway, plan, deadlineMs }, hasRetriedSame, nextIndex, deferred }: RetryProgress,
  verdict: FailureVerdict,
): number | undefined {
  if (verdict.is !== "next" || verdict.retrySameAfterMs === undefined || hasRetriedSame) return undefined;
  if (nextIndex < plan.attempts.length || deferred.length > 0) return undefined;
  const jitterMs = gateway.random() * Math.max(JITTER_MS_MIN, verdict.retrySameAfterMs * JITTER_SHARE);
  const waitMs = verdict.retrySameAfterMs + jitterMs;
  return gateway.clock.monotonicMs() + waitMs < deadlineMs ? waitMs : undefined;
}

/** Reports a failed or broken attempt to the circuit breakers and to its node. */
export function reportFailure(
  deps: RetryLoopDeps,
  breakers: CircuitBreakers,
  attempt: Attempt,
  outcome: Extract<AttemptOutcome, { is: "broken" | "failed" }>,
): void {
  const { gateway } = deps;
  const { id, provider } = attempt.endpoint;
  const { verdict, upstreamStatus } = outcome;
  if (attempt.node !== undefined) reportToNode(gateway, attempt.node.id, verdict);
  const blame = blameOf(verdict);
  // A rejected request, a passed deadline or a gateway shutdown says nothing about the endpoint's health.
  if (blame === undefined || blame.on === "none") breakers.recordInconclusive(id);
  else if (blame.on === "catalogue") {
    breakers.recordInconclusive(id);
    const { parameter } = blame;
    // Another account may accept the parameter.
    if (attempt.node !== undefined || attempt.ownKey !== undefined) return;
    rememberRejection(gateway.rejectedClaims, id, parameter, gateway.clock.nowMs());
    gateway.onNotice({ is: "parameter_rejected", endpoint: id, provider, parameter });
  }
  // An open circuit would prefer the platform's endpoints, which an exclusive key forbids.
  else if (blame.on === "workspace" && isExclusiveKey(gateway, attempt)) breakers.recordInconclusive(id);
  // Retry-After: 0 counts as absent.
  else if (blame.on === "endpoint") breakers.recordFailure(id, blame.retryAfterMs || undefined);
  else if (upstreamStatus === NOT_FOUND && deps.referencesProviderState()) breakers.recordInconclusive(id);
  else {
    breakers.recordFailure(id, undefined);
    if (blame.on === "operator")
      gateway.onNotice({ is: "credential_rejected", endpoint: id, provider, status: upstreamStatus });
  }
}

function blameOf(verdict: FailureVerdict): Blame | undefined {
  if (verdict.is === "next") return verdict.blame;
  return verdict.is === "stop" ? verdict.unread?.blame : undefined;
}

function isExclusiveKey(gateway: GatewayDeps, { ownKey }: Attempt): boolean {
  return ownKey !== undefined && currentKeyUse(gateway, ownKey) === "only";
}

/** A node that sends an implausible reply is not trusted any more. */
function reportToNode({ nodes }: GatewayDeps, nodeId: string, verdict: FailureVerdict): void {
  const blame = blameOf(verdict);
  if (verdict.is === "busy" || blame === undefined || blame.on === "none" || blame.on === "catalogue") return;
  nodes.entry(nodeId)?.recordError(verdict.why);
  if (verdict.is === "next" && verdict.isMalformed === true) nodes.reportImplausible(nodeId, verdict.why);
}

export function budgetSpentFault({ deps, lastFailure }: RetryProgress, attempt: Attempt): Fault {
  recordSkipped(deps, attempt, "stop", "not tried: the retry budget is exhausted");
  deps.gateway.onNotice({ is: "retry_budget_exhausted", provider: attempt.endpoint.provider });
  return lastFailure === undefined
    ? allBusyFault()
    : faultEndedBy(lastFailure, "the gateway's retry budget is exhausted");
}

/** The fault after the last attempt; it says when eligible endpoints were not tried. */
export function finalFault(
  { deps: { plan, trace }, lastFailure, nextIndex, deferred }: RetryProgress,
  attemptsMax: number,
  hasExclusiveKeyFailed: boolean,
): Fault | undefined {
  if (lastFailure === undefined) return undefined;
  const isPlatformBarred = hasExclusiveKeyFailed || trace.holdRefusal !== undefined;
  const others = [...plan.attempts.slice(nextIndex), ...deferred];
  const hasUntried = others.some((other) => isOwnResource(other) || !isPlatformBarred);
  if (hasUntried) return faultEndedBy(lastFailure, `all ${attemptsMax} attempts of the request are used up`);
  if (lastFailure.isUnencodable) return plan.withPolicyNote(lastFailure.finalFault);
  const wouldNeedFunds = !hasExclusiveKeyFailed && !plan.attempts.every(isOwnResource);
  return wouldNeedFunds && trace.holdRefusal !== undefined
    ? withHoldRefusal(lastFailure, trace.holdRefusal)
    : lastFailure.finalFault;
}

/** Adds the hold's refusal when funds would have allowed further attempts. */
function withHoldRefusal(last: FailureReport, unpaid: Fault): Fault {
  const ended = faultEndedBy(last, "the cost of the other endpoints could not be held");
  return ended.reworded({ message: `${ended.message} ${unpaid.message}` });
}

export function allBusyFault(): Fault {
  return fault("rate_limit_exceeded", {
    message: "Every endpoint that can serve this request is at its concurrency limit. Try again shortly.",
    headers: { "retry-after": "1" },
  });
}

function requestTimeoutFault(): Fault {
  return fault("upstream_timeout", {
    message: "The request exceeded the gateway's time limit. Send a smaller request, or use streaming if possible.",
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
