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
  /** So many failures in a row set an endpoint aside; 0: nobody is ever set aside. */
  readonly consecutiveFailures: number;
  /** For how long the first time; each further time adds as much again. */
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
  /** How often it was set aside without having served since. */
  openCount: number;
  openUntilMonotonicMs: number;
  isProbing: "no" | "yes";
  /** When it was set aside last, and until when, by the clock that other instances have as well. */
  openedAtMs: number;
  openUntilMs: number;
  /** Another instance was served since it was set aside here: what is wrong is between here and there. */
  isContradicted: boolean;
};

/** What became of an endpoint's attempts since the process began. */
type AttemptCounts = { served: number; failed: number; timesOpened: number; lastFailedAtMs: number | null };

/** Others stay away from an endpoint that is being probed for as long as this is said again. */
const PROBE_LEASE_MS = 5_000;

const ONLY_INSTANCE: ProbeOrder = { index: 0, count: 1 };

const NO_ATTEMPTS: Readonly<AttemptCounts> = { served: 0, failed: 0, timesOpened: 0, lastFailedAtMs: null };

/** How an endpoint stands, for who looks after the gateway. */
type CircuitStatus = Readonly<AttemptCounts> & {
  readonly circuitState: CircuitState;
  readonly consecutiveFailures: number;
  /** How long it is left alone from now on; null: it is not. */
  readonly openForMs: number | null;
};

/**
 * Sets endpoints aside that keep failing and lets one request find out whether they are back. Nobody is ever taken out
 * of a pool: who is set aside is tried last, so a pool in which everyone fails still has someone to try. What other
 * instances have set aside counts here as well, until one of them, or this one, was served.
 */
export class CircuitBreakers implements CircuitStateReader {
  readonly #clock: Clock;
  readonly #rules: CircuitBreakerRules;
  /** Only endpoints that failed since they last served: bounded by the catalogue, and mostly empty. */
  readonly #circuits = new Map<string, LocalCircuit>();
  /** Endpoints that were ever asked; bounded by the catalogue. */
  readonly #counts = new Map<string, AttemptCounts>();
  /** What other instances have set aside; empty where there are none. */
  #remote = new Map<string, RemoteCircuit>();
  /** Endpoints that served although another instance had set them aside: when it had. */
  readonly #refutations = new Map<string, number>();
  #probeOrder = ONLY_INSTANCE;
  #onChange: () => void = () => undefined;

  constructor(clock: Clock, rules: CircuitBreakerRules = CIRCUIT_BREAKER_RULES) {
    this.#clock = clock;
    this.#rules = rules;
  }

