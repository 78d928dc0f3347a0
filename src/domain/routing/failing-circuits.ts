import type { Clock } from "../../kit/clock.ts";
import type { CircuitState } from "./circuit-state.ts";
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

/** Other instances keep the circuit open while the probing instance renews this lease. */
const PROBE_LEASE_MS = 5_000;

const ONLY_INSTANCE: ProbeOrder = { index: 0, count: 1 };

const CLOSED_CIRCUIT: Readonly<LocalCircuit> = {
  consecutiveFailures: 0,
  openCount: 0,
  openUntilMonotonicMs: 0,
  isProbing: false,
  openedAtMs: 0,
  openUntilMs: 0,
  isContradicted: false,
};

/**
 * The circuits of endpoints that failed since their last success, on this instance or on another. Circuits that other
 * instances opened count here too, until any instance succeeds.
 */
export class FailingCircuits {
  /** Bounded by the catalogue, and mostly empty. */
  readonly local = new Map<string, LocalCircuit>();
  remote = new Map<string, RemoteCircuit>();
  onChange: () => void = () => undefined;
  readonly #clock: Clock;
  readonly #rules: CircuitBreakerRules;
  /** Endpoints that succeeded here while another instance reported them open, with the time of that opening. */
  readonly #refutations = new Map<string, number>();
  #probeOrder = ONLY_INSTANCE;

  constructor(clock: Clock, rules: CircuitBreakerRules) {
    this.#clock = clock;
    this.#rules = rules;
  }

  stateOf(endpointId: string): CircuitState {
    const local = this.local.get(endpointId);
    const remote = this.remote.get(endpointId);
    const openUntilMs = latestOpenUntil(local, remote);
    if (openUntilMs === 0) return "closed";
    if (local?.isProbing === true || remote?.isProbing === true) return "open";
    const delayMs = probeDelayMs(this.#probeOrder, highestOpenCount(local, remote));
    return this.#clock.monotonicMs() < openUntilMs + delayMs ? "open" : "half_open";
  }

  /** The first attempt on a half-open circuit is its probe. */
  recordStart(endpointId: string): void {
    const remote = this.remote.get(endpointId);
    if (remote !== undefined) remote.wasTried = true;
    if (this.stateOf(endpointId) !== "half_open") return;
    for (const circuit of [this.local.get(endpointId), remote]) if (circuit !== undefined) circuit.isProbing = true;
    this.onChange();
  }

  recordSuccess(endpointId: string): void {
    const local = this.local.get(endpointId);
    this.local.delete(endpointId);
    if (local !== undefined && local.openUntilMonotonicMs > 0) this.onChange();
    const remote = this.remote.get(endpointId);
    if (remote?.wasTried === true) {
      this.remote.delete(endpointId);
      this.#refutations.set(endpointId, remote.openedAtMs);
      this.onChange();
    } else if (remote?.isProbing === true) {
      // An attempt that started before the report arrived refutes nothing, but the probe is over.
      remote.isProbing = false;
      this.onChange();
    }
  }

  /** The attempt says nothing about the endpoint: the client disconnected, or the request itself was rejected. */
  recordInconclusive(endpointId: string): void {
    for (const circuit of [this.local.get(endpointId), this.remote.get(endpointId)]) {
      if (circuit?.isProbing !== true) continue;
      circuit.isProbing = false;
      this.onChange();
    }
  }

  /** A `Retry-After` opens the circuit at the first failure. True when the open period was started or extended. */
  recordFailure(endpointId: string, retryAfterMs: number | undefined, atMs: number): boolean {
    const remote = this.remote.get(endpointId);
    const local = this.local.get(endpointId) ?? { ...CLOSED_CIRCUIT };
    this.local.set(endpointId, local);
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
    const hasOpened = local.openUntilMonotonicMs > openUntilBefore;
    if (hasOpened) {
      local.openedAtMs = atMs;
      local.openUntilMs = Math.ceil(local.openedAtMs + local.openUntilMonotonicMs - nowMs);
    }
    // A longer open period is reported with the next periodic exchange: many rejected requests must not cause many messages.
    if (isProbe || (!wasOpen && hasOpened)) this.onChange();
    return hasOpened;
  }

  /** What this instance observed itself, for the others. */
  report(): CircuitReport {
    const leaseMs = this.#clock.nowMs() + PROBE_LEASE_MS;
    const openCircuits: OpenCircuitReport[] = [];
    for (const [endpoint, local] of this.local) {
      const { openUntilMonotonicMs, openedAtMs, openUntilMs, openCount, isProbing, isContradicted } = local;
      if (openUntilMonotonicMs > 0 && !isContradicted)
        openCircuits.push({ endpoint, openedAtMs, openUntilMs: isProbing ? leaseMs : openUntilMs, openCount });
    }
    for (const [endpoint, { openedAtMs, openCount, isProbing }] of this.remote)
      if (isProbing) openCircuits.push({ endpoint, openedAtMs, openUntilMs: leaseMs, openCount });
    return { openCircuits, refutations: [...this.#refutations].map(([endpoint, sinceMs]) => ({ endpoint, sinceMs })) };
  }

  /** Replaces all earlier reports of the other instances. */
  applyReports(reports: readonly CircuitReport[], probeOrder: ProbeOrder): void {
    this.#probeOrder = probeOrder;
    const remoteRefutations = refutationsIn(reports);
    for (const [endpoint, local] of this.local)
      if (local.openUntilMonotonicMs > 0 && local.openedAtMs <= (remoteRefutations.get(endpoint) ?? 0))
        local.isContradicted = true;
    const reported = new Set(reports.flatMap(({ openCircuits }) => openCircuits.map(({ endpoint }) => endpoint)));
    for (const endpoint of this.#refutations.keys()) if (!reported.has(endpoint)) this.#refutations.delete(endpoint);
    this.remote = mergeReports(reports, {
      refutations: refutationsIn([...reports, this.report()]),
      before: this.remote,
      clock: this.#clock,
      openMsMax: this.#rules.openMsMax,
    });
  }

  /** When the open period ends, on the monotonic clock; 0: closed. */
  openUntilMs(endpointId: string): number {
    return latestOpenUntil(this.local.get(endpointId), this.remote.get(endpointId));
  }
}

function latestOpenUntil(local: LocalCircuit | undefined, remote: RemoteCircuit | undefined): number {
  return Math.max(local?.openUntilMonotonicMs ?? 0, remote?.openUntilMonotonicMs ?? 0);
}

function highestOpenCount(local: LocalCircuit | undefined, remote: RemoteCircuit | undefined): number {
  return Math.max(local?.openCount ?? 0, remote?.openCount ?? 0);
}
