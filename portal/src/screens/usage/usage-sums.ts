import type { ApiResponse, Row } from "../../api/client.ts";
import { countryName } from "../../format/country.ts";
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
  { id: "cache_share", label: "Cache share" },
  { id: "latency_p50", label: "Latency p50" },
  { id: "latency_p95", label: "Latency p95" },
  { id: "latency_p99", label: "Latency p99" },
  { id: "ttfb_p50", label: "TTFB p50" },
  { id: "ttfb_p95", label: "TTFB p95" },
  { id: "ttfb_p99", label: "TTFB p99" },
  { id: "speed_p50", label: "Tokens/s p50" },
] as const;
export type Metric = (typeof METRICS)[number]["id"];

const COUNT_FIELDS = [
  "requests",
  "errors",
  "input_tokens",
  "output_tokens",
  "cached_tokens",
  "reasoning_tokens",
] as const;
type Counts = Record<(typeof COUNT_FIELDS)[number], number>;
export type Distributions = Pick<UsageRow, "latency_ms" | "ttfb_ms" | "tokens_per_second">;
export type UsageSums = Counts & { readonly cost: string };
/** Percentiles do not add up: they are of one row, or of the whole period from the response. */
export type UsageFigures = UsageSums & Distributions;

const NO_DISTRIBUTIONS: Distributions = { latency_ms: null, ttfb_ms: null, tokens_per_second: null };

const PERCENTILE_METRICS = {
  latency_p50: ["latency_ms", "p50"],
  latency_p95: ["latency_ms", "p95"],
  latency_p99: ["latency_ms", "p99"],
  ttfb_p50: ["ttfb_ms", "p50"],
  ttfb_p95: ["ttfb_ms", "p95"],
  ttfb_p99: ["ttfb_ms", "p99"],
  speed_p50: ["tokens_per_second", "p50"],
} as const satisfies Partial<Record<Metric, readonly [keyof Distributions, "p50" | "p95" | "p99"]>>;
type PercentileMetric = keyof typeof PERCENTILE_METRICS;

const isPercentile = (metric: Metric): metric is PercentileMetric => metric in PERCENTILE_METRICS;

/** Percentiles and ratios have no total and no share. */
export function isAdditive(metric: Metric): boolean {
  return !isPercentile(metric) && metric !== "cache_share";
}

export type MetricUnit = "money" | "count" | "share" | "duration" | "rate";

export function unitOf(metric: Metric): MetricUnit {
  if (metric === "cost") return "money";
  if (metric === "cache_share") return "share";
  if (metric === "speed_p50") return "rate";
  return isPercentile(metric) ? "duration" : "count";
}

/** Totals of one group over the period. An empty `id` means unknown. */
export type Total = UsageFigures & { readonly id: string; readonly label: string };

export function sumUsage(rows: readonly UsageSums[]): UsageSums {
  const sums: Counts = {
    ...{ requests: 0, errors: 0, input_tokens: 0, output_tokens: 0, cached_tokens: 0, reasoning_tokens: 0 },
  };
  let costNanos = 0n;
  for (const row of rows) {
    for (const name of COUNT_FIELDS) sums[name] += row[name];
    costNanos += nanosOf(row.cost);
  }
  return { ...sums, cost: amountOf(costNanos) };
}

/** Null: no measurements. */
export function metricValue(figures: UsageFigures, metric: Metric): number | null {
  if (metric === "cost") return Number(figures.cost);
  if (metric === "cache_share") return cacheShare(figures);
  if (!isPercentile(metric)) return figures[metric];
  const [distribution, percentile] = PERCENTILE_METRICS[metric];
  return figures[distribution]?.[percentile] ?? null;
}

/** The part of the input that providers read from their prompt caches; null without input. */
export function cacheShare({ cached_tokens, input_tokens }: Pick<Counts, "cached_tokens" | "input_tokens">) {
  return input_tokens === 0 ? null : cached_tokens / input_tokens;
}

const UNNAMED_LABELS: Readonly<Record<string, string>> = {
  key: "No key",
  member: "Workspace keys",
  model: "No model (rejected)",
  provider: "No provider (rejected)",
  level: "No level (rejected or not recorded)",
  country: "Unknown country",
  app: "Unknown app",
};

type Report = Pick<ApiResponse<"manageShowUsage">, "data" | "group" | "groups" | "total">;

/** Totals per group, largest first. */
export function totalsOf(report: Report, metric: Metric): Total[] {
  const group = report.group ?? "";
  const byName = Map.groupBy(report.data, (row) => row.name ?? "");
  const distributions = new Map(report.groups.map((one) => [one.name ?? "", one]));
  const totals = [...byName].map(([id, shown]) => ({
    ...sumUsage(shown),
    ...distributionsOf(group === "" ? report.total : distributions.get(id)),
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

function distributionsOf({ latency_ms, ttfb_ms, tokens_per_second }: Distributions = NO_DISTRIBUTIONS): Distributions {
  return { latency_ms, ttfb_ms, tokens_per_second };
}

function labelOf(id: string, label: string | null | undefined, group: string): string {
  if (group === "") return "All";
  if (id === "") return UNNAMED_LABELS[group] ?? "Unknown";
  return group === "country" ? id.split(",").map(countryName).join(", ") : (label ?? id);
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
    values: steps.map((startMs) => metricValue(figuresOf(bySeriesStep.get(`${startMs} ${id}`) ?? []), metric)),
  }));
}

/** Combined groups have no percentiles. */
function figuresOf(rows: readonly UsageRow[]): UsageFigures {
  return { ...sumUsage(rows), ...distributionsOf(rows.length === 1 ? rows[0] : undefined) };
}

const ONE_DECIMAL_BELOW = 10;

/** Average per day, with one decimal for small values. */
export function perDayText(count: number, days: number): string {
  const mean = count / Math.max(1, days);
  if (mean > 0 && mean < 0.1) return `under ${numberText(0.1)} per day`;
  return `${numberText(mean < ONE_DECIMAL_BELOW ? Math.round(mean * 10) / 10 : Math.round(mean))} per day`;
}
