import type { Row } from "../../api/client.ts";
import { amountOf, nanosOf } from "../../format/nanos.ts";
import { counted, numberText } from "../../format/number.ts";

export type UsageRow = Row<"manageShowUsage">;

/** What can be drawn. Money is a decimal string until it is drawn, everything else a number. */
export const METRICS = [
  { id: "cost", label: "Spend" },
  { id: "requests", label: "Requests" },
  { id: "errors", label: "Errors" },
  { id: "input_tokens", label: "Tokens in" },
  { id: "output_tokens", label: "Tokens out" },
  { id: "cached_tokens", label: "Tokens cached" },
  { id: "reasoning_tokens", label: "Tokens reasoning" },
  { id: "latency", label: "Latency" },
  { id: "first_byte", label: "Time to first byte" },
] as const;
export type Metric = (typeof METRICS)[number]["id"];

const COUNTED = [
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
type Counts = Record<(typeof COUNTED)[number], number>;
export type Figures = Counts & { readonly cost: string };

/** Averages are not added up: of several there is no whole, and no share. */
export function isAverage(metric: Metric): boolean {
  return metric === "latency" || metric === "first_byte";
}

/** One member of the group over the whole time. `id` is its name as the API has it; empty: not known. */
export type Total = Figures & { readonly id: string; readonly label: string };

export function addUp(rows: readonly Figures[]): Figures {
  const sums: Counts = {
    ...{ requests: 0, errors: 0, input_tokens: 0, output_tokens: 0, cached_tokens: 0, reasoning_tokens: 0 },
    ...{ timed_requests: 0, total_ms: 0, streamed_requests: 0, first_byte_ms: 0 },
  };
  let costNanos = 0n;
  for (const row of rows) {
    for (const name of COUNTED) sums[name] += row[name];
    costNanos += nanosOf(row.cost);
  }
  return { ...sums, cost: amountOf(costNanos) };
}

/** Null: nothing was timed, which is not zero. */
export function figureOf(figures: Figures, metric: Metric): number | null {
  if (metric === "cost") return Number(figures.cost);
  if (metric === "latency") return averageOf(figures.total_ms, figures.timed_requests);
  if (metric === "first_byte") return averageOf(figures.first_byte_ms, figures.streamed_requests);
  return figures[metric];
}

const averageOf = (sum: number, count: number) => (count === 0 ? null : sum / count);

const NAMELESS: Readonly<Record<string, string>> = {
  key: "No key",
  member: "Keys of the workspace",
  model: "No model (refused before)",
  provider: "No provider (refused before)",
  app: "No app named",
};

/** Each member of the group with what it came to, the largest by the metric first. */
export function totalsOf(rows: readonly UsageRow[], group: string, metric: Metric): Total[] {
  const byName = Map.groupBy(rows, (row) => row.name ?? "");
  const totals = [...byName].map(([id, own]) => ({ ...addUp(own), id, label: labelOf(id, own[0]?.label, group) }));
  const labels = new Map<string, number>();
  for (const { label } of totals) labels.set(label, (labels.get(label) ?? 0) + 1);
  return totals
    .map((one) => ((labels.get(one.label) ?? 0) > 1 && one.id !== "" ? { ...one, label: withId(one) } : one))
    .toSorted((a, b) => (figureOf(b, metric) ?? -1) - (figureOf(a, metric) ?? -1) || a.label.localeCompare(b.label));
}

function labelOf(id: string, label: string | null | undefined, group: string): string {
  if (group === "") return "All";
  return id === "" ? (NAMELESS[group] ?? "Not known") : (label ?? id);
}

/** Two keys may have one name: the end of the id tells them apart. */
const withId = ({ id, label }: Pick<Total, "id" | "label">) => (label === id ? label : `${label} (…${id.slice(-4)})`);

type Drawn = {
  readonly id: string;
  readonly label: string;
  readonly values: readonly (number | null)[];
};

/** More lines than colours say nothing: what is not among the largest is one line. */
const LINES_MAX = 8;
export const OTHERS = "\u0000others";

type SeriesOptions = {
  readonly steps: readonly number[];
  readonly totals: readonly Total[];
  readonly picked: readonly string[];
  readonly metric: Metric;
};

/** Lines for the chart: those that were picked, or the largest and the rest together. A step without rows is zero. */
export function seriesOf(rows: readonly UsageRow[], { steps, totals, picked, metric }: SeriesOptions): Drawn[] {
  const wanted = picked.length > 0 ? totals.filter(({ id }) => picked.includes(id)) : totals;
  const own = wanted.length > LINES_MAX ? wanted.slice(0, LINES_MAX - 1) : wanted;
  const rest = new Set(wanted.slice(own.length).map(({ id }) => id));
  const lineOf = (name: string) => (rest.has(name) ? OTHERS : name);
  const places = Map.groupBy(rows, (row) => `${Date.parse(row.start)} ${lineOf(row.name ?? "")}`);
  const drawn = rest.size === 0 ? own : [...own, { id: OTHERS, label: counted(rest.size, "other") }];
  return drawn.map(({ id, label }) => ({
    id,
    label,
    values: steps.map((startMs) => figureOf(addUp(places.get(`${startMs} ${id}`) ?? []), metric)),
  }));
}

const TENTHS_BELOW = 10;

/** How many on a day: few with a tenth, so that some are never none. */
export function perDayText(count: number, days: number): string {
  const mean = count / Math.max(1, days);
  if (mean > 0 && mean < 0.1) return `under ${numberText(0.1)} a day`;
  return `${numberText(mean < TENTHS_BELOW ? Math.round(mean * 10) / 10 : Math.round(mean))} a day`;
}
