import type { Clock } from "../../kit/clock.ts";
import { addToSketch, type QuantileSketch } from "../../kit/quantile-sketch.ts";
import type { CircuitState, CircuitStateReader } from "./circuit-state.ts";
import { CIRCUIT_BREAKER_RULES, type CircuitBreakerRules, FailingCircuits } from "./failing-circuits.ts";
import {
  FleetLatency,
  type LatencyEstimate,
  type LatencyReport,
  type LatencyReports,
  type LatencySample,
  percentilesOf,
  type RecentLatency,
} from "./latency-estimate.ts";
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

/** Enough for a meaningful p95. */
const RECENT_SAMPLES_MAX = 128;

const NEW_SAMPLE_WEIGHT = 0.2;
/** Half-life of the old estimate's weight against a new sample. */
const HALF_LIFE_MS = 10 * 60_000;
const EXPIRES_AFTER_MS = 24 * 3_600_000;
/** Used until a streamed reply was measured. */
const DEFAULT_PER_TOKEN_MS = 15;
/** The largest share of a non-streamed reply's time that is attributed to its tokens. */
const GENERATION_SHARE_MAX = 0.9;

/** Latency estimates per endpoint, from this instance and, in a fleet, from all instances. */
export class LatencyTracker {
  readonly #local = new Map<string, LatencyReport>();
  /** Undefined without reports of other instances. */
  #fleet: FleetLatency | undefined;
  readonly #recentSamples = new Map<string, { readonly totals: SampleRing; readonly firstBytes: SampleRing }>();

  readonly #sketches = new Map<string, QuantileSketch>();

