/** Time to first byte and time per output token, measured from the traffic. */
export type LatencyEstimate = { readonly firstByteMs: number; readonly perTokenMs: number; readonly atMs: number };

/** One instance's estimate; `samples` is the decayed number of replies behind it. */
export type LatencyReport = LatencyEstimate & { readonly samples: number };

/** One reply. `firstByteMs` is null for a reply that was not streamed. */
export type LatencySample = {
  readonly firstByteMs: number | null;
  readonly totalMs: number;
  readonly outputTokens: number;
};

export type LatencyPercentiles = { readonly p50Ms: number; readonly p95Ms: number };

type RecentLatency = {
  readonly samples: number;
  readonly total: LatencyPercentiles;
  /** Streamed replies only; null when there were none. */
  readonly firstByte: LatencyPercentiles | null;
};

/** Enough for a meaningful p95. */
const RECENT_SAMPLES_MAX = 128;

const NEW_SAMPLE_WEIGHT = 0.2;
/** Half-life of the old estimate's weight against a new sample. */
const HALF_LIFE_MS = 10 * 60_000;
const EXPIRES_AFTER_MS = 24 * 3_600_000;
/** Half-life of a report's weight once another instance has a newer one. */
const STALE_REPORT_HALF_LIFE_MS = 30_000;
/** Used until a streamed reply was measured. */
const DEFAULT_PER_TOKEN_MS = 15;
/** The largest share of a non-streamed reply's time that is attributed to its tokens. */
const GENERATION_SHARE_MAX = 0.9;

/** Latency estimates per endpoint, from this instance and, in a fleet, from all instances. */
export class LatencyTracker {
  readonly #local = new Map<string, LatencyReport>();
  #remote: ReadonlyMap<string, readonly LatencyReport[]> = new Map();
  /** Local and remote estimates combined; undefined without remote reports. */
  #merged: Map<string, LatencyEstimate> | undefined;
  readonly #recentSamples = new Map<string, { readonly totals: SampleRing; readonly firstBytes: SampleRing }>();

