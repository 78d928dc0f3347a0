/**
 * How fast an endpoint answers, measured from the traffic itself: the time to the first byte, and the time each token
 * of output takes after it.
 */
export type Measured = { readonly firstByteMs: number; readonly perTokenMs: number; readonly atMs: number };

/** One answer. `firstByteMs` is null for an answer that came whole: nobody saw where its first byte was. */
export type Sample = {
  readonly firstByteMs: number | null;
  readonly totalMs: number;
  readonly outputTokens: number;
};

/** What the last answers took, in the middle and at the slow end. */
export type Spread = { readonly p50Ms: number; readonly p95Ms: number };

type Recent = {
  readonly answers: number;
  readonly total: Spread;
  /** Of streams alone: null where there was none. */
  readonly firstByte: Spread | null;
};

/** Enough for a slow end that means something. */
const RECENT_MAX = 128;

const WEIGHT_OF_NEW = 0.2;
/** After this time what was known weighs half as much against what is new. */
const HALF_LIFE_MS = 10 * 60_000;
/** What was measured longer ago says nothing of today. */
const FORGOTTEN_AFTER_MS = 24 * 3_600_000;
/** Until a stream has shown it. */
const PER_TOKEN_MS_ASSUMED = 15;
/** The most of a whole answer's time that is put down to its tokens. */
const WRITING_SHARE_MAX = 0.9;

export class Health {
  readonly #measured = new Map<string, Measured>();
  readonly #recent = new Map<string, { readonly totals: Ring; readonly firstBytes: Ring }>();

  /** Endpoints are catalogue rows, so the map is bounded by the catalogue. */
  served(endpoint: string, sample: Sample, nowMs: number): void {
    this.#remember(endpoint, sample);
    const before = this.of(endpoint, nowMs);
    const seen = split(sample, before?.perTokenMs ?? PER_TOKEN_MS_ASSUMED);
    if (before === undefined) {
      this.#measured.set(endpoint, { ...seen, atMs: nowMs });
      return;
    }
    const kept = (1 - WEIGHT_OF_NEW) * 2 ** (-Math.max(0, nowMs - before.atMs) / HALF_LIFE_MS);
    this.#measured.set(endpoint, {
      firstByteMs: kept * before.firstByteMs + (1 - kept) * seen.firstByteMs,
      perTokenMs: kept * before.perTokenMs + (1 - kept) * seen.perTokenMs,
      atMs: nowMs,
    });
  }

  of(endpoint: string, nowMs: number): Measured | undefined {
    const measured = this.#measured.get(endpoint);
    return measured === undefined || nowMs - measured.atMs > FORGOTTEN_AFTER_MS ? undefined : measured;
  }

  recent(endpoint: string): Recent | undefined {
    const kept = this.#recent.get(endpoint);
    const total = kept?.totals.spread();
    if (kept === undefined || total === undefined) return undefined;
    return { answers: kept.totals.size, total, firstByte: kept.firstBytes.spread() ?? null };
  }

  #remember(endpoint: string, { totalMs, firstByteMs }: Sample): void {
    const kept = this.#recent.get(endpoint) ?? { totals: new Ring(), firstBytes: new Ring() };
    this.#recent.set(endpoint, kept);
    kept.totals.add(totalMs);
    if (firstByteMs !== null) kept.firstBytes.add(firstByteMs);
  }
}

/** The last so many values. */
class Ring {
  readonly #values: number[] = [];
  #next = 0;

  get size(): number {
    return this.#values.length;
  }

  add(value: number): void {
    this.#values[this.#next] = value;
    this.#next = (this.#next + 1) % RECENT_MAX;
  }

  spread(): Spread | undefined {
    const sorted = this.#values.toSorted((a, b) => a - b);
    const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1];
    const [p50Ms, p95Ms] = [at(0.5), at(0.95)];
    return p50Ms === undefined || p95Ms === undefined ? undefined : { p50Ms, p95Ms };
  }
}

/** A whole answer shows only its sum: its tokens take what they are known to take, the rest was waiting. */
function split({ firstByteMs, totalMs, outputTokens }: Sample, perTokenMs: number) {
  if (outputTokens <= 0) return { firstByteMs: firstByteMs ?? totalMs, perTokenMs };
  if (firstByteMs !== null) return { firstByteMs, perTokenMs: Math.max(0, totalMs - firstByteMs) / outputTokens };
  const writingMs = Math.min(WRITING_SHARE_MAX * totalMs, perTokenMs * outputTokens);
  return { firstByteMs: totalMs - writingMs, perTokenMs: writingMs / outputTokens };
}

export function expectedMs({ firstByteMs, perTokenMs }: Measured, outputTokens: number): number {
  return firstByteMs + perTokenMs * outputTokens;
}
