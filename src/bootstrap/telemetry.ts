import path from "node:path";
import { exportLine } from "../app/log-export/export-line.ts";
import { LogExport, type SendRecords } from "../app/log-export/log-export.ts";
import { withExportQueue } from "../app/log-export/queueing-sink.ts";
import { webhookTarget } from "../app/log-export/webhook-target.ts";
import type { Check } from "../app/manage/deps.ts";
import type { Gateway } from "../app/pipeline/gateway-deps.ts";
import type { CatalogueSnapshot, ProviderConnections } from "../domain/catalogue/catalogue.ts";
import type { Fleet } from "../domain/fleet/fleet.ts";
import type { LogTarget } from "../domain/record/log-outbox.ts";
import type { RequestRecord } from "../domain/record/record.ts";
import type { RecordSink } from "../domain/record/record-batch.ts";
import type { Directory } from "../domain/tenancy/directory.ts";
import { openIngestPipeline, replayAbandonedJournal } from "../io/journal/ingest-pipeline.ts";
import type { Store } from "../io/store/sql/store.ts";
import { exportHealthLog } from "../io/telemetry/export-health-log.ts";
import type { ExportResult } from "../io/telemetry/export-result.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import { MetricExporter } from "../io/telemetry/metric-exporter.ts";
import type { Metrics } from "../io/telemetry/metrics.ts";
import { OtlpClient, type Signal } from "../io/telemetry/otlp-client.ts";
import { otlpLogTarget } from "../io/telemetry/otlp-logs.ts";
import { type OtlpSource, otlpAttributes } from "../io/telemetry/otlp-values.ts";
import { RequestLogFiles } from "../io/telemetry/request-log-files.ts";
import { createSampler } from "../io/telemetry/sampler.ts";
import type { ServerAddressLookup } from "../io/telemetry/spans.ts";
import { TraceExporter } from "../io/telemetry/trace-exporter.ts";
import { guardedPost } from "../io/upstream/guarded-post.ts";
import { type ProcessPlacement, workerFolders } from "../io/workers/worker-folders.ts";
import { systemClock } from "../kit/clock.ts";
import type { IdGenerator } from "../kit/id-generator.ts";
import { pluralize } from "../kit/pluralize.ts";
import { parseDurationMs } from "../kit/time.ts";
import { systemTimers } from "../kit/timers.ts";
import { type Config, PROJECT_ROOT } from "../settings/config.ts";
import { loggedFromMs } from "./store.ts";

/** What is left at the end has so long to be sent. */
const LAST_WORDS_MS = 3_000;

type ObserveParts = {
  readonly metrics: Metrics;
  readonly snapshot: () => CatalogueSnapshot;
  readonly connections: Pick<ProviderConnections, "baseUrl">;
  readonly version: string;
  readonly fleet: Pick<Fleet, "id" | "isLeader">;
  readonly log: Logger;
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
  const { metrics, log } = parts;
  const posting = (signal: Signal) => {
    const standing = exportHealthLog(config.OTEL_EXPORTER_OTLP_ENDPOINT ?? "", signal, log);
    return (result: ExportResult) => {
      metrics.recordTelemetryExport(signal, result);
      standing(result);
    };
  };
  const shared = { otlp, source: sourceOf(config, parts), timers: systemTimers };
  const traces =
    config.OTEL_TRACES_EXPORTER === "none"
      ? undefined
      : new TraceExporter({
          ...shared,
          sampler: createSampler(config.OTEL_TRACES_SAMPLER, config.OTEL_TRACES_SAMPLER_ARG),
          serverOf: serversOf(parts),
          queueMax: config.OTEL_BSP_MAX_QUEUE_SIZE,
          batchMax: config.OTEL_BSP_MAX_EXPORT_BATCH_SIZE,
          intervalMs: config.OTEL_BSP_SCHEDULE_DELAY,
          onExport: posting("traces"),
          onDrop: (count) => metrics.recordTelemetryDrop("traces", count),
        });
  const pushed =
    config.OTEL_METRICS_EXPORTER === "none"
      ? undefined
      : new MetricExporter({
          ...shared,
          metrics,
          clock: systemClock,
          intervalMs: config.OTEL_METRIC_EXPORT_INTERVAL,
          onExport: posting("metrics"),
        });
  return {
    ...(traces === undefined ? {} : { finished: (record: RequestRecord) => traces.record(record) }),
    ...(traces !== undefined && config.GATEWAY_TRACE_PROVIDERS === "on"
      ? { passTrace: (...of: Parameters<TraceExporter["traceparentFor"]>) => traces.traceparentFor(...of) }
      : {}),
    async close() {
      await Promise.all([traces?.stop(LAST_WORDS_MS), pushed?.stop(LAST_WORDS_MS)]);
    },
  };
}

