/**
 * How fast an endpoint answers, measured from the traffic itself: the time to the first byte, and the time each token
 * of output takes after it.
 */
export type LatencyEstimate = { readonly firstByteMs: number; readonly perTokenMs: number; readonly atMs: number };

/** What one instance measured; `answers` is how many that is an average of, the older ones counting less. */
export type LatencyReport = LatencyEstimate & { readonly samples: number };

/** One answer. `firstByteMs` is null for an answer that came whole: nobody saw where its first byte was. */
export type LatencySample = {
  readonly firstByteMs: number | null;
  readonly totalMs: number;
  readonly outputTokens: number;
};

/** What the last answers took, in the middle and at the slow end. */
export type LatencyPercentiles = { readonly p50Ms: number; readonly p95Ms: number };

type RecentLatency = {
  readonly samples: number;
  readonly total: LatencyPercentiles;
  /** Of streams alone: null where there was none. */
  readonly firstByte: LatencyPercentiles | null;
};

/** Enough for a slow end that means something. */
const RECENT_SAMPLES_MAX = 128;

const NEW_SAMPLE_WEIGHT = 0.2;
/** After this time what was known weighs half as much against what is new. */
const HALF_LIFE_MS = 10 * 60_000;
/** What was measured longer ago says nothing of today. */
const EXPIRES_AFTER_MS = 24 * 3_600_000;
/** Where another instance has measured since, what one knows weighs half as much after this time. */
const STALE_REPORT_HALF_LIFE_MS = 30_000;
/** Until a stream has shown it. */
const DEFAULT_PER_TOKEN_MS = 15;
/** The most of a whole answer's time that is put down to its tokens. */
const GENERATION_SHARE_MAX = 0.9;

/** How fast endpoints are, as this instance measured it and, where there are others, as all of them did together. */
export class LatencyTracker {
  readonly #local = new Map<string, LatencyReport>();
  #remote: ReadonlyMap<string, readonly LatencyReport[]> = new Map();
  /** What requests are planned by; undefined where nobody else has measured anything. */
  #merged: Map<string, LatencyEstimate> | undefined;
  readonly #recentSamples = new Map<string, { readonly totals: SampleRing; readonly firstBytes: SampleRing }>();

  /** Endpoints are catalogue rows, so the map is bounded by the catalogue. */
  record(endpoint: string, sample: LatencySample, nowMs: number): void {
    this.#addRecent(endpoint, sample);
    const own = unlessExpired(this.#local.get(endpoint), nowMs);
    const known = this.#merged === undefined ? own : this.estimate(endpoint, nowMs);
    const seen = splitLatency(sample, known?.perTokenMs ?? DEFAULT_PER_TOKEN_MS);
    if (own === undefined) this.#local.set(endpoint, { ...seen, atMs: nowMs, samples: 1 });
    else {
      const kept = (1 - NEW_SAMPLE_WEIGHT) * 2 ** (-Math.max(0, nowMs - own.atMs) / HALF_LIFE_MS);
      this.#local.set(endpoint, {
        firstByteMs: kept * own.firstByteMs + (1 - kept) * seen.firstByteMs,
        perTokenMs: kept * own.perTokenMs + (1 - kept) * seen.perTokenMs,
        atMs: nowMs,
        samples: kept * own.samples + 1,
      });
    }
    if (this.#merged !== undefined) this.#mergeEndpoint(endpoint, this.#merged);
  }

