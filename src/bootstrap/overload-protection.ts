import type { GatewayDeps } from "../app/pipeline/gateway-deps.ts";
import { AdmissionQueue, ConcurrencyLimiter, RetryBudget } from "../domain/admission/overload-protection.ts";
import { CircuitBreakers } from "../domain/routing/endpoint-health.ts";
import type { CircuitBreakerRules } from "../domain/routing/failing-circuits.ts";
import type { ResponseTimeouts } from "../io/upstream/transport.ts";
import { systemClock } from "../kit/clock.ts";
import { DeadlineQueue } from "../kit/deadline-queue.ts";
import { cancelTimer, systemTimers } from "../kit/timers.ts";
import { type Config, SILENCE_MS_DEFAULT } from "../settings/config.ts";

const ATTEMPTS_MAX = 5;

/** How long a client may take to send a whole request. */
export const REQUEST_READ_TIMEOUT_MS = 300_000;

/** A hold that is this much older than the longest request is an orphan. */
const HOLD_GRACE_MS = 60_000;

/** How long a background job waits for the store to confirm its end: two consecutive runs still fit into the grace. */
export const JOB_END_WAIT_MS = HOLD_GRACE_MS / 3;

/** Longest open time of a circuit, as a multiple of the first. */
const OPEN_TIME_FACTOR_MAX = 10;

/** Longest time that a request can hold money. */
export function holdMaxMs(config: Pick<Config, "GATEWAY_REQUEST_TIMEOUT_MS">): number {
  return config.GATEWAY_REQUEST_TIMEOUT_MS + HOLD_GRACE_MS;
}

export function pipelineLimits(config: Config): GatewayDeps["limits"] {
  return {
    holdOutputTokens: config.GATEWAY_HOLD_OUTPUT_TOKENS,
    requestTimeoutMs: config.GATEWAY_REQUEST_TIMEOUT_MS,
    responseMaxBytes: config.GATEWAY_ANSWER_MAX_BYTES,
    wholeResponse: wholeResponseTimeouts(config),
    frameMaxChars: config.GATEWAY_ANSWER_MAX_EVENT,
    binaryFrameMaxBytes: config.GATEWAY_ANSWER_MAX_BINARY_EVENT,
    preambleMaxChars: config.GATEWAY_ANSWER_MAX_PREAMBLE,
    keepAliveMs: config.GATEWAY_KEEP_ALIVE_MS,
    attemptsMax: ATTEMPTS_MAX,
    queueWaitMs: config.GATEWAY_QUEUE_WAIT_MS,
  };
}

const WHOLE_RESPONSE_MS_DEFAULT = 600_000;

/** An operator who set the timeouts of streams expects them for every response. */
function wholeResponseTimeouts({
  GATEWAY_WHOLE_RESPONSE_TIMEOUT_MS: wholeMs,
  GATEWAY_FIRST_BYTE_TIMEOUT_MS: firstByteMs,
  GATEWAY_IDLE_TIMEOUT_MS: idleMs,
}: Config): ResponseTimeouts {
  const timeoutMs = (streamedMs: number) =>
    wholeMs ?? (streamedMs === SILENCE_MS_DEFAULT ? WHOLE_RESPONSE_MS_DEFAULT : streamedMs);
  return { firstByteTimeoutMs: timeoutMs(firstByteMs), idleTimeoutMs: timeoutMs(idleMs) };
}

export function circuitBreakerRules({
  GATEWAY_ASIDE_FAILURES: consecutiveFailures,
  GATEWAY_ASIDE_MS: openMs,
}: Config): CircuitBreakerRules {
  return { consecutiveFailures, openMs, openMsMax: OPEN_TIME_FACTOR_MAX * openMs };
}

export type OverloadProtection = ReturnType<typeof createOverloadProtection>;

/** Circuit breakers, queue, retry budget and concurrency limits of the request path. */
export function createOverloadProtection(config: Config, random: () => number) {
  return {
    breakers: new CircuitBreakers(systemClock, circuitBreakerRules(config)),
    queue: new AdmissionQueue(
      {
        slots: config.GATEWAY_QUEUE_CONCURRENCY,
        queuedMax: config.GATEWAY_QUEUE_LENGTH,
        waitMs: config.GATEWAY_QUEUE_WAIT_MS,
      },
      (ms, onTimeout) => {
        // Two halves: after an event-loop stall in the first, the second leaves time to process events that free slots.
        let timer = systemTimers.after(ms / 2, () => {
          timer = systemTimers.after(ms / 2, onTimeout);
        });
        return () => cancelTimer(timer);
      },
    ),
    retryBudget: new RetryBudget(config.GATEWAY_RETRY_PERCENT / 100),
    deadlines: new DeadlineQueue(systemClock, systemTimers),
    keepAlives: new DeadlineQueue(systemClock, systemTimers),
    endpointSlots: new ConcurrencyLimiter(config.GATEWAY_ENDPOINT_CONCURRENCY),
    random,
  };
}
