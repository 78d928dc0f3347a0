type FamilyHeader = { name: string; header: string[]; type: string };
type MetricFamily = { readonly header: string[]; type: string; readonly series: Map<string, number> };

/** Gauges that describe the same thing in every worker, or are no amounts: merged by their maximum, not their sum. */
const MERGED_BY_MAX: ReadonlySet<string> = new Set([
  "gateway_draining",
  "gateway_endpoints_aside",
  "gateway_endpoints_unproven",
  "gateway_event_loop_delay_seconds",
  "gateway_event_loop_utilization",
  "gateway_instances",
  "gateway_journal_broken",
  "gateway_journal_set_aside",
  "gateway_log_export_lag_seconds",
  "gateway_memory_limit_bytes",
  "gateway_shared_state_open",
  "gateway_uptime_seconds",
]);

/** Sums the metrics of several processes, in the Prometheus text format. */
export class MergedMetrics {
  readonly #families = new Map<string, MetricFamily>();

  add(text: string): this {
    return this.#add(text, () => true);
  }

  /** Adds counters and histograms, which outlive their process; a gauge does not. */
  addWithoutGauges(text: string): this {
    return this.#add(text, (type) => type !== "gauge");
  }

  #add(text: string, isIncluded: (type: string) => boolean): this {
    const family: FamilyHeader = { name: "", header: [], type: "" };
    for (const line of text.split("\n")) {
      if (line === "") continue;
      const [, word, name = "", rest = ""] = HEADER_LINE.exec(line) ?? [];
      if (word === undefined) {
        if (isIncluded(family.type)) this.#addSeries(family, line);
      } else {
        if (name !== family.name) family.header = [];
        family.name = name;
        family.header.push(line);
        if (word === "TYPE") family.type = rest;
      }
    }
    return this;
  }

  text(): string {
    const parts = [...this.#families.values()].map(({ header, series }) =>
      [...header, ...[...series].map(([name, value]) => `${name} ${value}`)].join("\n"),
    );
    return `${parts.join("\n\n")}\n`;
  }

  #addSeries({ name, header, type }: FamilyHeader, line: string): void {
    const cut = line.lastIndexOf(" ");
    const series = line.slice(0, cut);
    const value = Number(line.slice(cut + 1));
    const family = this.#families.get(name) ?? { header: [...header], type, series: new Map<string, number>() };
    this.#families.set(name, family);
    const known = family.series.get(series);
    if (known === undefined) family.series.set(series, value);
    else family.series.set(series, MERGED_BY_MAX.has(name) ? Math.max(known, value) : known + value);
  }
}

const HEADER_LINE = /^# (HELP|TYPE) (\S+) ?(.*)$/;
