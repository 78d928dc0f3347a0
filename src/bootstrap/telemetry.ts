import type { GatewayDeps } from "../app/pipeline/gateway-deps.ts";
import type { CatalogueSnapshot, ProviderConnections } from "../domain/catalogue/catalogue.ts";
import type { Fleet } from "../domain/fleet/fleet.ts";
import type { RequestRecord } from "../domain/record/record.ts";
import type { EdgeServer } from "../edge/edge-server.ts";
import type { IngestPipeline } from "../io/journal/ingest-pipeline.ts";
import { exportHealthLog } from "../io/telemetry/export-health-log.ts";
import type { ExportResult } from "../io/telemetry/export-result.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import { MetricExporter } from "../io/telemetry/metric-exporter.ts";
import type { GaugeSources, Metrics } from "../io/telemetry/metrics.ts";
import { OtlpClient, type Signal } from "../io/telemetry/otlp-client.ts";
import { type OtlpSource, otlpAttributes } from "../io/telemetry/otlp-values.ts";
import { createSampler } from "../io/telemetry/sampler.ts";
import type { ServerAddressLookup } from "../io/telemetry/spans.ts";
import { TraceExporter } from "../io/telemetry/trace-exporter.ts";
import type { NodeRegistry } from "../io/tunnel/node-registry.ts";
import { createGuardedPost } from "../io/upstream/guarded-post.ts";
import { systemClock } from "../kit/clock.ts";
import { memoize } from "../kit/memoize.ts";
import { systemTimers } from "../kit/timers.ts";
import type { Config } from "../settings/config.ts";
import type { Coordination } from "./coordination.ts";
import type { OverloadProtection } from "./overload-protection.ts";

/** How long the last export may take while the gateway is stopping. */
const FINAL_EXPORT_MS = 3_000;

type TelemetryDeps = {
  readonly metrics: Metrics;
  readonly snapshot: () => CatalogueSnapshot;
  readonly connections: Pick<ProviderConnections, "baseUrl">;
  readonly version: string;
  readonly fleet: Pick<Fleet, "id">;
  readonly log: Logger;
};

export type Telemetry = Pick<GatewayDeps, "traceparentFor"> & {
  /** Undefined without a trace exporter. */
  readonly recordRequest?: (record: RequestRecord) => void;
  close(): Promise<void>;
};

/** Exports traces and metrics over OTLP; does nothing without OTEL_EXPORTER_OTLP_ENDPOINT. */
export function openTelemetry(config: Config, deps: TelemetryDeps): Telemetry {
  const otlp = otlpClient(config);
  if (otlp === undefined) return { close: async () => undefined };
  const { metrics, log } = deps;
  const onExport = (signal: Signal) => {
    const logHealth = exportHealthLog(config.OTEL_EXPORTER_OTLP_ENDPOINT ?? "", signal, log);
    return (result: ExportResult) => {
      metrics.recordTelemetryExport(signal, result);
      logHealth(result);
    };
  };
  const common = { otlp, source: otlpSource(config, deps), timers: systemTimers };
  const traces =
    config.OTEL_TRACES_EXPORTER === "none"
      ? undefined
      : new TraceExporter({
          ...common,
          sampler: createSampler(config.OTEL_TRACES_SAMPLER, config.OTEL_TRACES_SAMPLER_ARG),
          serverOf: serverAddressLookup(deps),
          queueMax: config.OTEL_BSP_MAX_QUEUE_SIZE,
          batchMax: config.OTEL_BSP_MAX_EXPORT_BATCH_SIZE,
          intervalMs: config.OTEL_BSP_SCHEDULE_DELAY,
          onExport: onExport("traces"),
          onDrop: (count) => metrics.recordTelemetryDrop("traces", count),
        });
  const metricExporter =
    config.OTEL_METRICS_EXPORTER === "none"
      ? undefined
      : new MetricExporter({
          ...common,
          metrics,
          clock: systemClock,
          intervalMs: config.OTEL_METRIC_EXPORT_INTERVAL,
          onExport: onExport("metrics"),
        });
  return {
    ...(traces === undefined ? {} : { recordRequest: (record: RequestRecord) => traces.record(record) }),
    ...(traces !== undefined && config.GATEWAY_TRACE_PROVIDERS === "on"
      ? {
          traceparentFor: (...request: Parameters<TraceExporter["traceparentFor"]>) =>
            traces.traceparentFor(...request),
        }
      : {}),
    async close() {
      await Promise.all([traces?.stop(FINAL_EXPORT_MS), metricExporter?.stop(FINAL_EXPORT_MS)]);
    },
  };
}

/** The operator chose the receiver, so the egress guard does not apply. */
export function otlpClient(config: Config): OtlpClient | undefined {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers } = config;
  if (endpoint === null) return undefined;
  const post = createGuardedPost("anywhere", config.OTEL_EXPORTER_OTLP_TIMEOUT);
  return new OtlpClient({ endpoint, headers: Object.fromEntries(headers), post });
}

export function otlpSource(config: Config, { version, fleet }: Pick<TelemetryDeps, "version" | "fleet">): OtlpSource {
  const attributes = otlpAttributes({
    ...Object.fromEntries(config.OTEL_RESOURCE_ATTRIBUTES),
    "service.name": config.OTEL_SERVICE_NAME,
    "service.version": version,
    "service.instance.id": fleet.id,
  });
  return { resource: { attributes }, scope: { name: "inference-gateway", version } };
}

/** Base URLs change only with a restart, so each is parsed once. */
function serverAddressLookup({ snapshot, connections }: TelemetryDeps): ServerAddressLookup {
  const parseAddress = memoize((baseUrl: string) => {
    const { hostname, port, protocol } = new URL(baseUrl);
    return { address: hostname, port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port) };
  });
  return (endpointId) => {
    const endpoint = snapshot().endpoints.get(endpointId);
    const baseUrl = endpoint === undefined ? undefined : connections.baseUrl(endpoint);
    return baseUrl === undefined ? undefined : parseAddress(baseUrl);
  };
}

type GaugeDeps = {
  readonly edge: EdgeServer;
  readonly journal: IngestPipeline;
  readonly overload: Pick<OverloadProtection, "queue" | "breakers">;
  readonly nodes: Pick<NodeRegistry, "counts">;
  readonly coordination: Pick<Coordination, "fleet" | "status">;
};

export function gaugeSources({ edge, journal, overload, nodes, coordination }: GaugeDeps): GaugeSources {
  const { queue, breakers } = overload;
  return {
    runningRequests: () => edge.listener.inFlight,
    draining: () => (edge.listener.isDraining ? 1 : 0),
    journalPending: () => journal.pending(),
    journalBroken: () => (journal.journal.isBroken ? 1 : 0),
    journalDeadLetters: () => {
      const { records, segments } = journal.deadLetters();
      return records + segments;
    },
    queueActive: () => queue.inUse,
    queueWaiting: () => queue.queued,
    circuitsOpen: () => breakers.openCircuits.length,
    nodesConnected: () => nodes.counts.local,
    instances: () => coordination.fleet.instanceCount,
    isLeader: () => (coordination.fleet.isLeader ? 1 : 0),
    sharedStateOpen: () => (coordination.status === "single" || coordination.status === "open" ? 1 : 0),
  };
}
