import type { Json } from "./gateway.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

/** An OTLP receiver on loopback: keeps every message, and returns them decoded. */
export type Receiver = {
  readonly server: Upstream;
  spans(): Json[];
  metrics(): Map<string, Json>;
  logs(): Json[];
  /** Everything it received, headers included. */
  everything(): string;
};

export async function startReceiver(): Promise<Receiver> {
  const server = await startUpstream({ json: {} });
  const sent = (path: string): Json[] => server.requests.filter((one) => one.path === path).map(({ json }) => json);
  return {
    server,
    spans: () =>
      sent("/v1/traces").flatMap(({ resourceSpans: [{ resource, scopeSpans }] }) =>
        scopeSpans[0].spans.map((span: Json) => ({ ...span, attributes: plain(span), resource: plain(resource) })),
      ),
    metrics: () =>
      new Map(
        sent("/v1/metrics").flatMap(({ resourceMetrics: [{ scopeMetrics }] }) =>
          scopeMetrics[0].metrics.map((metric: Json) => [metric.name, metric]),
        ),
      ),
    logs: () =>
      sent("/v1/logs").flatMap(({ resourceLogs: [{ scopeLogs }] }) =>
        scopeLogs[0].logRecords.map((record: Json) => ({ ...record, attributes: plain(record) })),
      ),
    everything: () => server.requests.map(({ rawHeaders, raw }) => `${rawHeaders.join("\n")}\n${raw}`).join("\n"),
  };
}

/** Attributes by name. */
export function plain({ attributes }: Json): Record<string, Json> {
  return Object.fromEntries(
    attributes.map(({ key, value }: Json) => [key, value.arrayValue?.values.map(only) ?? only(value)]),
  );
}

function only(value: Json): Json {
  return value.intValue === undefined ? Object.values(value)[0] : Number(value.intValue);
}
