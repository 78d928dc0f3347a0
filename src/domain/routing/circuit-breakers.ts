import type { Clock } from "../../kit/clock.ts";
import type { CircuitState, CircuitStateReader } from "./circuit-state.ts";
import {
  type CircuitReport,
  mergeReports,
  type OpenCircuitReport,
  type ProbeOrder,
  probeDelayMs,
  type RemoteCircuit,
  refutationsIn,
} from "./remote-circuit-state.ts";

export type CircuitBreakerRules = {
  /** Opens the circuit; 0 disables circuit breaking. */
  readonly consecutiveFailures: number;
  /** The first open period; each reopening adds as much again. */
  readonly openMs: number;
  readonly openMsMax: number;
};

export const CIRCUIT_BREAKER_RULES: CircuitBreakerRules = {
  consecutiveFailures: 5,
  openMs: 30_000,
  openMsMax: 300_000,
};

type LocalCircuit = {
  consecutiveFailures: number;
  /** How often it opened since the last success. */
  openCount: number;
  /** On the monotonic clock; 0 when closed. */
  openUntilMonotonicMs: number;
  isProbing: boolean;
  /** On the wall clock, for the report to other instances. */
  openedAtMs: number;
  openUntilMs: number;
  /** Another instance succeeded since it opened here, so the fault is local and is not reported. */
  isContradicted: boolean;
};

/** Since the process started. */
type AttemptCounts = { served: number; failed: number; timesOpened: number; lastFailedAtMs: number | null };

/** Other instances keep the circuit open while the probing instance renews this lease. */
const PROBE_LEASE_MS = 5_000;

const ONLY_INSTANCE: ProbeOrder = { index: 0, count: 1 };

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
 * endpoint fails is still tried. Circuits that other instances opened count here too, until any instance succeeds.
 */
export class CircuitBreakers implements CircuitStateReader {
  readonly #clock: Clock;
  readonly #rules: CircuitBreakerRules;
  /** Only endpoints that failed since their last success: bounded by the catalogue, and mostly empty. */
  readonly #circuits = new Map<string, LocalCircuit>();
  /** Bounded by the catalogue. */
  readonly #counts = new Map<string, AttemptCounts>();
  #remote = new Map<string, RemoteCircuit>();
  /** Endpoints that succeeded here while another instance reported them open, with the time of that opening. */
  readonly #refutations = new Map<string, number>();
  #probeOrder = ONLY_INSTANCE;
  #onChange: () => void = () => undefined;

  constructor(clock: Clock, rules: CircuitBreakerRules = CIRCUIT_BREAKER_RULES) {
    this.#clock = clock;
    this.#rules = rules;
  }