  /** Bounded by the endpoints of the catalogue. */
  record(endpoint: string, sample: LatencySample, nowMs: number): void {
    this.#addRecent(endpoint, sample);
    const local = unlessExpired(this.#local.get(endpoint), nowMs);
    const known = this.#merged === undefined ? local : this.estimate(endpoint, nowMs);
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
    if (this.#merged !== undefined) this.#mergeEndpoint(endpoint, this.#merged);
  }

  estimate(endpoint: string, nowMs: number): LatencyEstimate | undefined {
    return unlessExpired((this.#merged ?? this.#local).get(endpoint), nowMs);
  }

  /** The newest local estimates, for other instances. */
  report(nowMs: number, max: number): readonly (readonly [endpoint: string, report: LatencyReport])[] {
    const current = [...this.#local].filter(([, report]) => unlessExpired(report, nowMs) !== undefined);
    return current.toSorted(([, a], [, b]) => b.atMs - a.atMs).slice(0, max);
  }

  /** Loads what this instance reported before its restart. */
  restore(reports: ReturnType<LatencyTracker["report"]>, nowMs: number): void {
    for (const [endpoint, report] of reports)
      if (!this.#local.has(endpoint)) this.#local.set(endpoint, { ...report, atMs: Math.min(report.atMs, nowMs) });
  }

  /** Replaces all earlier reports of the other instances. */
  applyReports(reports: readonly ReturnType<LatencyTracker["report"]>[], nowMs: number): void {
    const remote = new Map<string, LatencyReport[]>();
    for (const [endpoint, report] of reports.flat()) {
      const known = remote.get(endpoint) ?? [];
      // A sender whose clock is ahead cannot make its report newer than now.
      known.push({ ...report, atMs: Math.min(report.atMs, nowMs) });
      remote.set(endpoint, known);
    }
    this.#remote = remote;
    this.#merged = undefined;
    if (remote.size === 0) return;
    const merged = new Map<string, LatencyEstimate>();
    for (const endpoint of new Set([...this.#local.keys(), ...remote.keys()])) this.#mergeEndpoint(endpoint, merged);
    this.#merged = merged;
  }

  #mergeEndpoint(endpoint: string, merged: Map<string, LatencyEstimate>): void {
    const local = this.#local.get(endpoint);
    const remote = this.#remote.get(endpoint) ?? [];
    const combined = mergeEstimates(local === undefined ? remote : [local, ...remote]);
    if (combined !== undefined) merged.set(endpoint, combined);
  }

  recentPercentiles(endpoint: string): RecentLatency | undefined {
    const oldWeight = this.#recentSamples.get(endpoint);
    const total = oldWeight?.totals.percentiles();
    if (oldWeight === undefined || total === undefined) return undefined;
    return { samples: oldWeight.totals.size, total, firstByte: oldWeight.firstBytes.percentiles() ?? null };
  }

  #addRecent(endpoint: string, { totalMs, firstByteMs }: LatencySample): void {
    const oldWeight = this.#recentSamples.get(endpoint) ?? { totals: new SampleRing(), firstBytes: new SampleRing() };
    this.#recentSamples.set(endpoint, oldWeight);
    oldWeight.totals.add(totalMs);
    if (firstByteMs !== null) oldWeight.firstBytes.add(firstByteMs);
  }
}

function unlessExpired<T extends LatencyEstimate>(measured: T | undefined, nowMs: number): T | undefined {
  return measured === undefined || nowMs - measured.atMs > EXPIRES_AFTER_MS ? undefined : measured;
}

/** Weighted by the number of samples, and less for reports that are older than the newest. */
function mergeEstimates(reports: readonly LatencyReport[]): LatencyEstimate | undefined {
  const [first] = reports;
  if (first === undefined || reports.length === 1) return first;
  const atMs = Math.max(...reports.map((report) => report.atMs));
  let [firstByteMs, perTokenMs, totalWeight] = [0, 0, 0];
  for (const report of reports) {
    const weight = report.samples * 2 ** ((report.atMs - atMs) / STALE_REPORT_HALF_LIFE_MS);
    firstByteMs += weight * report.firstByteMs;
    perTokenMs += weight * report.perTokenMs;
    totalWeight += weight;
  }
  return { firstByteMs: firstByteMs / totalWeight, perTokenMs: perTokenMs / totalWeight, atMs };
}

/** A ring buffer of the last samples. */
class SampleRing {
  readonly #values: number[] = [];
  #next = 0;

  get size(): number {
    return this.#values.length;
  }

  add(value: number): void {
    this.#values[this.#next] = value;
    this.#next = (this.#next + 1) % RECENT_SAMPLES_MAX;
  }

  percentiles(): LatencyPercentiles | undefined {
    const sorted = this.#values.toSorted((a, b) => a - b);
    const at = (quantile: number) => sorted[Math.ceil(quantile * sorted.length) - 1];
    const [p50Ms, p95Ms] = [at(0.5), at(0.95)];
    return p50Ms === undefined || p95Ms === undefined ? undefined : { p50Ms, p95Ms };
  }
}

/** A non-streamed reply shows only its total: tokens get their known share, and the rest counts as time to first byte. */
function splitLatency({ firstByteMs, totalMs, outputTokens }: LatencySample, perTokenMs: number) {
  if (outputTokens <= 0) return { firstByteMs: firstByteMs ?? totalMs, perTokenMs };
  if (firstByteMs !== null) return { firstByteMs, perTokenMs: Math.max(0, totalMs - firstByteMs) / outputTokens };
  const generationMs = Math.min(GENERATION_SHARE_MAX * totalMs, perTokenMs * outputTokens);
  return { firstByteMs: totalMs - generationMs, perTokenMs: generationMs / outputTokens };
}

export function expectedLatencyMs({ firstByteMs, perTokenMs }: LatencyEstimate, outputTokens: number): number {
  return firstByteMs + perTokenMs * outputTokens;
}
