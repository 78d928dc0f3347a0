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

type CollectionWindow = { readonly sinceMs: number; readonly nowMs: number };

/** AGGREGATION_TEMPORALITY_CUMULATIVE. */
const CUMULATIVE = 2;

const CONVENTION_NAMES: ReadonlyMap<string, { readonly name: string; readonly unit: string }> = new Map(
  Object.values(GENAI_METRICS).map(({ prometheus, name, unit }) => [prometheus, { name, unit }]),
);
const ATTRIBUTES_BY_LABEL: ReadonlyMap<string, string> = new Map(
  Object.values(GENAI).map((attribute) => [prometheusLabelName(attribute), attribute]),
);

/** All metrics as one message: GenAI metrics by their OTLP names, all others by their Prometheus names. */
export function encodeMetrics(
  { resource, scope }: OtlpSource,
  series: readonly SeriesSnapshot[],
  gauges: readonly GaugeSnapshot[],
  window: CollectionWindow,
): string {
  const metrics = [
    ...series.map((each) => seriesMetric(each, window)),
    ...gauges.map((each) => gaugeMetric(each, window)),
  ];
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

/** Parses a Prometheus label text; its values need no unescaping. */
function parseLabels(labels: string): OtlpAttribute[] {
  const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = "", value = ""]) => [
    ATTRIBUTES_BY_LABEL.get(name) ?? name,
    value,
  ]);
  return otlpAttributes(Object.fromEntries(pairs));
}
