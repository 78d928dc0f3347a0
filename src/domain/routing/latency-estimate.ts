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

export type RecentLatency = {
  readonly samples: number;
  readonly total: LatencyPercentiles;
  /** Streamed replies only; null when there were none. */
  readonly firstByte: LatencyPercentiles | null;
};

/** Half-life of a report's weight once another instance has a newer one. */
const STALE_REPORT_HALF_LIFE_MS = 30_000;

/** Weighted by the number of samples, and less for reports that are older than the newest. */
export function mergeEstimates(reports: readonly LatencyReport[]): LatencyEstimate | undefined {
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
