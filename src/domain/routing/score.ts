import type { Attempt, Ranked } from "./attempt.ts";
import type { Health } from "./health.ts";

const WEIGHTS = { quality: 1, cost: 1, latency: 1 } as const;

/** Quality, expected cost and measured latency, each brought to 0 (worst of the pool) … 1 (best), weighed and summed. */
export function byScore(attempts: readonly Attempt[], health: Health): Ranked[] {
  const known = attempts
    .flatMap(({ model }) => (model.quality === null ? [] : [model.quality.score]))
    .toSorted((a, b) => a - b);
  const unknownQuality = known[Math.floor(known.length / 4)] ?? 0;
  const latencies = attempts.flatMap(({ endpoint }) => health.of(endpoint.id)?.totalMs ?? []).toSorted((a, b) => a - b);
  const unknownLatency = latencies[Math.floor(latencies.length / 2)] ?? 0;
  const rows = attempts.map((attempt) => ({
    attempt,
    quality: attempt.model.quality?.score ?? unknownQuality,
    cost: Number(attempt.expectedNanos),
    latency: health.of(attempt.endpoint.id)?.totalMs ?? unknownLatency,
  }));
  const quality = scale(rows.map((row) => row.quality));
  const cost = scale(rows.map((row) => row.cost));
  const latency = scale(rows.map((row) => row.latency));
  const ranked = rows.map((row) => {
    const scores = { quality: quality(row.quality), cost: 1 - cost(row.cost), latency: 1 - latency(row.latency) };
    const total = WEIGHTS.quality * scores.quality + WEIGHTS.cost * scores.cost + WEIGHTS.latency * scores.latency;
    return { attempt: row.attempt, scores: { ...scores, total } };
  });
  return ranked.sort(
    (a, b) => b.scores.total - a.scores.total || (a.attempt.endpoint.id < b.attempt.endpoint.id ? -1 : 1),
  );
}

/** Brings a value between the smallest and the largest of the pool; a pool of equals is all zero. */
function scale(values: readonly number[]): (value: number) => number {
  const least = Math.min(...values);
  const span = Math.max(...values) - least;
  return (value) => (span === 0 ? 0 : (value - least) / span);
}