/** The operator's own receiver: it may be anywhere. */
function otlpOf(config: Config): OtlpClient | undefined {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers } = config;
  if (endpoint === null) return undefined;
  const post = guardedPost("anywhere", config.OTEL_EXPORTER_OTLP_TIMEOUT);
  return new OtlpClient({ endpoint, headers: Object.fromEntries(headers), post });
}

function sourceOf(config: Config, { version, fleet }: Pick<ObserveParts, "version" | "fleet">): OtlpSource {
  const attributes = otlpAttributes({
    ...Object.fromEntries(config.OTEL_RESOURCE_ATTRIBUTES),
    "service.name": config.OTEL_SERVICE_NAME,
    "service.version": version,
    "service.instance.id": fleet.id,
  });
  return { resource: { attributes }, scope: { name: "inference-gateway", version } };
}

/** Read once for each endpoint: where it is changes with a restart only. */
function serversOf({ snapshot, connections }: ObserveParts): ServerAddressLookup {
  const known = new Map<string, ReturnType<ServerAddressLookup>>();
  return (id) => {
    if (known.has(id)) return known.get(id);
    const endpoint = snapshot().endpoints.get(id);
    const base = endpoint === undefined ? undefined : connections.baseUrl(endpoint);
    const server = base === undefined ? undefined : serverAt(new URL(base));
    if (endpoint !== undefined) known.set(id, server);
    return server;
  };
}

function serverAt({ hostname, port, protocol }: URL): ReturnType<ServerAddressLookup> {
  return { address: hostname, port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port) };
}

const WEBHOOK_TIMEOUT_MS = 10_000;
const WAIT_MAX_MS = 300_000;
/** Digits of the writer's id in the names of files. */
const WRITER_CHARS = 12;

/** Of the instances only one sends. */
type LogExportParts = Pick<ObserveParts, "metrics" | "version" | "fleet"> & {
  readonly store: Store;
  readonly directory: Directory;
  readonly ids: IdGenerator;
  /** Where the journal is, and where those of other processes were left. */
  readonly place: Pick<ProcessPlacement, "dataDir" | "left">;
  /** What is around the way into SQL where several instances share their wallets. */
  readonly sink: (inner: RecordSink, store: Store) => RecordSink;
  readonly log: Logger;
};

export type LogExporting = Pick<LogExport, "start" | "standing"> & {
  /** Where finished requests go on their way into SQL. */
  readonly sink: RecordSink;
  stop(): Promise<void>;
};

/** The journal with its way into SQL, and with whoever else is to get what comes that way. */
export async function openRecords(config: Config, parts: LogExportParts) {
  const { GATEWAY_JOURNAL_SYNC_MS: syncEveryMs } = config;
  const { log, place } = parts;
  const logExport = openLogExport(config, parts);
  const store = parts.sink(logExport.sink, parts.store);
  const way = { store, log, loggedFromMs: loggedFromMs(config) };
  for (const { dataDir } of place.orphans) await replayAbandonedJournal(dataDir, way);
  const dataDirs = () => [config.DATA_DIR, ...workerFolders(config.DATA_DIR)];
  const { textOf: serializeRecord } = parts.store;
  const books = await openIngestPipeline({
    ...way,
    serializeRecord,
    dataDir: place.dataDir,
    dataDirs,
    clock: systemClock,
    syncEveryMs,
  });
  return { books, logExport };
}

/** The request log to where the operator wants it; where that is nowhere, the way into SQL is as it was. */
function openLogExport(config: Config, parts: LogExportParts): LogExporting {
  const { store, metrics, log } = parts;
  const files = logFilesOf(config, parts.ids);
  const targets = targetsOf(config, parts, files);
  const told = {
    sent: (target: LogTarget, count: number) => metrics.recordLogExport(target, "sent", count),
    lost: (target: LogTarget, count: number) => metrics.recordLogExport(target, "lost", count),
    failed: (target: LogTarget) => metrics.recordLogExportFailure(target),
  };
  const logExport = new LogExport({
    outbox: store.logOutbox,
    targets,
    clock: systemClock,
    timers: systemTimers,
    random: Math.random,
    isLeader: () => parts.fleet.isLeader,
    batchMax: config.GATEWAY_LOG_EXPORT_BATCH,
    everyMs: config.GATEWAY_LOG_EXPORT_EVERY_MS,
    patience: { baseDelayMs: config.GATEWAY_LOG_EXPORT_RETRY_MS, maxDelayMs: WAIT_MAX_MS },
    keepMs: parseDurationMs(config.GATEWAY_LOG_EXPORT_KEEP) ?? 0,
    metrics: told,
    warn: (detail, message) => log.warn(detail, message),
  });
  metrics.registerLogExportLag(() => logExport.statuses);
  const names = targetNamesOf(config);
  const lost = (count: number, error: unknown) => {
    for (const target of names) told.lost(target, count);
    log.warn({ err: error }, "requests cannot be queued for the export of the log; they are in the log alone");
  };
  return {
    sink:
      names.length === 0
        ? store
        : withExportQueue(store, { outbox: store.logOutbox, log: store.log, targets: names, clock: systemClock, lost }),
    start: () => logExport.start(),
    get statuses() {
      return logExport.statuses;
    },
    async stop() {
      await logExport.stop();
      await files?.close();
    },
  };
}

