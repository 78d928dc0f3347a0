import { expect, test } from "vitest";
import { MergedMetrics } from "./merged-metrics.ts";

const TEXT = `# HELP gateway_a_total Counts.
# TYPE gateway_a_total counter
gateway_a_total{route="x",status="200"} 2

# HELP gateway_s Times.
# TYPE gateway_s histogram
gateway_s_bucket{le="0.5"} 1
gateway_s_bucket{le="+Inf"} 2
gateway_s_sum 0.75
gateway_s_count 2

# HELP gateway_running_requests Now.
# TYPE gateway_running_requests gauge
gateway_running_requests 3

# HELP gateway_draining Stopping.
# TYPE gateway_draining gauge
gateway_draining 1
`;

test("SCALE-04 metrics of several workers are summed; gauges of the same thing are not", () => {
  const other = TEXT.replace('status="200"} 2', 'status="429"} 5');
  expect(new MergedMetrics().add(TEXT).add(other).text()).toBe(
    TEXT.replace('status="200"} 2', 'status="200"} 2\ngateway_a_total{route="x",status="429"} 5')
      .replace('{le="0.5"} 1', '{le="0.5"} 2')
      .replace('{le="+Inf"} 2', '{le="+Inf"} 4')
      .replace("sum 0.75", "sum 1.5")
      .replace("count 2", "count 4")
      .replace("requests 3", "requests 6"),
  );
});

test("SCALE-04 counters of an exited worker are kept, its gauges are not", () => {
  const kept = new MergedMetrics().addWithoutGauges(TEXT).text();
  expect(kept).toContain("gateway_a_total");
  expect(kept).not.toContain("gateway_running_requests");
});
