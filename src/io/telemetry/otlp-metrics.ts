import { GENAI, GENAI_METRICS, prometheusLabelName } from "./genai-conventions.ts";
import { type OtlpAttribute, type OtlpSource, otlpAttributes, unixNanos } from "./otlp-values.ts";
import type { SeriesSnapshot } from "./series.ts";

export type GaugeSnapshot = {
  readonly name: string;
  readonly help: string;
  readonly values: readonly {
    readonly labels: Readonly<Record<string, string | number | undefined>>;
    readonly value: number;
  }[];
};

/** Since when everything is counted, and when it was looked at. */
type CollectionWindow = { readonly sinceMs: number; readonly nowMs: number };

/** Sums since the start, as OTLP numbers that. */
const CUMULATIVE = 2;

const CONVENTION_NAMES: ReadonlyMap<string, { readonly name: string; readonly unit: string }> = new Map(
  Object.values(GENAI_METRICS).map(({ prometheus, name, unit }) => [prometheus, { name, unit }]),
);
const ATTRIBUTES_BY_LABEL: ReadonlyMap<string, string> = new Map(
  Object.values(GENAI).map((attribute) => [prometheusLabelName(attribute), attribute]),
);

/** All metrics as one message. Those of the conventions go by the conventions' names, all others as at /metrics. */
export function encodeMetrics(
  { resource, scope }: OtlpSource,
  series: readonly SeriesSnapshot[],
  gauges: readonly GaugeSnapshot[],
  span: CollectionWindow,
): string {
  const metrics = [...series.map((one) => seriesMetric(one, span)), ...gauges.map((one) => gaugeMetric(one, span))];
  return JSON.stringify({ resourceMetrics: [{ resource, scopeMetrics: [{ scope, metrics }] }] });
}

function seriesMetric(series: SeriesSnapshot, { sinceMs, nowMs }: CollectionWindow) {
  const { name, unit } = CONVENTION_NAMES.get(series.name) ?? { name: series.name, unit: unitOf(series.name) };
  const named = { name, description: series.help, unit };
  const at = { startTimeUnixNano: unixNanos(sinceMs), timeUnixNano: unixNanos(nowMs) };
  if (series.is === "counts") {
    const dataPoints = [...series.values].map(([labels, value]) => ({
      attributes: parseLabels(labels),
      ...at,
      asDouble: value,
    }));
    return { ...named, sum: { dataPoints, aggregationTemporality: CUMULATIVE, isMonotonic: true } };
  }
  const dataPoints = [...series.timings].map(([labels, { bucketCounts, sum, count }]) => ({
    attributes: parseLabels(labels),
    ...at,
    count: String(count),
    sum,
    bucketCounts: bucketCounts.map(String),
    explicitBounds: series.bounds,
  }));
  return { ...named, histogram: { dataPoints, aggregationTemporality: CUMULATIVE } };
}

function gaugeMetric({ name, help, values }: GaugeSnapshot, { nowMs }: CollectionWindow) {
  const dataPoints = values.map(({ labels, value }) => ({
    attributes: otlpAttributes(labels),
    timeUnixNano: unixNanos(nowMs),
    asDouble: value,
  }));
  return { name, description: help, unit: unitOf(name), gauge: { dataPoints } };
}

function unitOf(name: string): string {
  if (name.endsWith("_seconds")) return "s";
  return name.endsWith("_bytes") ? "By" : "";
}

/** The text of labels, as it is kept: closed lists without anything to escape. */
function parseLabels(labels: string): OtlpAttribute[] {
  const found = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = "", value = ""]) => [
    ATTRIBUTES_BY_LABEL.get(name) ?? name,
    value,
  ]);
  return otlpAttributes(Object.fromEntries(found));
}
