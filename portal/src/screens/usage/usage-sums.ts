import type { Row } from "../../api/client.ts";
import { amountOf, nanosOf } from "../../format/nanos.ts";
import { counted, numberText } from "../../format/number.ts";

export type UsageRow = Row<"manageShowUsage">;

/** Chart metrics. Cost stays a decimal string until it is drawn. */
export const METRICS = [
  { id: "cost", label: "Spend" },
  { id: "requests", label: "Requests" },
  { id: "errors", label: "Errors" },
  { id: "input_tokens", label: "Input tokens" },
  { id: "output_tokens", label: "Output tokens" },
  { id: "cached_tokens", label: "Cached tokens" },
  { id: "reasoning_tokens", label: "Reasoning tokens" },
  { id: "latency", label: "Latency" },
  { id: "first_byte", label: "TTFB" },
] as const;
export type Metric = (typeof METRICS)[number]["id"];

const COUNT_FIELDS = [
  "requests",
  "errors",
  "input_tokens",
  "output_tokens",
  "cached_tokens",
  "reasoning_tokens",
  "timed_requests",
  "total_ms",
  "streamed_requests",
  "first_byte_ms",
] as const;
type Counts = Record<(typeof COUNT_FIELDS)[number], number>;
export type UsageSums = Counts & { readonly cost: string };

/** Averages have no total and no share. */
export function isAverage(metric: Metric): boolean {
  return metric === "latency" || metric === "first_byte";
}

/** Totals of one group over the period. An empty `id` means unknown. */
export type Total = UsageSums & { readonly id: string; readonly label: string };

export function sumUsage(rows: readonly UsageSums[]): UsageSums {
  const sums: Counts = {
    ...{ requests: 0, errors: 0, input_tokens: 0, output_tokens: 0, cached_tokens: 0, reasoning_tokens: 0 },
    ...{ timed_requests: 0, total_ms: 0, streamed_requests: 0, first_byte_ms: 0 },
  };
  let costNanos = 0n;
  for (const row of rows) {
    for (const name of COUNT_FIELDS) sums[name] += row[name];
    costNanos += nanosOf(row.cost);
  }
  return { ...sums, cost: amountOf(costNanos) };
}

/** Null: no measurements. */
export function metricValue(figures: UsageSums, metric: Metric): number | null {
  if (metric === "cost") return Number(figures.cost);
  if (metric === "latency") return averageOf(figures.total_ms, figures.timed_requests);
  if (metric === "first_byte") return averageOf(figures.first_byte_ms, figures.streamed_requests);
  return figures[metric];
}

const averageOf = (sum: number, count: number) => (count === 0 ? null : sum / count);

const UNNAMED_LABELS: Readonly<Record<string, string>> = {
  key: "No key",
  member: "Workspace keys",
  model: "No model (rejected)",
  provider: "No provider (rejected)",
  app: "Unknown app",
};

/** Totals per group, largest first. */
export function totalsOf(rows: readonly UsageRow[], group: string, metric: Metric): Total[] {
  const byName = Map.groupBy(rows, (row) => row.name ?? "");
  const totals = [...byName].map(([id, shown]) => ({
    ...sumUsage(shown),
    id,
    label: labelOf(id, shown[0]?.label, group),
  }));
  const labels = new Map<string, number>();
  for (const { label } of totals) labels.set(label, (labels.get(label) ?? 0) + 1);
  return totals
    .map((one) => ((labels.get(one.label) ?? 0) > 1 && one.id !== "" ? { ...one, label: withId(one) } : one))
    .toSorted(
      (a, b) => (metricValue(b, metric) ?? -1) - (metricValue(a, metric) ?? -1) || a.label.localeCompare(b.label),
    );
}

function labelOf(id: string, label: string | null | undefined, group: string): string {
  if (group === "") return "All";
  return id === "" ? (UNNAMED_LABELS[group] ?? "Unknown") : (label ?? id);
}

/** Appends the end of the ID to duplicate names. */
const withId = ({ id, label }: Pick<Total, "id" | "label">) => (label === id ? label : `${label} (…${id.slice(-4)})`);

type ChartSeries = {
  readonly id: string;
  readonly label: string;
  readonly values: readonly (number | null)[];
};

/** Limited by the number of colours; the smallest groups are combined. */
const SERIES_MAX = 8;
export const OTHERS = "\u0000others";

type SeriesOptions = {
  readonly steps: readonly number[];
  readonly totals: readonly Total[];
  readonly selected: readonly string[];
  readonly metric: Metric;
};

/** Chart series: the selected groups, or the largest plus the combined rest. A step without rows is zero. */
export function seriesOf(rows: readonly UsageRow[], { steps, totals, selected, metric }: SeriesOptions): ChartSeries[] {
  const visible = selected.length > 0 ? totals.filter(({ id }) => selected.includes(id)) : totals;
  const shown = visible.length > SERIES_MAX ? visible.slice(0, SERIES_MAX - 1) : visible;
  const rest = new Set(visible.slice(shown.length).map(({ id }) => id));
  const seriesIdOf = (name: string) => (rest.has(name) ? OTHERS : name);
  const bySeriesStep = Map.groupBy(rows, (row) => `${Date.parse(row.start)} ${seriesIdOf(row.name ?? "")}`);
  const series = rest.size === 0 ? shown : [...shown, { id: OTHERS, label: counted(rest.size, "other") }];
  return series.map(({ id, label }) => ({
    id,
    label,
    values: steps.map((startMs) => metricValue(sumUsage(bySeriesStep.get(`${startMs} ${id}`) ?? []), metric)),
  }));
}

const ONE_DECIMAL_BELOW = 10;

/** Average per day, with one decimal for small values. */
export function perDayText(count: number, days: number): string {
  const mean = count / Math.max(1, days);
  if (mean > 0 && mean < 0.1) return `under ${numberText(0.1)} per day`;
  return `${numberText(mean < ONE_DECIMAL_BELOW ? Math.round(mean * 10) / 10 : Math.round(mean))} per day`;
}
