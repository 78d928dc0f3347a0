import type { ApiResponse } from "../../api/client.ts";
import { useManage } from "../../api/hooks.ts";
import { counted, numberText, percentText } from "../../format/number.ts";
import { durationText } from "../../format/time.ts";
import { KeyValue } from "../../ui/layout.tsx";
import { Time } from "../../ui/values.tsx";

type MeasurementList = ApiResponse<"manageListMeasurements">;
export type Measured = {
  readonly since: string;
  readonly byEndpoint: ReadonlyMap<string, MeasurementList["data"][number]>;
};

/** What the gateway measured; undefined for visitors and while loading. */
export function useMeasurements(
  query: { readonly model: string } | { readonly provider: string },
  isSignedIn: boolean,
): Measured | undefined {
  const { data } = useManage("manageListMeasurements", { query }, { enabled: isSignedIn });
  if (data === undefined) return undefined;
  return { since: data.since, byEndpoint: new Map(data.data.map((one) => [one.endpoint, one])) };
}

/** Uptime, latency and throughput of an endpoint with their window and sample count. */
export function MeasuredFacts({ measured, endpoint }: { readonly measured: Measured; readonly endpoint: string }) {
  const found = measured.byEndpoint.get(endpoint);
  if (found === undefined) return <p className="text-soft">No data yet.</p>;
  const { attempts, uptime, samples, latency, first_byte: firstByte, tokens_per_second: speed } = found;
  const spread = (value: typeof latency) =>
    value === null ? "No data yet" : `p50 ${durationText(value.p50_ms)}, p95 ${durationText(value.p95_ms)}`;
  return (
    <>
      <KeyValue
        rows={[
          { name: "Uptime", value: uptime === null ? "No data yet" : percentText(uptime) },
          { name: "Latency", value: spread(latency) },
          { name: "TTFB", value: spread(firstByte) },
          { name: "Throughput", value: speed === null ? "No data yet" : `${numberText(speed)} tokens/s` },
        ]}
      />
      <p className="text-xs text-soft">
        {counted(attempts, "request")} since <Time at={measured.since} as="short" />. Latency from the last{" "}
        {counted(samples, "response")}.
      </p>
    </>
  );
}
