import type { ProviderSort } from "../../language/canon/routing-hints.ts";
import { fillMissing, MEDIAN } from "./candidate-metrics.ts";
import type { CandidateMetrics, SortMetrics } from "./ranking-types.ts";

/** The order that the caller asks for with `provider.sort`. */
export function requestedSortMetrics(sort: ProviderSort, metrics: CandidateMetrics, poolCount: number): SortMetrics {
  switch (sort) {
    case "price":
      return { primary: metrics.costNanos, bestEnd: "least", secondary: metrics.latencyMs };
    case "throughput":
      return { primary: latencies((estimate) => estimate.perTokenMs), bestEnd: "least", secondary: metrics.costNanos };
    case "latency":
      return { primary: latencies((estimate) => estimate.firstByteMs), bestEnd: "least", secondary: metrics.costNanos };
  }

  function latencies(
    of: (estimate: NonNullable<CandidateMetrics["latencyEstimates"][number]>) => number,
  ): Float64Array {
    const values = Float64Array.from(metrics.latencyEstimates, (estimate) =>
      estimate === undefined ? Number.NaN : of(estimate),
    );
    fillMissing(values, MEDIAN, poolCount);
    return values;
  }
}
