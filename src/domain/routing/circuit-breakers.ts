import type { Clock } from "../../kit/clock.ts";
import type { CircuitState, CircuitStateReader } from "./circuit-state.ts";
import { CIRCUIT_BREAKER_RULES, type CircuitBreakerRules, FailingCircuits } from "./failing-circuits.ts";
import type { CircuitReport, ProbeOrder } from "./remote-circuit-state.ts";

/** Since the process started. */
type AttemptCounts = { served: number; failed: number; timesOpened: number; lastFailedAtMs: number | null };

const NO_ATTEMPTS: Readonly<AttemptCounts> = { served: 0, failed: 0, timesOpened: 0, lastFailedAtMs: null };

/** For the operator's view of an endpoint. */
type CircuitStatus = Readonly<AttemptCounts> & {
  readonly circuitState: CircuitState;
  readonly consecutiveFailures: number;
  /** Null when the open period is over or the circuit is closed. */
  readonly openForMs: number | null;
};

/**
 * A circuit breaker per endpoint. An open circuit ranks its endpoint last instead of removing it, so a pool in which every
 * endpoint fails is still tried.
 */
export class CircuitBreakers implements CircuitStateReader {
  readonly #clock: Clock;
  readonly #rules: CircuitBreakerRules;
  readonly #failing: FailingCircuits;
  /** Bounded by the catalogue. */
  readonly #counts = new Map<string, AttemptCounts>();

  constructor(clock: Clock, rules: CircuitBreakerRules = CIRCUIT_BREAKER_RULES) {
    this.#clock = clock;
    this.#rules = rules;
    this.#failing = new FailingCircuits(clock, rules);
  }

  circuitStateOf(endpointId: string): CircuitState {
    return this.#areAllClosed ? "closed" : this.#failing.stateOf(endpointId);
  }

  recordStart(endpointId: string): void {
    if (!this.#areAllClosed) this.#failing.recordStart(endpointId);
  }

  recordSuccess(endpointId: string): void {
    this.#countsOf(endpointId).served += 1;
    if (!this.#areAllClosed) this.#failing.recordSuccess(endpointId);
  }

  /** The attempt says nothing about the endpoint: the client disconnected, or the request itself was rejected. */
  recordInconclusive(endpointId: string): void {
    if (!this.#areAllClosed) this.#failing.recordInconclusive(endpointId);
  }

  recordFailure(endpointId: string, retryAfterMs: number | undefined): void {
    const counts = this.#countsOf(endpointId);
    counts.failed += 1;
    counts.lastFailedAtMs = this.#clock.nowMs();
    if (this.#rules.consecutiveFailures === 0) return;
    if (this.#failing.recordFailure(endpointId, retryAfterMs, counts.lastFailedAtMs)) counts.timesOpened += 1;
  }

  /** Calls back when a circuit opens, is probed or closes, so that other instances are notified soon. */
  onChange(callback: () => void): void {
    this.#failing.onChange = callback;
  }

  /** What this instance observed itself, for the others. */
  report(): CircuitReport {
    return this.#failing.report();
  }

  /** Replaces all earlier reports of the other instances. */
  applyReports(reports: readonly CircuitReport[], probeOrder: ProbeOrder): void {
    if (this.#rules.consecutiveFailures > 0) this.#failing.applyReports(reports, probeOrder);
  }

  statusOf(endpointId: string): CircuitStatus {
    const openUntilMs = this.#failing.openUntilMs(endpointId);
    const leftMs = openUntilMs - this.#clock.monotonicMs();
    return {
      ...(this.#counts.get(endpointId) ?? NO_ATTEMPTS),
      circuitState: this.circuitStateOf(endpointId),
      consecutiveFailures: this.#failing.local.get(endpointId)?.consecutiveFailures ?? 0,
      openForMs: openUntilMs === 0 || leftMs <= 0 ? null : leftMs,
    };
  }

  /** The ids of endpoints whose circuit is open. */
  get openCircuits(): string[] {
    const known = new Set([...this.#failing.local.keys(), ...this.#failing.remote.keys()]);
    return [...known].filter((id) => this.circuitStateOf(id) === "open");
  }

  /** The fast path of nearly every request. */
  get #areAllClosed(): boolean {
    return this.#failing.local.size === 0 && this.#failing.remote.size === 0;
  }

  #countsOf(endpointId: string): AttemptCounts {
    const known = this.#counts.get(endpointId);
    if (known !== undefined) return known;
    const counts = { ...NO_ATTEMPTS };
    this.#counts.set(endpointId, counts);
    return counts;
  }
}