  circuitStateOf(endpointId: string): CircuitState {
    if (this.#areAllClosed) return "in";
    const state = this.#circuits.get(endpointId);
    const heard = this.#remote.get(endpointId);
    const asideUntilMs = latestOpenUntil(state, heard);
    if (asideUntilMs === 0) return "in";
    if (state?.isProbing === "yes" || heard?.isProbing === "yes") return "aside";
    const turnMs = probeDelayMs(this.#probeOrder, highestOpenCount(state, heard));
    return this.#clock.monotonicMs() < asideUntilMs + turnMs ? "aside" : "probe";
  }

  /** An attempt begins; the first one after the time aside is the probe. */
  recordStart(endpointId: string): void {
    if (this.#areAllClosed) return;
    const heard = this.#remote.get(endpointId);
    if (heard !== undefined) heard.wasTried = true;
    if (this.circuitStateOf(endpointId) !== "probe") return;
    for (const one of [this.#circuits.get(endpointId), heard]) if (one !== undefined) one.isProbing = "yes";
    this.#onChange();
  }

  recordSuccess(endpointId: string): void {
    this.#countsOf(endpointId).served += 1;
    if (this.#areAllClosed) return;
    const state = this.#circuits.get(endpointId);
    this.#circuits.delete(endpointId);
    if (state !== undefined && state.openUntilMonotonicMs > 0) this.#onChange();
    const heard = this.#remote.get(endpointId);
    if (heard?.wasTried === true) {
      this.#remote.delete(endpointId);
      this.#refutations.set(endpointId, heard.openedAtMs);
      this.#onChange();
    } else if (heard?.isProbing === "yes") {
      // An answer that was on its way before others spoke refutes nothing; that it was a probe is over all the same.
      heard.isProbing = "no";
      this.#onChange();
    }
  }

  /** The attempt ended without telling anything of the endpoint: the caller left, or the request itself was refused. */
  recordInconclusive(endpointId: string): void {
    if (this.#areAllClosed) return;
    for (const one of [this.#circuits.get(endpointId), this.#remote.get(endpointId)]) {
      if (one?.isProbing !== "yes") continue;
      one.isProbing = "no";
      this.#onChange();
    }
  }

  /** A provider that says when to come back is left alone until then, at the first word. */
  recordFailure(endpointId: string, retryAfterMs: number | undefined): void {
    const book = this.#countsOf(endpointId);
    book.failed += 1;
    book.lastFailedAtMs = this.#clock.nowMs();
    if (this.#rules.consecutiveFailures === 0) return;
    const heard = this.#remote.get(endpointId);
    const state = this.#circuits.get(endpointId) ?? { ...CLOSED_CIRCUIT };
    this.#circuits.set(endpointId, state);
    const { consecutiveFailures, openMs, openMsMax } = this.#rules;
    const nowMs = this.#clock.monotonicMs();
    const isProbe = state.isProbing === "yes" || heard?.isProbing === "yes";
    const wasAside = nowMs < latestOpenUntil(state, heard);
    state.consecutiveFailures += 1;
    const asideBefore = state.openUntilMonotonicMs;
    if (retryAfterMs !== undefined) {
      state.openUntilMonotonicMs = Math.max(state.openUntilMonotonicMs, nowMs + Math.min(retryAfterMs, openMsMax));
      // It did answer, and its word is for all.
      state.isContradicted = false;
    } else if (isProbe || (state.consecutiveFailures >= consecutiveFailures && !wasAside)) {
      state.openCount = highestOpenCount(state, heard) + 1;
      state.consecutiveFailures = 0;
      state.openUntilMonotonicMs = nowMs + Math.min(state.openCount * openMs, openMsMax);
    }
    state.isProbing = "no";
    if (heard !== undefined) heard.isProbing = "no";
    if (state.openUntilMonotonicMs > asideBefore) {
      book.timesOpened += 1;
      state.openedAtMs = book.lastFailedAtMs;
      state.openUntilMs = Math.ceil(state.openedAtMs + state.openUntilMonotonicMs - nowMs);
    }
    // That it is aside for longer still, others learn in time: a crowd that is told to wait must not make a crowd of words.
    if (isProbe || (!wasAside && state.openUntilMonotonicMs > asideBefore)) this.#onChange();
  }

  /** Calls back when something is set aside, probed or back: others are to know it soon. */
  onChange(changed: () => void): void {
    this.#onChange = changed;
  }

  /** What this instance found out by itself, for the others. */
  report(): CircuitReport {
    const leaseMs = this.#clock.nowMs() + PROBE_LEASE_MS;
    const openCircuits: OpenCircuitReport[] = [];
    for (const [
      endpoint,
      { openUntilMonotonicMs, openedAtMs, openUntilMs, openCount, isProbing, isContradicted },
    ] of this.#circuits)
      if (openUntilMonotonicMs > 0 && !isContradicted)
        openCircuits.push({
          endpoint,
          openedAtMs,
          openUntilMs: isProbing === "yes" ? leaseMs : openUntilMs,
          openCount,
        });
    for (const [endpoint, { openedAtMs, openCount, isProbing }] of this.#remote)
      if (isProbing === "yes") openCircuits.push({ endpoint, openedAtMs, openUntilMs: leaseMs, openCount });
    return { openCircuits, refutations: [...this.#refutations].map(([endpoint, sinceMs]) => ({ endpoint, sinceMs })) };
  }

  /** What every other instance says now, in place of what they said before. */
  applyReports(said: readonly CircuitReport[], turn: ProbeOrder): void {
    if (this.#rules.consecutiveFailures === 0) return;
    this.#probeOrder = turn;
    const byOthers = refutationsIn(said);
    for (const [endpoint, state] of this.#circuits)
      if (state.openUntilMonotonicMs > 0 && state.openedAtMs <= (byOthers.get(endpoint) ?? 0))
        state.isContradicted = true;
    const spokenOf = new Set(said.flatMap(({ openCircuits }) => openCircuits.map(({ endpoint }) => endpoint)));
    for (const endpoint of this.#refutations.keys()) if (!spokenOf.has(endpoint)) this.#refutations.delete(endpoint);
    const refutations = refutationsIn([...said, this.report()]);
    this.#remote = mergeReports(said, {
      refutations,
      before: this.#remote,
      clock: this.#clock,
      openMsMax: this.#rules.openMsMax,
    });
  }

  statusOf(endpointId: string): CircuitStatus {
    const state = this.#circuits.get(endpointId);
    const asideUntilMs = latestOpenUntil(state, this.#remote.get(endpointId));
    const leftMs = asideUntilMs - this.#clock.monotonicMs();
    return {
      ...(this.#counts.get(endpointId) ?? NO_ATTEMPTS),
      circuitState: this.circuitStateOf(endpointId),
      consecutiveFailures: state?.consecutiveFailures ?? 0,
      openForMs: asideUntilMs === 0 || leftMs <= 0 ? null : leftMs,
    };
  }

  /** Who is aside now. */
  get openCircuits(): string[] {
    const known = new Set([...this.#circuits.keys(), ...this.#remote.keys()]);
    return [...known].filter((id) => this.circuitStateOf(id) === "aside");
  }

  /** Nobody is in trouble: all there is to know on nearly every request. */
  get #areAllClosed(): boolean {
    return this.#circuits.size === 0 && this.#remote.size === 0;
  }

  #countsOf(endpointId: string): AttemptCounts {
    const known = this.#counts.get(endpointId);
    if (known !== undefined) return known;
    const book = { ...NO_ATTEMPTS };
    this.#counts.set(endpointId, book);
    return book;
  }
}

const CLOSED_CIRCUIT: Readonly<LocalCircuit> = {
  consecutiveFailures: 0,
  openCount: 0,
  openUntilMonotonicMs: 0,
  isProbing: "no",
  openedAtMs: 0,
  openUntilMs: 0,
  isContradicted: false,
};

function latestOpenUntil(state: LocalCircuit | undefined, heard: RemoteCircuit | undefined): number {
  return Math.max(state?.openUntilMonotonicMs ?? 0, heard?.openUntilMonotonicMs ?? 0);
}

function highestOpenCount(state: LocalCircuit | undefined, heard: RemoteCircuit | undefined): number {
  return Math.max(state?.openCount ?? 0, heard?.openCount ?? 0);
}
