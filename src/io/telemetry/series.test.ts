import { expect, test } from "vitest";
import { CounterSeries, HistogramSeries } from "./series.ts";

test("a counter shows what was added, for each set of labels", () => {
  const counts = new CounterSeries("calls_total", "Calls.");
  counts.add('kind="a"', 1);
  counts.add('kind="b"', 5);
  counts.add('kind="a"', 2);
  expect(counts.render()).toBe(
    [
      "# HELP calls_total Calls.",
      "# TYPE calls_total counter",
      'calls_total{kind="a"} 3',
      'calls_total{kind="b"} 5',
    ].join("\n"),
  );
});

test("a histogram's buckets count what is at most their bound, and hold those below them", () => {
  const timings = new HistogramSeries("wait_seconds", "Waits.", [0.1, 1]);
  for (const seconds of [0.0625, 0.1, 0.5, 4]) timings.observe('route="a"', seconds);
  timings.observe("", 0.25);
  expect(timings.render().split("\n")).toEqual([
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
