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
  readonly failuresInARow: number;
  /** For how long the first time; each further time adds as much again. */
  readonly asideMs: number;
  readonly asideMsMax: number;
};

export const CIRCUIT_BREAKER_RULES: CircuitBreakerRules = { failuresInARow: 5, asideMs: 30_000, asideMsMax: 300_000 };

type LocalCircuit = {
  failures: number;
  /** How often it was set aside without having served since. */
  times: number;
  asideUntilMs: number;
  probing: "no" | "yes";
  /** When it was set aside last, and until when, by the clock that other instances have as well. */
  sinceMs: number;
  untilMs: number;
  /** Another instance was served since it was set aside here: what is wrong is between here and there. */
  isDoubted: boolean;
};

/** What became of an endpoint's attempts since the process began. */
type AttemptCounts = { served: number; failed: number; timesAside: number; lastFailedAtMs: number | null };

/** Others stay away from an endpoint that is being probed for as long as this is said again. */
const PROBE_LEASE_MS = 5_000;

const ONLY_INSTANCE: ProbeOrder = { place: 0, of: 1 };

const NO_ATTEMPTS: Readonly<AttemptCounts> = { served: 0, failed: 0, timesAside: 0, lastFailedAtMs: null };

/** How an endpoint stands, for who looks after the gateway. */
type CircuitStatus = Readonly<AttemptCounts> & {
  readonly standing: CircuitState;
  readonly failuresInARow: number;
  /** How long it is left alone from now on; null: it is not. */
  readonly asideForMs: number | null;
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
  readonly #troubled = new Map<string, LocalCircuit>();
  /** Endpoints that were ever asked; bounded by the catalogue. */
  readonly #books = new Map<string, AttemptCounts>();
  /** What other instances have set aside; empty where there are none. */
  #heard = new Map<string, RemoteCircuit>();
  /** Endpoints that served although another instance had set them aside: when it had. */
  readonly #refuted = new Map<string, number>();
  #turn = ONLY_INSTANCE;
  #changed: () => void = () => undefined;

  constructor(clock: Clock, rules: CircuitBreakerRules = CIRCUIT_BREAKER_RULES) {
    this.#clock = clock;
    this.#rules = rules;
  }

  standingOf(endpointId: string): CircuitState {
    if (this.#isQuiet) return "in";
    const state = this.#troubled.get(endpointId);
    const heard = this.#heard.get(endpointId);
    const asideUntilMs = latestOpenUntil(state, heard);
    if (asideUntilMs === 0) return "in";
    if (state?.probing === "yes" || heard?.probing === "yes") return "aside";
    const turnMs = probeDelayMs(this.#turn, highestOpenCount(state, heard));
    return this.#clock.monotonicMs() < asideUntilMs + turnMs ? "aside" : "probe";
  }

  /** An attempt begins; the first one after the time aside is the probe. */
  began(endpointId: string): void {
    if (this.#isQuiet) return;
    const heard = this.#heard.get(endpointId);
    if (heard !== undefined) heard.isTried = true;
    if (this.standingOf(endpointId) !== "probe") return;
    for (const one of [this.#troubled.get(endpointId), heard]) if (one !== undefined) one.probing = "yes";
    this.#changed();
  }

  served(endpointId: string): void {
    this.#bookOf(endpointId).served += 1;
    if (this.#isQuiet) return;
    const state = this.#troubled.get(endpointId);
    this.#troubled.delete(endpointId);
    if (state !== undefined && state.asideUntilMs > 0) this.#changed();
    const heard = this.#heard.get(endpointId);
    if (heard?.isTried === true) {
      this.#heard.delete(endpointId);
      this.#refuted.set(endpointId, heard.sinceMs);
      this.#changed();
    } else if (heard?.probing === "yes") {
      // An answer that was on its way before others spoke refutes nothing; that it was a probe is over all the same.
      heard.probing = "no";
      this.#changed();
    }
  }

  /** The attempt ended without telling anything of the endpoint: the caller left, or the request itself was refused. */
  unknown(endpointId: string): void {
    if (this.#isQuiet) return;
    for (const one of [this.#troubled.get(endpointId), this.#heard.get(endpointId)]) {
      if (one?.probing !== "yes") continue;
      one.probing = "no";
      this.#changed();
    }
  }

  /** A provider that says when to come back is left alone until then, at the first word. */
  failed(endpointId: string, retryAfterMs: number | undefined): void {
    const book = this.#bookOf(endpointId);
    book.failed += 1;
    book.lastFailedAtMs = this.#clock.nowMs();
    if (this.#rules.failuresInARow === 0) return;
    const heard = this.#heard.get(endpointId);
    const state = this.#troubled.get(endpointId) ?? { ...CLOSED_CIRCUIT };
    this.#troubled.set(endpointId, state);
    const { failuresInARow, asideMs, asideMsMax } = this.#rules;
    const nowMs = this.#clock.monotonicMs();
    const isProbe = state.probing === "yes" || heard?.probing === "yes";
    const wasAside = nowMs < latestOpenUntil(state, heard);
    state.failures += 1;
    const asideBefore = state.asideUntilMs;
    if (retryAfterMs !== undefined) {
      state.asideUntilMs = Math.max(state.asideUntilMs, nowMs + Math.min(retryAfterMs, asideMsMax));
      // It did answer, and its word is for all.
      state.isDoubted = false;
    } else if (isProbe || (state.failures >= failuresInARow && !wasAside)) {
      state.times = highestOpenCount(state, heard) + 1;
      state.failures = 0;
      state.asideUntilMs = nowMs + Math.min(state.times * asideMs, asideMsMax);
    }
    state.probing = "no";
    if (heard !== undefined) heard.probing = "no";
    if (state.asideUntilMs > asideBefore) {
      book.timesAside += 1;
      state.sinceMs = book.lastFailedAtMs;
      state.untilMs = Math.ceil(state.sinceMs + state.asideUntilMs - nowMs);
    }
    // That it is aside for longer still, others learn in time: a crowd that is told to wait must not make a crowd of words.
    if (isProbe || (!wasAside && state.asideUntilMs > asideBefore)) this.#changed();
  }

  /** Calls back when something is set aside, probed or back: others are to know it soon. */
  watch(changed: () => void): void {
    this.#changed = changed;
  }

  /** What this instance found out by itself, for the others. */
  said(): CircuitReport {
    const leaseMs = this.#clock.nowMs() + PROBE_LEASE_MS;
    const aside: OpenCircuitReport[] = [];
    for (const [endpoint, { asideUntilMs, sinceMs, untilMs, times, probing, isDoubted }] of this.#troubled)
      if (asideUntilMs > 0 && !isDoubted)
        aside.push({ endpoint, sinceMs, untilMs: probing === "yes" ? leaseMs : untilMs, times });
    for (const [endpoint, { sinceMs, times, probing }] of this.#heard)
      if (probing === "yes") aside.push({ endpoint, sinceMs, untilMs: leaseMs, times });
    return { aside, served: [...this.#refuted].map(([endpoint, sinceMs]) => ({ endpoint, sinceMs })) };
  }

  /** What every other instance says now, in place of what they said before. */
  hear(said: readonly CircuitReport[], turn: ProbeOrder): void {
    if (this.#rules.failuresInARow === 0) return;
    this.#turn = turn;
    const byOthers = refutationsIn(said);
    for (const [endpoint, state] of this.#troubled)
      if (state.asideUntilMs > 0 && state.sinceMs <= (byOthers.get(endpoint) ?? 0)) state.isDoubted = true;
    const spokenOf = new Set(said.flatMap(({ aside }) => aside.map(({ endpoint }) => endpoint)));
    for (const endpoint of this.#refuted.keys()) if (!spokenOf.has(endpoint)) this.#refuted.delete(endpoint);
    const refuted = refutationsIn([...said, this.said()]);
    this.#heard = mergeReports(said, {
      refuted,
      before: this.#heard,
      clock: this.#clock,
      maxMs: this.#rules.asideMsMax,
    });
  }

  stateOf(endpointId: string): CircuitStatus {
    const state = this.#troubled.get(endpointId);
    const asideUntilMs = latestOpenUntil(state, this.#heard.get(endpointId));
    const leftMs = asideUntilMs - this.#clock.monotonicMs();
    return {
      ...(this.#books.get(endpointId) ?? NO_ATTEMPTS),
      standing: this.standingOf(endpointId),
      failuresInARow: state?.failures ?? 0,
      asideForMs: asideUntilMs === 0 || leftMs <= 0 ? null : leftMs,
    };
  }

  /** Who is aside now. */
  get aside(): string[] {
    const known = new Set([...this.#troubled.keys(), ...this.#heard.keys()]);
    return [...known].filter((id) => this.standingOf(id) === "aside");
  }

  /** Nobody is in trouble: all there is to know on nearly every request. */
  get #isQuiet(): boolean {
    return this.#troubled.size === 0 && this.#heard.size === 0;
  }

  #bookOf(endpointId: string): AttemptCounts {
    const known = this.#books.get(endpointId);
    if (known !== undefined) return known;
    const book = { ...NO_ATTEMPTS };
    this.#books.set(endpointId, book);
    return book;
  }
}

const CLOSED_CIRCUIT: Readonly<LocalCircuit> = {
  failures: 0,
  times: 0,
  asideUntilMs: 0,
  probing: "no",
  sinceMs: 0,
  untilMs: 0,
  isDoubted: false,
};

function latestOpenUntil(state: LocalCircuit | undefined, heard: RemoteCircuit | undefined): number {
  return Math.max(state?.asideUntilMs ?? 0, heard?.asideUntilMs ?? 0);
}

function highestOpenCount(state: LocalCircuit | undefined, heard: RemoteCircuit | undefined): number {
  return Math.max(state?.times ?? 0, heard?.times ?? 0);
}
