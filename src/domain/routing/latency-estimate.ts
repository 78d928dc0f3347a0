/** Time to first byte and time per output token, measured from the traffic. */
export type LatencyEstimate = { readonly firstByteMs: number; readonly perTokenMs: number; readonly atMs: number };

/** One instance's estimate; `samples` is the decayed number of replies behind it. */
export type LatencyReport = LatencyEstimate & { readonly samples: number };

/** By endpoint. */
export type LatencyReports = readonly (readonly [endpoint: string, report: LatencyReport])[];

/** One reply. `firstByteMs` is null for a reply that was not streamed. */
export type LatencySample = {
  readonly firstByteMs: number | null;
  readonly totalMs: number;
  readonly outputTokens: number;
};

export type LatencyPercentiles = { readonly p50Ms: number; readonly p95Ms: number };

export type RecentLatency = {
  readonly samples: number;
  readonly total: LatencyPercentiles;
  /** Streamed replies only; null when there were none. */
  readonly firstByte: LatencyPercentiles | null;
};

/** Half-life of a report's weight once another instance has a newer one. */
const STALE_REPORT_HALF_LIFE_MS = 30_000;

/** The local estimates combined with the reports of all other instances. */
export class FleetLatency {
  readonly merged = new Map<string, LatencyEstimate>();
  readonly #remote = new Map<string, LatencyReport[]>();

  constructor(reports: LatencyReports, local: ReadonlyMap<string, LatencyReport>, nowMs: number) {
    for (const [endpoint, report] of reports) {
      const known = this.#remote.get(endpoint) ?? [];
      // A sender whose clock is ahead cannot make its report newer than now.
      known.push({ ...report, atMs: Math.min(report.atMs, nowMs) });
      this.#remote.set(endpoint, known);
    }
    for (const endpoint of new Set([...local.keys(), ...this.#remote.keys()]))
      this.merge(endpoint, local.get(endpoint));
  }

  merge(endpoint: string, local: LatencyReport | undefined): void {
    const remote = this.#remote.get(endpoint) ?? [];
    const combined = mergeEstimates(local === undefined ? remote : [local, ...remote]);
    if (combined !== undefined) this.merged.set(endpoint, combined);
  }
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

export function percentilesOf(values: readonly number[]): LatencyPercentiles | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (quantile: number) => sorted[Math.ceil(quantile * sorted.length) - 1];
  const [p50Ms, p95Ms] = [at(0.5), at(0.95)];
  return p50Ms === undefined || p95Ms === undefined ? undefined : { p50Ms, p95Ms };
}
