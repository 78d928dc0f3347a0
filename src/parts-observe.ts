import type { Gateway } from "./app/pipeline/world.ts";
import type { Config } from "./config.ts";
import type { Connections, Snapshot } from "./domain/catalogue/catalogue.ts";
import type { RequestRecord } from "./domain/record/record.ts";
import { MetricPush } from "./io/telemetry/metric-push.ts";
import type { Metrics } from "./io/telemetry/metrics.ts";
import { Otlp } from "./io/telemetry/otlp.ts";
import { attributesOf, type OtlpSource } from "./io/telemetry/otlp-values.ts";
import { samplerOf } from "./io/telemetry/sampler.ts";
import type { ServerOf } from "./io/telemetry/spans.ts";
import { Traces } from "./io/telemetry/traces.ts";
import { guardedPost } from "./io/upstream/guarded-post.ts";
import { systemClock } from "./kit/clock.ts";
import { systemTimers } from "./kit/timers.ts";

/** What is left at the end has so long to be sent. */
const LAST_WORDS_MS = 3_000;

type ObserveParts = {
  readonly metrics: Metrics;
  readonly snapshot: () => Snapshot;
  readonly connections: Pick<Connections, "baseUrl">;
  readonly version: string;
  /** Of this process among others of the same service. */
  readonly instanceId: string;
};

export type Observed = Pick<Gateway, "passTrace"> & {
  /** Absent: nobody wants to hear of it. */
  readonly finished?: (record: RequestRecord) => void;
  close(): Promise<void>;
};

/** Traces and metrics to a receiver of OpenTelemetry, where one is set; without one nothing here costs anything. */
export function openObserve(config: Config, parts: ObserveParts): Observed {
  const otlp = otlpOf(config);
  if (otlp === undefined) return { close: async () => undefined };
  const { metrics } = parts;
  const shared = { otlp, source: sourceOf(config, parts), timers: systemTimers };
  const traces =
    config.OTEL_TRACES_EXPORTER === "none"
      ? undefined
      : new Traces({
          ...shared,
          sampler: samplerOf(config.OTEL_TRACES_SAMPLER, config.OTEL_TRACES_SAMPLER_ARG),
          serverOf: serversOf(parts),
          itemsMax: config.OTEL_BSP_MAX_QUEUE_SIZE,
          batchMax: config.OTEL_BSP_MAX_EXPORT_BATCH_SIZE,
          everyMs: config.OTEL_BSP_SCHEDULE_DELAY,
          posted: (result) => metrics.exported("traces", result),
          dropped: (count) => metrics.dropped("traces", count),
        });
  const pushed =
    config.OTEL_METRICS_EXPORTER === "none"
      ? undefined
      : new MetricPush({
          ...shared,
          metrics,
          clock: systemClock,
          everyMs: config.OTEL_METRIC_EXPORT_INTERVAL,
          posted: (result) => metrics.exported("metrics", result),
        });
  return {
    ...(traces === undefined ? {} : { finished: (record: RequestRecord) => traces.finished(record) }),
    ...(traces !== undefined && config.GATEWAY_TRACE_PROVIDERS === "on"
      ? { passTrace: (...of: Parameters<Traces["passOn"]>) => traces.passOn(...of) }
      : {}),
    async close() {
      await Promise.all([traces?.stop(LAST_WORDS_MS), pushed?.stop(LAST_WORDS_MS)]);
    },
  };
}

/** The operator's own receiver: it may be anywhere. */
function otlpOf(config: Config): Otlp | undefined {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers } = config;
  if (endpoint === null) return undefined;
  const post = guardedPost("anywhere", config.OTEL_EXPORTER_OTLP_TIMEOUT);
  return new Otlp({ endpoint, headers: Object.fromEntries(headers), post });
}

function sourceOf(config: Config, { version, instanceId }: ObserveParts): OtlpSource {
  const attributes = attributesOf({
    ...Object.fromEntries(config.OTEL_RESOURCE_ATTRIBUTES),
    "service.name": config.OTEL_SERVICE_NAME,
    "service.version": version,
    "service.instance.id": instanceId,
  });
  return { resource: { attributes }, scope: { name: "inference-gateway", version } };
}

/** Read once for each endpoint: where it is changes with a restart only. */
function serversOf({ snapshot, connections }: ObserveParts): ServerOf {
  const known = new Map<string, ReturnType<ServerOf>>();
  return (id) => {
    if (known.has(id)) return known.get(id);
    const endpoint = snapshot().endpoints.get(id);
    const base = endpoint === undefined ? undefined : connections.baseUrl(endpoint);
    const server = base === undefined ? undefined : serverAt(new URL(base));
    if (endpoint !== undefined) known.set(id, server);
    return server;
  };
}

function serverAt({ hostname, port, protocol }: URL): ReturnType<ServerOf> {
  return { address: hostname, port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port) };
}