  estimate(endpoint: string, nowMs: number): LatencyEstimate | undefined {
    return unlessExpired((this.#merged ?? this.#local).get(endpoint), nowMs);
  }

  /** What this instance measured, for the others: the newest of it. */
  report(nowMs: number, max: number): readonly (readonly [endpoint: string, speed: LatencyReport])[] {
    const fresh = [...this.#local].filter(([, speed]) => unlessExpired(speed, nowMs) !== undefined);
    return fresh.toSorted(([, a], [, b]) => b.atMs - a.atMs).slice(0, max);
  }

  /** What this instance had measured before it was started anew. */
  restore(said: ReturnType<LatencyTracker["report"]>, nowMs: number): void {
    for (const [endpoint, speed] of said)
      if (!this.#local.has(endpoint)) this.#local.set(endpoint, { ...speed, atMs: Math.min(speed.atMs, nowMs) });
  }

  /** What every other instance has measured up to now, in place of what they said before. */
  applyReports(said: readonly ReturnType<LatencyTracker["report"]>[], nowMs: number): void {
    const others = new Map<string, LatencyReport[]>();
    for (const [endpoint, speed] of said.flat()) {
      const known = others.get(endpoint) ?? [];
      // A clock that is ahead of this one makes nothing newer than now.
      known.push({ ...speed, atMs: Math.min(speed.atMs, nowMs) });
      others.set(endpoint, known);
    }
    this.#remote = others;
    this.#merged = undefined;
    if (others.size === 0) return;
    const together = new Map<string, LatencyEstimate>();
    for (const endpoint of new Set([...this.#local.keys(), ...others.keys()])) this.#mergeEndpoint(endpoint, together);
    this.#merged = together;
  }

  #mergeEndpoint(endpoint: string, together: Map<string, LatencyEstimate>): void {
    const own = this.#local.get(endpoint);
    const others = this.#remote.get(endpoint) ?? [];
    const joined = mergeEstimates(own === undefined ? others : [own, ...others]);
    if (joined !== undefined) together.set(endpoint, joined);
  }

  recentPercentiles(endpoint: string): RecentLatency | undefined {
    const kept = this.#recentSamples.get(endpoint);
    const total = kept?.totals.percentiles();
    if (kept === undefined || total === undefined) return undefined;
    return { samples: kept.totals.size, total, firstByte: kept.firstBytes.percentiles() ?? null };
  }

  #addRecent(endpoint: string, { totalMs, firstByteMs }: LatencySample): void {
    const kept = this.#recentSamples.get(endpoint) ?? { totals: new SampleRing(), firstBytes: new SampleRing() };
    this.#recentSamples.set(endpoint, kept);
    kept.totals.add(totalMs);
    if (firstByteMs !== null) kept.firstBytes.add(firstByteMs);
  }
}

function unlessExpired<T extends LatencyEstimate>(measured: T | undefined, nowMs: number): T | undefined {
  return measured === undefined || nowMs - measured.atMs > EXPIRES_AFTER_MS ? undefined : measured;
}

/** Each weighs by how much it is an average of, and less where another one has measured since. */
function mergeEstimates(speeds: readonly LatencyReport[]): LatencyEstimate | undefined {
  const [first] = speeds;
  if (first === undefined || speeds.length === 1) return first;
  const atMs = Math.max(...speeds.map((speed) => speed.atMs));
  let [firstByteMs, perTokenMs, all] = [0, 0, 0];
  for (const speed of speeds) {
    const weight = speed.samples * 2 ** ((speed.atMs - atMs) / STALE_REPORT_HALF_LIFE_MS);
    firstByteMs += weight * speed.firstByteMs;
    perTokenMs += weight * speed.perTokenMs;
    all += weight;
  }
  return { firstByteMs: firstByteMs / all, perTokenMs: perTokenMs / all, atMs };
}

/** The last so many values. */
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
    const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1];
    const [p50Ms, p95Ms] = [at(0.5), at(0.95)];
    return p50Ms === undefined || p95Ms === undefined ? undefined : { p50Ms, p95Ms };
  }
}

/** A whole answer shows only its sum: its tokens take what they are known to take, the rest was waiting. */
function splitLatency({ firstByteMs, totalMs, outputTokens }: LatencySample, perTokenMs: number) {
  if (outputTokens <= 0) return { firstByteMs: firstByteMs ?? totalMs, perTokenMs };
  if (firstByteMs !== null) return { firstByteMs, perTokenMs: Math.max(0, totalMs - firstByteMs) / outputTokens };
  const writingMs = Math.min(GENERATION_SHARE_MAX * totalMs, perTokenMs * outputTokens);
  return { firstByteMs: totalMs - writingMs, perTokenMs: writingMs / outputTokens };
}

export function expectedLatencyMs({ firstByteMs, perTokenMs }: LatencyEstimate, outputTokens: number): number {
  return firstByteMs + perTokenMs * outputTokens;
}
