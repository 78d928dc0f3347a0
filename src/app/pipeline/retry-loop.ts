import type { ConcurrencyLimiter } from "../../domain/admission/overload-protection.ts";
import { CircuitBreakers } from "../../domain/routing/endpoint-health.ts";
import { isOwnResource } from "../../domain/routing/plan.ts";
import type { Attempt } from "../../domain/routing/reachable-endpoint.ts";
import type { OwnKey } from "../../domain/tenancy/own-key.ts";
import type { FailureReport } from "../../io/upstream/classify-failure.ts";
import type { AttemptOutcome, AttemptResult, EndedAttempt } from "./attempt-outcome.ts";
import {
  allBusyFault,
  budgetSpentFault,
  finalFault,
  handleFailure,
  type RetryLoopDeps,
  type RetryProgress,
  reportFailure,
} from "./failure-handling.ts";
import type { RequestTrace } from "./record.ts";
import { recordSkipped, skipAttempt } from "./skipped-attempt.ts";
import { currentKeyUse, type OwnKeyDeps } from "./workspace-resources.ts";

export type ServedAttempt = { readonly attempt: Attempt; readonly outcome: EndedAttempt };

type AttemptSlots = Pick<ConcurrencyLimiter, "acquire" | "release">;

/**
 * The one retry loop: tries the endpoints of a plan in order, each within its concurrency limit and every further attempt
 * within the retry budget, until one serves the request. Each result is reported to the circuit breakers.
 */
export class RetryLoop implements RetryProgress {
  readonly deps: RetryLoopDeps;
  nextIndex = 0;
  readonly deferred: Attempt[] = [];
  attemptsMade = 0;
  lastFailure: FailureReport | undefined;
  pendingRetry: Attempt | undefined;
  hasRetriedSame = false;
  isExpired = false;
  isOwnResourceBusy = false;

  constructor(deps: RetryLoopDeps) {
    this.deps = deps;
  }

  /** The deadline passed: cancels the running attempt and starts no other. */
  expire(): void {
    this.isExpired = true;
    this.deps.relay.expire();
  }

  async run(): Promise<ServedAttempt> {
    const { gateway, trace, runAttempt } = this.deps;
    const { limits, retryBudget } = gateway;
    while (this.attemptsMade < limits.attemptsMax + (this.pendingRetry === undefined ? 0 : 1)) {
      const attempt = this.#nextAttempt();
      if (attempt === undefined) break;
      const slots = this.#slotsFor(attempt);
      if (this.#acquireSlot(attempt, slots) === "full") continue;
      const isRetry = this.attemptsMade > 0;
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
      const ended = await handleFailure(this, attempt, outcome, record);
      if (ended !== undefined) return { attempt, outcome: ended };
    }
    const holdRefusal = this.isOwnResourceBusy ? undefined : trace.holdRefusal;
    const hasExclusiveKeyFailed = failedExclusiveKey(gateway, trace) !== undefined;
    throw finalFault(this, limits.attemptsMax, hasExclusiveKeyFailed) ?? holdRefusal ?? allBusyFault();
  }

  #nextAttempt(): Attempt | undefined {
    const retry = this.pendingRetry;
    if (retry !== undefined) {
      this.pendingRetry = undefined;
      return retry;
    }
    const { gateway, plan, isCoveredByHold } = this.deps;
    for (;;) {
      const attempt = plan.attempts[this.nextIndex];
      if (attempt === undefined) return this.#nextDeferred();
      this.nextIndex += 1;
      if (this.#skipIfBarred(attempt)) continue;
      if (this.nextIndex > gateway.limits.attemptsMax && !isCoveredByHold(attempt))
        skipAttempt(this.deps, attempt, "dear");
      else if (this.#deferIfCircuitOpen(attempt)) this.deferred.push(attempt);
      else return attempt;
    }
  }

  /** A deferred endpoint may have been barred since. */
  #nextDeferred(): Attempt | undefined {
    for (;;) {
      const attempt = this.deferred.shift();
      if (attempt === undefined || !this.#skipIfBarred(attempt)) return attempt;
    }
  }

  #skipIfBarred(attempt: Attempt): boolean {
    const reason = isOwnResource(attempt) ? undefined : this.#platformBarredReason();
    if (reason !== undefined) recordSkipped(this.deps, attempt, "next", reason);
    return reason !== undefined;
  }

  /** Why the platform's endpoints must not serve this request. */
  #platformBarredReason(): string | undefined {
    const { gateway, trace } = this.deps;
    if (failedExclusiveKey(gateway, trace) !== undefined)
      return "skipped: only your own key may be used, and it failed";
    return trace.holdRefusal === undefined ? undefined : "skipped: its cost could not be held";
  }

  /** The plan already puts open circuits last; one that opened since lets the others go first. */
  #deferIfCircuitOpen(attempt: Attempt): boolean {
    const { plan } = this.deps;
    const isCircuitOpen = (candidate: Attempt) =>
      this.#breakersFor(candidate).circuitStateOf(candidate.endpoint.id) === "open";
    if (!isCircuitOpen(attempt)) return false;
    const others = plan.attempts.slice(this.nextIndex);
    if (others.every(isCircuitOpen)) return false;
    skipAttempt(this.deps, attempt, "aside");
    return true;
  }

  /** Own keys and nodes have circuit breakers of their own. */
  #breakersFor({ ownKey, node, endpoint }: Attempt): CircuitBreakers {
    const { breakers, ownKeys, nodes, clock } = this.deps.gateway;
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
    const { endpointSlots, nodes } = this.deps.gateway;
    if (node !== undefined) return nodes.entry(node.id);
    return ownKey === undefined ? endpointSlots : undefined;
  }

  /** Acquires a concurrency slot and, after the first attempt, a retry from the budget. */
  #acquireSlot(attempt: Attempt, slots: AttemptSlots | undefined): "entered" | "full" {
    const { retryBudget, onNotice } = this.deps.gateway;
    const { id, provider } = attempt.endpoint;
    if (slots?.acquire(id) === "full") {
      skipAttempt(this.deps, attempt, "full");
      if (isOwnResource(attempt)) this.isOwnResourceBusy = true;
      return "full";
    }
    const isRetry = this.attemptsMade > 0;
    if (isRetry && retryBudget.acquire() === "spent") {
      slots?.release(id);
      throw budgetSpentFault(this, attempt);
    }
    if (isRetry) onNotice({ is: "retried", provider, at: this.hasRetriedSame ? "same" : "next" });
    this.#breakersFor(attempt).recordStart(id);
    return "entered";
  }

  #reportToBreakers(attempt: Attempt, outcome: AttemptOutcome | undefined): void {
    const breakers = this.#breakersFor(attempt);
    const { id } = attempt.endpoint;
    if (outcome?.is === "complete" || outcome?.is === "relayed") breakers.recordSuccess(id);
    else if (outcome?.is === "broken" || outcome?.is === "failed") reportFailure(this.deps, breakers, attempt, outcome);
    else breakers.recordInconclusive(id);
  }
}

/** An own key with `use: only` that failed: the platform's endpoints must not be tried after it. */
export function failedExclusiveKey(
  keys: OwnKeyDeps,
  { failedOwnKeys }: Pick<RequestTrace, "failedOwnKeys">,
): OwnKey | undefined {
  return failedOwnKeys.find((own) => currentKeyUse(keys, own) === "only");
}
