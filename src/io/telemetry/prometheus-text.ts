import type { SeriesSnapshot } from "./series.ts";

/** One series in the text format of Prometheus. */
export function prometheusText(series: SeriesSnapshot): string {
  const { name, help } = series;
  const [type, values] =
    series.is === "counts" ? ["counter", counterLines(series)] : ["histogram", histogramLines(series)];
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...values].join("\n");
}

function counterLines({ name, values }: Extract<SeriesSnapshot, { is: "counts" }>): string[] {
  return Array.from(values, ([labels, value]) => `${name}{${labels}} ${value}`);
}

function histogramLines({ name, bounds, timings }: Extract<SeriesSnapshot, { is: "timings" }>): string[] {
  const lines: string[] = [];
  for (const [labels, { bucketCounts, sum, count }] of timings) {
    const suffix = labels === "" ? "" : `,${labels}`;
    let cumulative = 0;
    for (const [bucket, bound] of bounds.entries()) {
      cumulative += bucketCounts[bucket] ?? 0;
      lines.push(`${name}_bucket{le="${bound}"${suffix}} ${cumulative}`);
    }
    const own = labels === "" ? "" : `{${labels}}`;
    lines.push(`${name}_bucket{le="+Inf"${suffix}} ${count}`);
    lines.push(`${name}_sum${own} ${sum}`, `${name}_count${own} ${count}`);
  }
  return lines;
}
