import type { Row } from "../../api/client.ts";
import { amountOf, nanosOf } from "../../format/nanos.ts";

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
] as const;
export type Metric = (typeof METRICS)[number]["id"];

type Counts = Record<Exclude<Metric, "cost">, number>;
export type Figures = Counts & { readonly cost: string };

/** One member of the group over the whole time. `id` is its name as the API has it; empty: not known. */
export type Total = Figures & { readonly id: string; readonly label: string };

const COUNTED = ["requests", "errors", "input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens"] as const;

export function addUp(rows: readonly Figures[]): Figures {
  const sums: Counts = {
    requests: 0,
    errors: 0,
    input_tokens: 0,
    output_tokens: 0,
    cached_tokens: 0,
    reasoning_tokens: 0,
  };
  let costNanos = 0n;
  for (const row of rows) {
    for (const name of COUNTED) sums[name] += row[name];
    costNanos += nanosOf(row.cost);
  }
  return { ...sums, cost: amountOf(costNanos) };
}

export function figureOf(figures: Figures, metric: Metric): number {
  return metric === "cost" ? Number(figures.cost) : figures[metric];
}

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
    .toSorted((a, b) => figureOf(b, metric) - figureOf(a, metric) || a.label.localeCompare(b.label));
}

function labelOf(id: string, label: string | null | undefined, group: string): string {
  if (group === "") return "All";
  return id === "" ? (NAMELESS[group] ?? "Not known") : (label ?? id);
}

/** Two keys may have one name: the end of the id tells them apart. */
const withId = ({ id, label }: Pick<Total, "id" | "label">) => (label === id ? label : `${label} (…${id.slice(-4)})`);

export type Drawn = {
  readonly id: string;
  readonly label: string;
  readonly values: readonly number[];
};

/** More lines than colours say nothing: what is not among the largest is one line. */
export const LINES_MAX = 8;
export const OTHERS = "\u0000others";

type Asked = {
  readonly steps: readonly number[];
  readonly totals: readonly Total[];
  readonly picked: readonly string[];
  readonly metric: Metric;
};

/** Lines for the chart: those that were picked, or the largest and the rest together. A step without rows is zero. */
export function seriesOf(rows: readonly UsageRow[], { steps, totals, picked, metric }: Asked): Drawn[] {
  const at = new Map(steps.map((startMs, index) => [startMs, index]));
  const wanted = picked.length > 0 ? totals.filter(({ id }) => picked.includes(id)) : totals;
  const own = wanted.length > LINES_MAX ? wanted.slice(0, LINES_MAX - 1) : wanted;
  const rest = wanted.slice(own.length);
  const lines = new Map(own.map(({ id }) => [id, steps.map(() => 0)]));
  const others = steps.map(() => 0);
  const isOther = new Set(rest.map(({ id }) => id));
  for (const row of rows) {
    const index = at.get(Date.parse(row.start));
    const line = lines.get(row.name ?? "") ?? (isOther.has(row.name ?? "") ? others : undefined);
    if (index !== undefined && line !== undefined) line[index] = (line[index] ?? 0) + figureOf(row, metric);
  }
  const drawn = own.map(({ id, label }) => ({ id, label, values: lines.get(id) ?? [] }));
  return rest.length === 0 ? drawn : [...drawn, { id: OTHERS, label: `${rest.length} others`, values: others }];
}
