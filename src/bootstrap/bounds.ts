import type { Gateway } from "../app/pipeline/gateway-deps.ts";
import { AdmissionQueue } from "../domain/admission/admission-queue.ts";
import { ConcurrencyLimiter } from "../domain/admission/concurrency-limiter.ts";
import { RetryBudget } from "../domain/admission/retry-budget.ts";
import { type CircuitBreakerRules, CircuitBreakers } from "../domain/routing/circuit-breakers.ts";
import { systemClock } from "../kit/clock.ts";
import { DeadlineQueue } from "../kit/deadline-queue.ts";
import { cancelTimer, systemTimers } from "../kit/timers.ts";
import type { Config } from "../settings/config.ts";

/** Frames longer than this are no frames of a chat. */
const FRAME_CHARS_MAX = 16 * 1024 * 1024;

const ATTEMPTS_MAX = 5;

/** A request that has not come whole by then is cut off. */
export const ARRIVING_MAX_MS = 300_000;

/** A hold that outlives every request by this much was lost. */
const HOLD_GRACE_MS = 60_000;

/** How long is waited for whose the end of background work is. Of two runs, one after the other, the money is still held. */
export const END_WAIT_MS = HOLD_GRACE_MS / 3;

/** The longest time aside, in times of the first. */
const ASIDE_TIMES_MAX = 10;

/** How long a request can hold money. */
export function holdMaxMs(config: Pick<Config, "GATEWAY_REQUEST_TIMEOUT_MS">): number {
  return config.GATEWAY_REQUEST_TIMEOUT_MS + HOLD_GRACE_MS;
}

export function limitsOf(config: Config): Gateway["limits"] {
  return {
    holdOutputTokens: config.GATEWAY_HOLD_OUTPUT_TOKENS,
    requestTimeoutMs: config.GATEWAY_REQUEST_TIMEOUT_MS,
    answerMaxBytes: config.GATEWAY_ANSWER_MAX_BYTES,
    frameMaxChars: FRAME_CHARS_MAX,
    keepAliveMs: config.GATEWAY_KEEP_ALIVE_MS,
    attemptsMax: ATTEMPTS_MAX,
    queueWaitMs: config.GATEWAY_QUEUE_WAIT_MS,
  };
}

export function breakerRulesOf({
  GATEWAY_ASIDE_FAILURES: failuresInARow,
  GATEWAY_ASIDE_MS: asideMs,
}: Config): CircuitBreakerRules {
  return { failuresInARow, asideMs, asideMsMax: ASIDE_TIMES_MAX * asideMs };
}

/** What keeps a crowd, or a provider that fails, from taking everybody else with it. */
export function boundsOf(config: Config) {
  return {
    breakers: new CircuitBreakers(systemClock, breakerRulesOf(config)),
    queue: new AdmissionQueue(
      {
        slots: config.GATEWAY_QUEUE_CONCURRENCY,
        queuedMax: config.GATEWAY_QUEUE_LENGTH,
        waitMs: config.GATEWAY_QUEUE_WAIT_MS,
      },
      (ms, then) => {
        // In two halves: where this process stood still over the first one's end, places come free in the second by what came
        // meanwhile. Over the end of the second they have one turn for it.
        let timer = systemTimers.after(ms / 2, () => {
          timer = systemTimers.after(ms / 2, then);
        });
        return () => cancelTimer(timer);
      },
    ),
    budget: new RetryBudget(config.GATEWAY_RETRY_PERCENT / 100),
    deadlines: new DeadlineQueue(systemClock, systemTimers),
    signsOfLife: new DeadlineQueue(systemClock, systemTimers),
    places: new ConcurrencyLimiter(config.GATEWAY_ENDPOINT_CONCURRENCY),
    random: Math.random,
  };
}
