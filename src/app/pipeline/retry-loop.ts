import { type Fault, fault } from "../../contract/faults.ts";
import type { ConcurrencyLimiter } from "../../domain/admission/concurrency-limiter.ts";
import { type Attempt, isOwnResource } from "../../domain/routing/attempt.ts";
import { CircuitBreakers } from "../../domain/routing/circuit-breakers.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import type { OperatorEvent } from "../../io/telemetry/operator-events.ts";
import { endedBy, type Told, type Verdict } from "../../io/upstream/classify.ts";
import type { MaybePromise } from "../../kit/maybe-promise.ts";
import { cancelTimer, type Timers } from "../../kit/timers.ts";
import type { Tried } from "./attempt.ts";
import type { Ended, Failed, Outcome } from "./attempt-outcome.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { type Relay, TIME_UP } from "./relay.ts";
import type { RequestTrace } from "./request-trace.ts";
import { failedAlone, useNow } from "./workspace-resources.ts";

type Parts = {
  readonly gateway: GatewayDeps;
  readonly trail: RequestTrace;
  readonly plan: Plan;
  readonly relay: Relay;
  /** When the request has to be over, on the clock that never jumps. */
  readonly deadlineMs: number;
  readonly tryOnce: (attempt: Attempt) => MaybePromise<Tried>;
  /** Whether what was reserved pays for it: asked of endpoints beyond those that the reservation was made for. */
  readonly covers: (attempt: Attempt) => boolean;
  /** Whether the request names what only a provider keeps, such as a file: that it is not there is no fault of theirs. */
  readonly namesKept: () => boolean;
};

/** Who answered, and how that ended. */
export type Served = { readonly attempt: Attempt; readonly ended: Ended };

type Places = Pick<ConcurrencyLimiter, "acquire" | "release">;

type PassedOver = Extract<OperatorEvent, { is: "passed_over" }>["why"];

