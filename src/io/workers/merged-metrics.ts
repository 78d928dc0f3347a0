type Family = { readonly head: string[]; type: string; readonly series: Map<string, number> };

/** What every worker knows of the same thing, or what is no amount: the greatest is shown. All else is added up. */
const SAME_FOR_ALL: ReadonlySet<string> = new Set([
  "gateway_draining",
  "gateway_endpoints_aside",
  "gateway_endpoints_unproven",
  "gateway_event_loop_delay_seconds",
  "gateway_event_loop_utilization",
  "gateway_instances",
  "gateway_journal_broken",
  "gateway_journal_set_aside",
  "gateway_log_export_lag_seconds",
  "gateway_shared_state_open",
  "gateway_uptime_seconds",
]);

/** Metrics of several processes as one, in the text format of Prometheus: counts are added up. */
export class MergedMetrics {
  readonly #families = new Map<string, Family>();

  /** `lasting`: only what counts up, and so outlives the process that counted it. */
  add(text: string, what: "all" | "lasting" = "all"): this {
    const family: { name: string; head: string[]; type: string } = { name: "", head: [], type: "" };
    for (const line of text.split("\n")) {
      if (line === "") continue;
      const [, word, name = "", rest = ""] = HEAD.exec(line) ?? [];
      if (word === undefined) this.#addSeries(family, line, what);
      else {
        if (name !== family.name) family.head = [];
        family.name = name;
        family.head.push(line);
        if (word === "TYPE") family.type = rest;
      }
    }
    return this;
  }

  text(): string {
    const parts = [...this.#families.values()].map(({ head, series }) =>
      [...head, ...[...series].map(([name, value]) => `${name} ${value}`)].join("\n"),
    );
    return `${parts.join("\n\n")}\n`;
  }

  #addSeries({ name, head, type }: { name: string; head: string[]; type: string }, line: string, what: string): void {
    if (what === "lasting" && type === "gauge") return;
    const cut = line.lastIndexOf(" ");
    const series = line.slice(0, cut);
    const value = Number(line.slice(cut + 1));
    const family = this.#families.get(name) ?? { head: [...head], type, series: new Map<string, number>() };
    this.#families.set(name, family);
    const known = family.series.get(series);
    if (known === undefined) family.series.set(series, value);
    else family.series.set(series, SAME_FOR_ALL.has(name) ? Math.max(known, value) : known + value);
  }
}

const HEAD = /^# (HELP|TYPE) (\S+) ?(.*)$/;