  circuitStateOf(endpointId: string): CircuitState {
    if (this.#areAllClosed) return "closed";
    const local = this.#circuits.get(endpointId);
    const remote = this.#remote.get(endpointId);
    const openUntilMs = latestOpenUntil(local, remote);
    if (openUntilMs === 0) return "closed";
    if (local?.isProbing === true || remote?.isProbing === true) return "open";
    const delayMs = probeDelayMs(this.#probeOrder, highestOpenCount(local, remote));
    return this.#clock.monotonicMs() < openUntilMs + delayMs ? "open" : "half_open";
  }

  /** The first attempt on a half-open circuit is its probe. */
  recordStart(endpointId: string): void {
    if (this.#areAllClosed) return;
    const remote = this.#remote.get(endpointId);
    if (remote !== undefined) remote.wasTried = true;
    if (this.circuitStateOf(endpointId) !== "half_open") return;
    for (const circuit of [this.#circuits.get(endpointId), remote]) if (circuit !== undefined) circuit.isProbing = true;
    this.#onChange();
  }

  recordSuccess(endpointId: string): void {
    this.#countsOf(endpointId).served += 1;
    if (this.#areAllClosed) return;
    const local = this.#circuits.get(endpointId);
    this.#circuits.delete(endpointId);
    if (local !== undefined && local.openUntilMonotonicMs > 0) this.#onChange();
    const remote = this.#remote.get(endpointId);
    if (remote?.wasTried === true) {
      this.#remote.delete(endpointId);
      this.#refutations.set(endpointId, remote.openedAtMs);
      this.#onChange();
    } else if (remote?.isProbing === true) {
      // An attempt that started before the report arrived refutes nothing, but the probe is over.
      remote.isProbing = false;
      this.#onChange();
    }
  }

  /** The attempt says nothing about the endpoint: the client disconnected, or the request itself was rejected. */
  recordInconclusive(endpointId: string): void {
    if (this.#areAllClosed) return;
    for (const circuit of [this.#circuits.get(endpointId), this.#remote.get(endpointId)]) {
      if (circuit?.isProbing !== true) continue;
      circuit.isProbing = false;
      this.#onChange();
    }
  }

  /** A `Retry-After` opens the circuit at the first failure. */
  recordFailure(endpointId: string, retryAfterMs: number | undefined): void {
    const counts = this.#countsOf(endpointId);
    counts.failed += 1;
    counts.lastFailedAtMs = this.#clock.nowMs();
    if (this.#rules.consecutiveFailures === 0) return;
    const remote = this.#remote.get(endpointId);
    const local = this.#circuits.get(endpointId) ?? { ...CLOSED_CIRCUIT };
    this.#circuits.set(endpointId, local);
    const { consecutiveFailures, openMs, openMsMax } = this.#rules;
    const nowMs = this.#clock.monotonicMs();
    const isProbe = local.isProbing || remote?.isProbing === true;
    const wasOpen = nowMs < latestOpenUntil(local, remote);
    local.consecutiveFailures += 1;
    const openUntilBefore = local.openUntilMonotonicMs;
    if (retryAfterMs !== undefined) {
      local.openUntilMonotonicMs = Math.max(local.openUntilMonotonicMs, nowMs + Math.min(retryAfterMs, openMsMax));
      // The provider answered, so the fault is not local and applies to every instance.
      local.isContradicted = false;
    } else if (isProbe || (local.consecutiveFailures >= consecutiveFailures && !wasOpen)) {
      local.openCount = highestOpenCount(local, remote) + 1;
      local.consecutiveFailures = 0;
      local.openUntilMonotonicMs = nowMs + Math.min(local.openCount * openMs, openMsMax);
    }
    local.isProbing = false;
    if (remote !== undefined) remote.isProbing = false;
    if (local.openUntilMonotonicMs > openUntilBefore) {
      counts.timesOpened += 1;
      local.openedAtMs = counts.lastFailedAtMs;
      local.openUntilMs = Math.ceil(local.openedAtMs + local.openUntilMonotonicMs - nowMs);
    }
    // A longer open period is reported with the next periodic exchange: many rejected requests must not cause many messages.
    if (isProbe || (!wasOpen && local.openUntilMonotonicMs > openUntilBefore)) this.#onChange();
  }

  /** Calls back when a circuit opens, is probed or closes, so that other instances are notified soon. */
  onChange(callback: () => void): void {
    this.#onChange = callback;
  }

  /** What this instance observed itself, for the others. */
  report(): CircuitReport {
    const leaseMs = this.#clock.nowMs() + PROBE_LEASE_MS;
    const openCircuits: OpenCircuitReport[] = [];
    for (const [endpoint, local] of this.#circuits) {
      const { openUntilMonotonicMs, openedAtMs, openUntilMs, openCount, isProbing, isContradicted } = local;
      if (openUntilMonotonicMs > 0 && !isContradicted)
        openCircuits.push({ endpoint, openedAtMs, openUntilMs: isProbing ? leaseMs : openUntilMs, openCount });
    }
    for (const [endpoint, { openedAtMs, openCount, isProbing }] of this.#remote)
      if (isProbing) openCircuits.push({ endpoint, openedAtMs, openUntilMs: leaseMs, openCount });
    return { openCircuits, refutations: [...this.#refutations].map(([endpoint, sinceMs]) => ({ endpoint, sinceMs })) };
  }

  /** Replaces all earlier reports of the other instances. */
  applyReports(reports: readonly CircuitReport[], probeOrder: ProbeOrder): void {
    if (this.#rules.consecutiveFailures === 0) return;
    this.#probeOrder = probeOrder;
    const remoteRefutations = refutationsIn(reports);
    for (const [endpoint, local] of this.#circuits)
      if (local.openUntilMonotonicMs > 0 && local.openedAtMs <= (remoteRefutations.get(endpoint) ?? 0))
        local.isContradicted = true;
    const reported = new Set(reports.flatMap(({ openCircuits }) => openCircuits.map(({ endpoint }) => endpoint)));
    for (const endpoint of this.#refutations.keys()) if (!reported.has(endpoint)) this.#refutations.delete(endpoint);
    this.#remote = mergeReports(reports, {
      refutations: refutationsIn([...reports, this.report()]),
      before: this.#remote,
      clock: this.#clock,
      openMsMax: this.#rules.openMsMax,
    });
  }

  statusOf(endpointId: string): CircuitStatus {
    const local = this.#circuits.get(endpointId);
    const openUntilMs = latestOpenUntil(local, this.#remote.get(endpointId));
    const leftMs = openUntilMs - this.#clock.monotonicMs();
    return {
      ...(this.#counts.get(endpointId) ?? NO_ATTEMPTS),
      circuitState: this.circuitStateOf(endpointId),
      consecutiveFailures: local?.consecutiveFailures ?? 0,
      openForMs: openUntilMs === 0 || leftMs <= 0 ? null : leftMs,
    };
  }

  /** The ids of endpoints whose circuit is open. */
  get openCircuits(): string[] {
    const known = new Set([...this.#circuits.keys(), ...this.#remote.keys()]);
    return [...known].filter((id) => this.circuitStateOf(id) === "open");
  }

  /** The fast path of nearly every request. */
  get #areAllClosed(): boolean {
    return this.#circuits.size === 0 && this.#remote.size === 0;
  }

  #countsOf(endpointId: string): AttemptCounts {
    const known = this.#counts.get(endpointId);
    if (known !== undefined) return known;
    const counts = { ...NO_ATTEMPTS };
    this.#counts.set(endpointId, counts);
    return counts;
  }
}

const CLOSED_CIRCUIT: Readonly<LocalCircuit> = {
  consecutiveFailures: 0,
  openCount: 0,
  openUntilMonotonicMs: 0,
  isProbing: false,
  openedAtMs: 0,
  openUntilMs: 0,
  isContradicted: false,
};

function latestOpenUntil(local: LocalCircuit | undefined, remote: RemoteCircuit | undefined): number {
  return Math.max(local?.openUntilMonotonicMs ?? 0, remote?.openUntilMonotonicMs ?? 0);
}

function highestOpenCount(local: LocalCircuit | undefined, remote: RemoteCircuit | undefined): number {
  return Math.max(local?.openCount ?? 0, remote?.openCount ?? 0);
}
