/**
 * A counter of the request path, in a plain map by label text: a metrics library would validate names and labels for each
 * request. Label values come from closed lists and need no escaping.
 */
export class CounterSeries {
  readonly #name: string;
  readonly #help: string;
  /** Boxed, so that an increment needs one map lookup. */
  readonly #values = new Map<string, { value: number }>();

  constructor(name: string, help: string) {
    this.#name = name;
    this.#help = help;
  }

  add(labels: string, amount: number): void {
    const counter = this.#values.get(labels);
    if (counter === undefined) this.#values.set(labels, { value: amount });
    else counter.value += amount;
  }

  snapshot(): CounterSnapshot {
    const values = new Map(this.#values.entries().map(([labels, { value }]) => [labels, value]));
    return { is: "counts", name: this.#name, help: this.#help, values };
  }
}

type Histogram = { readonly bucketCounts: number[]; sum: number; count: number };

type SeriesDescription = { readonly name: string; readonly help: string };
type CounterSnapshot = SeriesDescription & { readonly is: "counts"; readonly values: ReadonlyMap<string, number> };
type HistogramSnapshot = SeriesDescription & {
  readonly is: "timings";
  readonly bounds: readonly number[];
  readonly timings: ReadonlyMap<string, Readonly<Histogram>>;
};

export type SeriesSnapshot = CounterSnapshot | HistogramSnapshot;

/** A histogram of the request path. */
export class HistogramSeries {
  readonly #name: string;
  readonly #help: string;
  readonly #bounds: readonly number[];
  readonly #histograms = new Map<string, Histogram>();

  constructor(name: string, help: string, bounds: readonly number[]) {
    this.#name = name;
    this.#help = help;
    this.#bounds = bounds;
  }

  observe(labels: string, seconds: number): void {
    const timing = this.#histograms.get(labels) ?? this.initialize(labels);
    timing.sum += seconds;
    timing.count += 1;
    let bucket = 0;
    while (seconds > (this.#bounds[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
    timing.bucketCounts[bucket] = (timing.bucketCounts[bucket] ?? 0) + 1;
  }

  snapshot(): HistogramSnapshot {
    return { is: "timings", name: this.#name, help: this.#help, bounds: this.#bounds, timings: this.#histograms };
  }

  /** Creates the series at zero, before the first observation. */
  initialize(labels: string): Histogram {
    const timing = { bucketCounts: Array<number>(this.#bounds.length + 1).fill(0), sum: 0, count: 0 };
    this.#histograms.set(labels, timing);
    return timing;
  }
}
