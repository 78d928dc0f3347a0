import { formatNanos } from "../../../kit/money.ts";
import type { Figure, Replayed } from "../../pipeline/replay-routing.ts";

/** Sums of one side: cost of all, latency and quality of those where it is known. */
class ReplayTotals {
  requests = 0;
  #nanos = 0n;
  #latency = { sum: 0, count: 0 };
  #quality = { sum: 0, count: 0 };

  add(figure: Figure): void {
    this.requests += 1;
    this.#nanos += figure.nanos;
    count(this.#latency, figure.latencyMs);
    count(this.#quality, figure.quality);
  }

  view() {
    return {
      requests: this.requests,
      cost: formatNanos(this.#nanos),
      latency_ms: meanOf(this.#latency, 10),
      quality: meanOf(this.#quality, 10_000),
    };
  }
}

type RunningMean = { sum: number; count: number };

function count(into: RunningMean, value: number | null): void {
  if (value === null) return;
  into.sum += value;
  into.count += 1;
}

function meanOf({ sum, count: known }: RunningMean, precision: number): number | null {
  return known === 0 ? null : Math.round((precision * sum) / known) / precision;
}

/** What satisfies no floor. */
const UNKNOWN_LEVEL = "UNCLASSIFIED";

/** What happened beside what would have happened. Means of the whole are of requests that both sides know. */
export class ReplayTally {
  readonly #happened = new ReplayTotals();
  readonly #replayed = new ReplayTotals();
  readonly #models = new Map<string, { happened: ReplayTotals; replayed: ReplayTotals }>();
  readonly #levels = new Map<string, { happened: number; replayed: number }>();
  readonly #leftOut = new Map<string, number>();
  #moved = 0;
  #latencies = 0;
  #qualities = 0;

  add(one: Replayed): void {
    if (one.is === "left_out") {
      this.#leftOut.set(one.reason, (this.#leftOut.get(one.reason) ?? 0) + 1);
      return;
    }
    const { happened, replayed } = one;
    if (one.by === "another endpoint") this.#moved += 1;
    const latency = happened.latencyMs !== null && replayed.latencyMs !== null;
    const quality = happened.quality !== null && replayed.quality !== null;
    if (latency) this.#latencies += 1;
    if (quality) this.#qualities += 1;
    const shared = (figure: Figure): Figure => ({
      ...figure,
      latencyMs: latency ? figure.latencyMs : null,
      quality: quality ? figure.quality : null,
    });
    this.#happened.add(shared(happened));
    this.#replayed.add(shared(replayed));
    this.#of(happened.model).happened.add(happened);
    this.#of(replayed.model).replayed.add(replayed);
    this.#level(happened.level).happened += 1;
    this.#level(replayed.level).replayed += 1;
  }

  #level(level: string | null) {
    const name = level ?? UNKNOWN_LEVEL;
    const found = this.#levels.get(name) ?? { happened: 0, replayed: 0 };
    this.#levels.set(name, found);
    return found;
  }

  #of(model: string) {
    const found = this.#models.get(model) ?? { happened: new ReplayTotals(), replayed: new ReplayTotals() };
    this.#models.set(model, found);
    return found;
  }

  view() {
    return {
      compared: this.#happened.requests,
      moved: this.#moved,
      left_out: [...this.#leftOut]
        .map(([reason, requests]) => ({ reason, requests }))
        .toSorted((a, b) => b.requests - a.requests),
      happened: this.#happened.view(),
      replayed: this.#replayed.view(),
      latency_requests: this.#latencies,
      quality_requests: this.#qualities,
      models: [...this.#models]
        .map(([model, { happened, replayed }]) => ({ model, happened: happened.view(), replayed: replayed.view() }))
        .toSorted((a, b) => weightOf(b) - weightOf(a) || (a.model < b.model ? -1 : 1)),
      levels: [...this.#levels]
        .map(([level, requests]) => ({ level, ...requests }))
        .toSorted((a, b) => (a.level < b.level ? -1 : 1)),
    };
  }
}

function weightOf({ happened, replayed }: { happened: { requests: number }; replayed: { requests: number } }): number {
  return happened.requests + replayed.requests;
}
