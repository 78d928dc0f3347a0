import { expect, test } from "vitest";
import { prometheusText } from "./prometheus-text.ts";
import { CounterSeries, HistogramSeries } from "./series.ts";

test("a counter sums by label set", () => {
  const counter = new CounterSeries("calls_total", "Calls.");
  counter.add('kind="a"', 1);
  counter.add('kind="b"', 5);
  counter.add('kind="a"', 2);
  expect(prometheusText(counter.snapshot())).toBe(
    [
      "# HELP calls_total Calls.",
      "# TYPE calls_total counter",
      'calls_total{kind="a"} 3',
      'calls_total{kind="b"} 5',
    ].join("\n"),
  );
});

test("histogram buckets are cumulative and include their bound", () => {
  const histogram = new HistogramSeries("wait_seconds", "Waits.", [0.1, 1]);
  for (const seconds of [0.0625, 0.1, 0.5, 4]) histogram.observe('route="a"', seconds);
  histogram.observe("", 0.25);
  expect(prometheusText(histogram.snapshot()).split("\n")).toEqual([
    "# HELP wait_seconds Waits.",
    "# TYPE wait_seconds histogram",
    'wait_seconds_bucket{le="0.1",route="a"} 2',
    'wait_seconds_bucket{le="1",route="a"} 3',
    'wait_seconds_bucket{le="+Inf",route="a"} 4',
    'wait_seconds_sum{route="a"} 4.6625',
    'wait_seconds_count{route="a"} 4',
    'wait_seconds_bucket{le="0.1"} 0',
    'wait_seconds_bucket{le="1"} 1',
    'wait_seconds_bucket{le="+Inf"} 1',
    "wait_seconds_sum 0.25",
    "wait_seconds_count 1",
  ]);
});
