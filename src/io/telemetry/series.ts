/**
 * Counters and timings of the request path. They are added up in plain maps by the text of their labels and written in
 * the Prometheus text format when somebody asks: a metrics library would check names and labels with every request.
 * Labels come from closed lists, so they need no escaping.
 */
export class CounterSeries {
  readonly #name: string;
  readonly #help: string;
  /** Each in a place of its own, so that it is looked for once. */
  readonly #values = new Map<string, { value: number }>();

  constructor(name: string, help: string) {
    this.#name = name;
    this.#help = help;
  }

  add(labels: string, amount: number): void {
    const known = this.#values.get(labels);
    if (known === undefined) this.#values.set(labels, { value: amount });
    else known.value += amount;
  }

  render(): string {
    const lines = headerLines(this.#name, this.#help, "counter");
    for (const [labels, { value }] of this.#values) lines.push(`${this.#name}{${labels}} ${value}`);
    return lines.join("\n");
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

/** What was added up, for whoever writes it in another form. */
export type SeriesSnapshot = CounterSnapshot | HistogramSnapshot;

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
    let place = 0;
    while (seconds > (this.#bounds[place] ?? Number.POSITIVE_INFINITY)) place += 1;
    timing.bucketCounts[place] = (timing.bucketCounts[place] ?? 0) + 1;
  }

  render(): string {
    const lines = headerLines(this.#name, this.#help, "histogram");
    for (const [labels, { bucketCounts, sum, count }] of this.#histograms) {
      const more = labels === "" ? "" : `,${labels}`;
      let below = 0;
      for (const [place, bound] of this.#bounds.entries()) {
        below += bucketCounts[place] ?? 0;
        lines.push(`${this.#name}_bucket{le="${bound}"${more}} ${below}`);
      }
      const own = labels === "" ? "" : `{${labels}}`;
      lines.push(`${this.#name}_bucket{le="+Inf"${more}} ${count}`);
      lines.push(`${this.#name}_sum${own} ${sum}`, `${this.#name}_count${own} ${count}`);
    }
    return lines.join("\n");
  }

  snapshot(): HistogramSnapshot {
    return { is: "timings", name: this.#name, help: this.#help, bounds: this.#bounds, timings: this.#histograms };
  }

  /** A series that stands at zero before anything was seen. */
  initialize(labels: string): Histogram {
    const timing = { bucketCounts: Array<number>(this.#bounds.length + 1).fill(0), sum: 0, count: 0 };
    this.#histograms.set(labels, timing);
    return timing;
  }
}

function headerLines(name: string, help: string, type: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}