const PASSED_OVER: Record<PassedOver, string> = {
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
export class Tries {
  readonly #parts: Parts;
  /** The next place in the plan. */
  #next = 0;
  /** Those that were set aside since the plan was made: never left out, but tried last. */
  readonly #later: Attempt[] = [];
  /** How many were really asked. */
  #asked = 0;
  #last: Told | undefined;
  #again: Attempt | undefined;
  #repeated: "no" | "yes" = "no";
  #time: "left" | "up" = "left";
  /** Busy when something of the workspace's own was passed over as full: it needs no money, only another try. */
  #own: "free" | "busy" = "free";

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** The time of the request is up: what runs is given up, and nothing else is begun. */
  expire(): void {
    this.#time = "up";
    this.#parts.relay.expire();
  }

  async run(): Promise<Served> {
    const { gateway, trail, tryOnce } = this.#parts;
    const { limits, retryBudget } = gateway;
    while (this.#asked < limits.attemptsMax + (this.#again === undefined ? 0 : 1)) {
      const attempt = this.#take();
      if (attempt === undefined) break;
      const places = this.#placesOf(attempt);
      if (this.#enter(attempt, places) === "full") continue;
      const isFurther = this.#asked > 0;
      let tried: Tried | undefined;
      try {
        tried = await tryOnce(attempt);
      } finally {
        places?.release(attempt.endpoint.id);
        if (isFurther) retryBudget.release();
        this.#tell(attempt, tried?.outcome);
      }
      const { outcome, record } = tried;
      if (outcome.is !== "failed") {
        trail.addAttempt(record);
        return { attempt, ended: outcome };
      }
      const ended = await this.#failed(attempt, outcome, record);
      if (ended !== undefined) return { attempt, ended };
    }
    const unpaid = this.#own === "busy" ? undefined : trail.holdRefusal;
    throw this.#lastOf(limits.attemptsMax) ?? unpaid ?? allBusy();
  }

  /** What the caller hears after so many attempts: others may be left, or were left out. */
  #lastOf(attemptsMax: number): Fault | undefined {
    const { gateway, plan, trail } = this.#parts;
    if (this.#last === undefined) return undefined;
    const others = [...plan.attempts.slice(this.#next), ...this.#later];
    const isLeft = others.some((one) => isOwnResource(one) || this.#closed() === undefined);
    if (isLeft) return endedBy(this.#last, `all ${attemptsMax} attempts that a request may make are used up`);
    const isOpen = failedAlone(gateway, trail) === undefined;
    const isUnpaid = isOpen && !plan.attempts.every(isOwnResource);
    return isUnpaid && trail.holdRefusal !== undefined ? withoutPay(this.#last, trail.holdRefusal) : this.#last.last;
  }

  /** Whose turn it is. */
  #take(): Attempt | undefined {
    const again = this.#again;
    if (again !== undefined) {
      this.#again = undefined;
      return again;
    }
    const { gateway, plan, covers } = this.#parts;
    for (;;) {
      const attempt = plan.attempts[this.#next];
      if (attempt === undefined) return this.#takeLater();
      this.#next += 1;
      if (this.#isClosed(attempt)) continue;
      if (this.#next > gateway.limits.attemptsMax && !covers(attempt)) this.#passOver(attempt, "dear");
      else if (this.#hasToWait(attempt)) this.#later.push(attempt);
      else return attempt;
    }
  }

  /** What was put off may have been shut since. */
  #takeLater(): Attempt | undefined {
    for (;;) {
      const attempt = this.#later.shift();
      if (attempt === undefined || !this.#isClosed(attempt)) return attempt;
    }
  }

  #isClosed(attempt: Attempt): boolean {
    const closed = isOwnResource(attempt) ? undefined : this.#closed();
    if (closed !== undefined) this.#untried(attempt, "next", closed);
    return closed !== undefined;
  }

  /** Why the platform's endpoints are not for this request. */
  #closed(): string | undefined {
    const { gateway, trail } = this.#parts;
    if (failedAlone(gateway, trail) !== undefined) return "passed over: only your own key is to be used, and it failed";
    return trail.holdRefusal === undefined ? undefined : "passed over: nothing could be reserved for it";
  }

  /** The plan has those who were aside at its end; who was put there since lets the others go first. */
  #hasToWait(attempt: Attempt): boolean {
    const { plan } = this.#parts;
    const isAside = (one: Attempt) => this.#breakersOf(one).circuitStateOf(one.endpoint.id) === "aside";
    if (!isAside(attempt)) return false;
    const others = plan.attempts.slice(this.#next);
    if (others.every(isAside)) return false;
    this.#passOver(attempt, "aside");
    return true;
  }

  /** How an endpoint does with one key says nothing of how it does with another; nor one node of another. */
  #breakersOf({ own, node, endpoint }: Attempt): CircuitBreakers {
    const { breakers, ownKeys, nodes, clock } = this.#parts.gateway;
    if (own === undefined && node === undefined) return breakers;
    const kept =
      node === undefined
        ? ownKeys.of(own?.workspaceId ?? "")?.keys.get(endpoint.provider)?.breakers
        : nodes.held(node.id)?.breakers;
    // A key or a node that was taken away while its request ran is told to nobody.
    return kept ?? new CircuitBreakers(clock);
  }

  /**
   * Places are the platform's share of an endpoint; who comes with a key of their own has a share of their own. A node
   * has as many as it says, for all its models together.
   */
  #placesOf({ own, node }: Attempt): Places | undefined {
    const { endpointSlots, nodes } = this.#parts.gateway;
    if (node !== undefined) return nodes.held(node.id);
    return own === undefined ? endpointSlots : undefined;
  }

  /** Whether one more attempt is within all bounds; it is full where somebody else is to be tried. */
  #enter(attempt: Attempt, places: Places | undefined): "entered" | "full" {
    const { retryBudget, onNotice } = this.#parts.gateway;
    const { id, provider } = attempt.endpoint;
    if (places?.acquire(id) === "full") {
      this.#passOver(attempt, "full");
      if (isOwnResource(attempt)) this.#own = "busy";
      return "full";
    }
    const isFurther = this.#asked > 0;
    if (isFurther && retryBudget.acquire() === "spent") {
      places?.release(id);
      throw this.#spent(attempt);
    }
    if (isFurther) onNotice({ is: "retried", provider, at: this.#repeated === "yes" ? "same" : "next" });
    this.#breakersOf(attempt).recordStart(id);
    return "entered";
  }

  async #failed(attempt: Attempt, { verdict }: Failed, told: Tried["record"]): Promise<Ended | undefined> {
    const { gateway, trail, relay } = this.#parts;
    const isCut = this.#time === "up" && verdict.is === "next" && verdict.blame.on === "nobody";
    const record = isCut ? { ...told, reason: TIME_UP } : told;
    trail.servingAttempt = undefined;
    // Who answered had the input, and so may have who was sent it and said nothing.
    if (record.upstreamStatus !== null || record.maybeAccepted) trail.addProcessingLocation(attempt.endpoint);
    if (verdict.is === "busy") return this.#busy(attempt, record);
    const waitMs = this.#waitBeforeAgain(verdict);
    if (verdict.is === "next" && verdict.unsayable && !record.maybeAccepted) trail.untried(record);
    else trail.addAttempt(waitMs === undefined ? record : { ...record, outcome: "retry" });
    if (verdict.is === "stop") throw verdict.fault;
    if (this.#time === "up") throw tooLong();
    this.#last = this.#toldOf(verdict);
    const isKeyOut = verdict.blame.on === "workspace" || verdict.keyGone === true;
    if (isKeyOut && attempt.own !== undefined) trail.failedOwnKeys.push(attempt.own);
    if (verdict.blame.on !== "nobody" || verdict.maybeAccepted) this.#asked += 1;
    if (waitMs === undefined) return undefined;
    this.#repeated = "yes";
    this.#again = attempt;
    if ((await pause(waitMs, relay, gateway.timers)) === "waited") return undefined;
    if (relay.gone) return { is: "gone", stream: undefined };
    throw tooLong();
  }

  /** It takes no more requests: nothing was asked of it, unless it had parts of this one before. */
  #busy(attempt: Attempt, record: Tried["record"]): undefined {
    const { gateway, trail } = this.#parts;
    if (record.maybeAccepted) {
      trail.addAttempt(record);
      this.#asked += 1;
    } else trail.untried({ ...record, reason: PASSED_OVER.full });
    gateway.onNotice({ is: "passed_over", provider: record.provider, why: "full" });
    if (isOwnResource(attempt)) this.#own = "busy";
    if (this.#time === "up") throw tooLong();
    return undefined;
  }

  /**
   * What the caller hears if nobody else answers. Whoever was asked and failed says more than who could not be, and an
   * answer that was not whole more than any failure after it.
   */
  #toldOf(verdict: Extract<Verdict, { is: "next" }>): Told {
    if (this.#last === undefined) return verdict;
    const isUnasked = verdict.unsayable === true || (verdict.unasked === true && this.#asked > 0);
    return isUnasked || this.#last.last.code === "upstream_invalid_answer" ? this.#last : verdict;
  }

  /** The same endpoint is asked once more, when nobody else is left, it may be, and there is time. */
  #waitBeforeAgain(verdict: Verdict): number | undefined {
    const { gateway, plan, deadlineMs } = this.#parts;
    if (verdict.is !== "next" || verdict.againAfterMs === undefined || this.#repeated === "yes") return undefined;
    if (this.#next < plan.attempts.length || this.#later.length > 0) return undefined;
    const jitterMs = gateway.random() * Math.max(JITTER_MS_MIN, verdict.againAfterMs * JITTER_SHARE);
    const waitMs = verdict.againAfterMs + jitterMs;
    return gateway.clock.monotonicMs() + waitMs < deadlineMs ? waitMs : undefined;
  }

  /** What the attempt shows of the endpoint, for the requests that come after. */
  #tell(attempt: Attempt, outcome: Outcome | undefined): void {
    const { onNotice } = this.#parts.gateway;
    const breakers = this.#breakersOf(attempt);
    const { id, provider } = attempt.endpoint;
    if (attempt.node !== undefined) this.#judgeNode(attempt.node.id, outcome);
    switch (outcome?.is) {
      case "whole":
      case "relayed":
        breakers.served(id);
        return;
      case "broke":
      case "failed": {
        const { verdict, upstreamStatus } = outcome;
        // A refusal says nothing of whether it could serve: else bad requests would keep a broken endpoint in its place.
        // Nor does the end of the request's time, or of the gateway, which breaks a stream as well.
        if (verdict.is !== "next" || verdict.blame.on === "nobody") breakers.recordInconclusive(id);
        // Were it set aside, the platform's endpoints would go first: they are what `only` does not want.
        else if (verdict.blame.on === "workspace" && this.#isAlone(attempt)) breakers.recordInconclusive(id);
        // A wait of nothing is no wait.
        else if (verdict.blame.on === "endpoint") breakers.recordFailure(id, verdict.blame.retryAfterMs || undefined);
        else if (upstreamStatus === NOT_FOUND && this.#parts.namesKept()) breakers.recordInconclusive(id);
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

  #isAlone({ own }: Attempt): boolean {
    return own !== undefined && useNow(this.#parts.gateway, own) === "only";
  }

  /** A machine that anyone can put anything on is not asked again after an answer that cannot be. */
  #judgeNode(nodeId: string, outcome: Outcome | undefined): void {
    const { nodes } = this.#parts.gateway;
    if (outcome?.is !== "failed" && outcome?.is !== "broke") return;
    const { verdict } = outcome;
    if (verdict.is !== "next" || verdict.blame.on === "nobody") return;
    nodes.held(nodeId)?.failed(verdict.why);
    if (verdict.malformed === true) nodes.lied(nodeId, verdict.why);
  }

  #passOver(attempt: Attempt, why: PassedOver): void {
    this.#untried(attempt, "next", PASSED_OVER[why]);
    this.#parts.gateway.onNotice({ is: "passed_over", provider: attempt.endpoint.provider, why });
  }

  #spent(attempt: Attempt): Fault {
    this.#untried(attempt, "stop", "not tried: the retry budget is spent");
    this.#parts.gateway.onNotice({ is: "budget_spent", provider: attempt.endpoint.provider });
    return this.#last === undefined
      ? allBusy()
      : endedBy(this.#last, "the gateway's budget for further attempts is spent");
  }

  #untried({ endpoint, own }: Attempt, outcome: "next" | "stop", reason: string): void {
    const { gateway, trail } = this.#parts;
    trail.untried({
      endpoint: endpoint.id,
      provider: endpoint.provider,
      startedAtMs: gateway.clock.nowMs(),
      durationMs: 0,
      outcome,
      upstreamStatus: null,
      reason,
      maybeAccepted: false,
      ...(own === undefined ? {} : { ownKey: true }),
    });
  }
}

/** The last failure where money would have had others asked: whoever looks after the wallet can do something. */
function withoutPay(last: Told, unpaid: Fault): Fault {
  const ended = endedBy(last, "nothing could be reserved for the others");
  return ended.reworded({ message: `${ended.message} ${unpaid.message}` });
}

function allBusy(): Fault {
  return fault("rate_limit_exceeded", {
    message:
      "Every endpoint that may serve this request has as many requests as it may have at once. Try again shortly.",
    headers: { "retry-after": "1" },
  });
}

function tooLong(): Fault {
  return fault("upstream_timeout", {
    message:
      "The request took longer than this gateway allows. Ask for less at once, or stream where that is possible.",
  });
}

/** A wait that ends at once when the client leaves or the time of the request is up. */
function pause(ms: number, relay: Relay, timers: Timers): Promise<"waited" | "cancelled"> {
  return new Promise((resolve) => {
    const timer = timers.after(ms, () => resolve("waited"));
    relay.cancelWith(() => {
      cancelTimer(timer);
      resolve("cancelled");
    });
  });
}