  /** Bounded by the endpoints of the catalogue. */
  record(endpoint: string, sample: LatencySample, nowMs: number): void {
    this.#addRecent(endpoint, sample);
    const local = unlessExpired(this.#local.get(endpoint), nowMs);
    const known = this.#fleet === undefined ? local : this.estimate(endpoint, nowMs);
    const measured = splitLatency(sample, known?.perTokenMs ?? DEFAULT_PER_TOKEN_MS);
    if (local === undefined) this.#local.set(endpoint, { ...measured, atMs: nowMs, samples: 1 });
    else {
      const oldWeight = (1 - NEW_SAMPLE_WEIGHT) * 2 ** (-Math.max(0, nowMs - local.atMs) / HALF_LIFE_MS);
      this.#local.set(endpoint, {
        firstByteMs: oldWeight * local.firstByteMs + (1 - oldWeight) * measured.firstByteMs,
        perTokenMs: oldWeight * local.perTokenMs + (1 - oldWeight) * measured.perTokenMs,
        atMs: nowMs,
        samples: oldWeight * local.samples + 1,
      });
    }
    this.#fleet?.merge(endpoint, this.#local.get(endpoint));
  }

  estimate(endpoint: string, nowMs: number): LatencyEstimate | undefined {
    return unlessExpired((this.#fleet?.merged ?? this.#local).get(endpoint), nowMs);
  }

  /** The newest local estimates, for other instances. */
  report(nowMs: number, max: number): LatencyReports {
    const current = [...this.#local].filter(([, report]) => unlessExpired(report, nowMs) !== undefined);
    return current.toSorted(([, a], [, b]) => b.atMs - a.atMs).slice(0, max);
  }

  /** Loads what this instance reported before its restart. */
  restore(reports: LatencyReports, nowMs: number): void {
    for (const [endpoint, report] of reports)
      if (!this.#local.has(endpoint)) this.#local.set(endpoint, { ...report, atMs: Math.min(report.atMs, nowMs) });
  }

  /** Replaces all earlier reports of the other instances. */
  applyReports(reports: readonly LatencyReports[], nowMs: number): void {
    const all = reports.flat();
    this.#fleet = all.length === 0 ? undefined : new FleetLatency(all, this.#local, nowMs);
  }

  recentPercentiles(endpoint: string): RecentLatency | undefined {
    const recent = this.#recentSamples.get(endpoint);
    const total = recent === undefined ? undefined : percentilesOf(recent.totals.values);
    if (recent === undefined || total === undefined) return undefined;
    const firstByte = percentilesOf(recent.firstBytes.values) ?? null;
    return { samples: recent.totals.values.length, total, firstByte };
  }

  /** Distributions of total times since the last call, by endpoint. */
  takeSketches(): ReadonlyMap<string, QuantileSketch> {
    const taken = new Map(this.#sketches);
    this.#sketches.clear();
    return taken;
  }

  #addRecent(endpoint: string, { totalMs, firstByteMs }: LatencySample): void {
    const sketch = this.#sketches.get(endpoint) ?? new Map();
    this.#sketches.set(endpoint, sketch);
    addToSketch(sketch, totalMs);
    const recent = this.#recentSamples.get(endpoint) ?? { totals: new SampleRing(), firstBytes: new SampleRing() };
    this.#recentSamples.set(endpoint, recent);
    recent.totals.add(totalMs);
    if (firstByteMs !== null) recent.firstBytes.add(firstByteMs);
  }
}

function unlessExpired<T extends LatencyEstimate>(measured: T | undefined, nowMs: number): T | undefined {
  return measured === undefined || nowMs - measured.atMs > EXPIRES_AFTER_MS ? undefined : measured;
}

/** A ring buffer of the last samples. */
class SampleRing {
  readonly values: number[] = [];
  #next = 0;

  add(value: number): void {
    this.values[this.#next] = value;
    this.#next = (this.#next + 1) % RECENT_SAMPLES_MAX;
  }
}

/** A non-streamed reply shows only its total: tokens get their known share, and the rest counts as time to first byte. */
function splitLatency({ firstByteMs, totalMs, outputTokens }: LatencySample, perTokenMs: number) {
  if (outputTokens <= 0) return { firstByteMs: firstByteMs ?? totalMs, perTokenMs };
  if (firstByteMs !== null) return { firstByteMs, perTokenMs: Math.max(0, totalMs - firstByteMs) / outputTokens };
  const generationMs = Math.min(GENERATION_SHARE_MAX * totalMs, perTokenMs * outputTokens);
  return { firstByteMs: totalMs - generationMs, perTokenMs: generationMs / outputTokens };
}

const NEW_REPLY_WEIGHT = 0.1;
/** The starting value of a model's average. */
const DEFAULT_OUTPUT_TOKENS = 512;

type OutputTokensByModel = readonly (readonly [modelId: string, outputTokens: number])[];

/** Average output tokens per model, as an exponentially weighted moving average of the traffic. */
export class TrafficStats {
  readonly #local = new Map<string, number>();
  /** The mean of other instances, used for models without local traffic. */
  #remote: ReadonlyMap<string, number> = new Map();

  /**
   * The average starts at a default, so that one short reply does not make a model look cheap. A reply that hit the
   * caller's output limit is only a lower bound and never reduces the average.
   */
  recordReply(modelId: string, outputTokens: number, outputLimit: number | undefined): void {
    // Bounded by the models of the catalogue.
    const before = this.#average(modelId);
    if (outputLimit !== undefined && outputTokens >= outputLimit && outputTokens < before) return;
    this.#local.set(modelId, before + NEW_REPLY_WEIGHT * (outputTokens - before));
  }

  /** Never more than the request's output limit. */
  expectedOutputTokens(modelId: string, outputLimit: number | undefined): number {
    const expected = this.#average(modelId);
    return outputLimit === undefined ? expected : Math.min(expected, outputLimit);
  }

  /** The local averages, for other instances. */
  report(max: number): OutputTokensByModel {
    return [...this.#local].slice(0, max);
  }

  /** Loads what this instance reported before its restart. */
  restore(report: OutputTokensByModel): void {
    for (const [modelId, outputTokens] of report) if (!this.#local.has(modelId)) this.#local.set(modelId, outputTokens);
  }

  /** Replaces all earlier reports of the other instances. */
  applyReports(reports: readonly OutputTokensByModel[]): void {
    const sums = new Map<string, { tokens: number; instances: number }>();
    for (const [modelId, outputTokens] of reports.flat()) {
      const { tokens, instances } = sums.get(modelId) ?? { tokens: 0, instances: 0 };
      sums.set(modelId, { tokens: tokens + outputTokens, instances: instances + 1 });
    }
    this.#remote = new Map([...sums].map(([modelId, { tokens, instances }]) => [modelId, tokens / instances]));
  }

  #average(modelId: string): number {
    return this.#local.get(modelId) ?? this.#remote.get(modelId) ?? DEFAULT_OUTPUT_TOKENS;
  }
}
