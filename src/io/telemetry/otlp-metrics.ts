import { GENAI, GENAI_METRICS, labelNameOf } from "./genai.ts";
import { attributesOf, nanosOf, type OtlpAttribute, type OtlpSource } from "./otlp-values.ts";
import type { ReadSeries } from "./series.ts";

export type ReadGauge = {
  readonly name: string;
  readonly help: string;
  readonly values: readonly {
    readonly labels: Readonly<Record<string, string | number | undefined>>;
    readonly value: number;
  }[];
};

/** Since when everything is counted, and when it was looked at. */
type Span = { readonly sinceMs: number; readonly nowMs: number };

/** Sums since the start, as OTLP numbers that. */
const CUMULATIVE = 2;

const NAMES: ReadonlyMap<string, { readonly name: string; readonly unit: string }> = new Map(
  Object.values(GENAI_METRICS).map(({ prometheus, name, unit }) => [prometheus, { name, unit }]),
);
const ATTRIBUTES: ReadonlyMap<string, string> = new Map(
  Object.values(GENAI).map((attribute) => [labelNameOf(attribute), attribute]),
);

/** All metrics as one message. Those of the conventions go by the conventions' names, all others as at /metrics. */
export function metricsMessage(
  { resource, scope }: OtlpSource,
  series: readonly ReadSeries[],
  gauges: readonly ReadGauge[],
  span: Span,
): string {
  const metrics = [...series.map((one) => seriesMetric(one, span)), ...gauges.map((one) => gaugeMetric(one, span))];
  return JSON.stringify({ resourceMetrics: [{ resource, scopeMetrics: [{ scope, metrics }] }] });
}

function seriesMetric(series: ReadSeries, { sinceMs, nowMs }: Span) {
  const { name, unit } = NAMES.get(series.name) ?? { name: series.name, unit: unitOf(series.name) };
  const named = { name, description: series.help, unit };
  const at = { startTimeUnixNano: nanosOf(sinceMs), timeUnixNano: nanosOf(nowMs) };
  if (series.is === "counts") {
    const dataPoints = [...series.values].map(([labels, value]) => ({
      attributes: attributesFrom(labels),
      ...at,
      asDouble: value,
    }));
    return { ...named, sum: { dataPoints, aggregationTemporality: CUMULATIVE, isMonotonic: true } };
  }
  const dataPoints = [...series.timings].map(([labels, { perBucket, sum, count }]) => ({
    attributes: attributesFrom(labels),
    ...at,
    count: String(count),
    sum,
    bucketCounts: perBucket.map(String),
    explicitBounds: series.bounds,
  }));
  return { ...named, histogram: { dataPoints, aggregationTemporality: CUMULATIVE } };
}

function gaugeMetric({ name, help, values }: ReadGauge, { nowMs }: Span) {
  const dataPoints = values.map(({ labels, value }) => ({
    attributes: attributesOf(labels),
    timeUnixNano: nanosOf(nowMs),
    asDouble: value,
  }));
  return { name, description: help, unit: unitOf(name), gauge: { dataPoints } };
}

function unitOf(name: string): string {
  if (name.endsWith("_seconds")) return "s";
  return name.endsWith("_bytes") ? "By" : "";
}

/** The text of labels, as it is kept: closed lists without anything to escape. */
function attributesFrom(labels: string): OtlpAttribute[] {
  const found = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = "", value = ""]) => [
    ATTRIBUTES.get(name) ?? name,
    value,
  ]);
  return attributesOf(Object.fromEntries(found));
}