/** For a process that sends nothing itself: what it brings into SQL is queued for whoever does. */
export function queueingSink(config: Config, store: Store, log: Logger): RecordSink {
  const targets = targetNamesOf(config);
  if (targets.length === 0) return store;
  const lost = (count: number, error: unknown) =>
    log.warn(
      { err: error, records: count },
      "requests cannot be queued for the export of the log; they are in the log alone",
    );
  return withExportQueue(store, { outbox: store.logOutbox, log: store.log, targets, clock: systemClock, lost });
}

/** Where the operator wants the request log. */
function targetNamesOf(config: Config): LogTarget[] {
  const names: LogTarget[] = [];
  if (config.OTEL_LOGS_EXPORTER === "otlp" && config.OTEL_EXPORTER_OTLP_ENDPOINT !== null) names.push("otlp");
  if (config.GATEWAY_LOG_EXPORT_WEBHOOK_URL !== null) names.push("webhook");
  if (config.GATEWAY_LOG_EXPORT_DIR !== null) names.push("files");
  return names;
}

function targetsOf(
  config: Config,
  parts: LogExportParts,
  files: RequestLogFiles | undefined,
): ReadonlyMap<LogTarget, SendRecords> {
  const { directory, ids } = parts;
  const targets = new Map<LogTarget, SendRecords>();
  const line = (record: RequestRecord) => exportLine(record, directory);
  const otlp = config.OTEL_LOGS_EXPORTER === "otlp" ? otlpOf(config) : undefined;
  if (otlp !== undefined) targets.set("otlp", otlpLogTarget(otlp, sourceOf(config, parts), systemClock));
  const { GATEWAY_LOG_EXPORT_WEBHOOK_URL: url, GATEWAY_LOG_EXPORT_WEBHOOK_SECRETS: secrets } = config;
  if (url !== null) {
    const post = guardedPost("anywhere", WEBHOOK_TIMEOUT_MS);
    targets.set("webhook", webhookTarget({ url, secrets, post, line, clock: systemClock, ids }));
  }
  if (files !== undefined)
    targets.set("files", async (records) => {
      await files.append(records.map((record) => `${JSON.stringify(line(record))}\n`).join(""));
      return "sent";
    });
  return targets;
}

function logFilesOf(config: Config, ids: IdGenerator): RequestLogFiles | undefined {
  if (config.GATEWAY_LOG_EXPORT_DIR === null) return undefined;
  return new RequestLogFiles({
    folder: path.resolve(PROJECT_ROOT, config.GATEWAY_LOG_EXPORT_DIR),
    writer: ids.next("").slice(-WRITER_CHARS),
    fileMaxBytes: config.GATEWAY_LOG_EXPORT_FILE_MAX_BYTES,
    fileMaxAgeMs: parseDurationMs(config.GATEWAY_LOG_EXPORT_FILE_MAX_AGE) ?? 0,
    retentionMs: parseDurationMs(config.GATEWAY_LOG_EXPORT_FILES_RETENTION) ?? null,
    clock: systemClock,
  });
}

const LOOK_WHETHER = {
  otlp: "look whether it answers",
  webhook: "look whether it answers",
  files: "look whether GATEWAY_LOG_EXPORT_DIR can be written",
} as const;

/** Advice only: requests are served and logged whether or not somebody takes the log. */
export function logExportCheck(logExport: Pick<LogExporting, "standing">): Check {
  return {
    name: "log export",
    run: async () => {
      const { statuses } = logExport;
      if (statuses.length === 0) return { ok: true, detail: "the request log is sent nowhere" };
      const said = statuses.map(({ target, lagMs, failures }) =>
        failures === 0
          ? `${target}: ${Math.round(lagMs / 1000)} s behind`
          : `${target}: ${pluralize(failures, "try", "tries")} failed in a row, ${Math.round(lagMs / 1000)} s behind: ${LOOK_WHETHER[target]}`,
      );
      return { ok: true, detail: said.join("; ") };
    },
  };
}
