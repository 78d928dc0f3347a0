import path from "node:path";
import { exportLine } from "../app/log-export/export-line.ts";
import { withExportQueue } from "../app/log-export/export-queue.ts";
import { LogExport, type SendRecords } from "../app/log-export/log-export.ts";
import { webhookTarget } from "../app/log-export/webhook-target.ts";
import type { Check } from "../app/manage/deps.ts";
import type { Fleet } from "../domain/fleet/fleet.ts";
import type { LogTarget } from "../domain/record/log-outbox.ts";
import type { RequestRecord } from "../domain/record/record.ts";
import type { RecordSink } from "../domain/record/record-batch.ts";
import type { Directory } from "../domain/tenancy/directory.ts";
import type { Store } from "../io/store/sql/store.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import type { Metrics } from "../io/telemetry/metrics.ts";
import { otlpLogTarget } from "../io/telemetry/otlp-logs.ts";
import { RequestLogFiles } from "../io/telemetry/request-log-files.ts";
import { createGuardedPost } from "../io/upstream/guarded-post.ts";
import { systemClock } from "../kit/clock.ts";
import type { IdGenerator } from "../kit/id-generator.ts";
import { pluralize } from "../kit/pluralize.ts";
import { parseDurationMs } from "../kit/time.ts";
import { systemTimers } from "../kit/timers.ts";
import type { Config } from "../settings/config.ts";
import { DATA_ROOT } from "../settings/project-paths.ts";
import { otlpClient, otlpSource } from "./telemetry.ts";

const WEBHOOK_TIMEOUT_MS = 10_000;
const BACKOFF_MAX_MS = 300_000;
/** Length of the writer id in file names. */
const WRITER_CHARS = 12;

type LogExportBootstrapDeps = {
  readonly store: Store;
  readonly directory: Directory;
  readonly ids: IdGenerator;
  readonly metrics: Metrics;
  readonly version: string;
  readonly fleet: Pick<Fleet, "id" | "isLeader">;
  readonly random: () => number;
  readonly log: Logger;
};

export type LogExporter = Pick<LogExport, "start" | "statuses"> & {
  /** Stores finished requests and queues them for export in the same transaction. */
  readonly sink: RecordSink;
  stop(): Promise<void>;
};

/** Exports the request log to the configured targets. Only the leading instance sends. */
export function openLogExport(config: Config, deps: LogExportBootstrapDeps): LogExporter {
  const { store, metrics, log, random } = deps;
  const files = requestLogFiles(config, deps.ids);
  const targets = exportTargets(config, deps, files);
  const exportMetrics = {
    sent: (target: LogTarget, count: number) => metrics.recordLogExport(target, "sent", count),
    dropped: (target: LogTarget, count: number) => metrics.recordLogExport(target, "lost", count),
    failed: (target: LogTarget) => metrics.recordLogExportFailure(target),
  };
  const logExport = new LogExport({
    outbox: store.logOutbox,
    targets,
    clock: systemClock,
    timers: systemTimers,
    random,
    isLeader: () => deps.fleet.isLeader,
    batchMax: config.GATEWAY_LOG_EXPORT_BATCH,
    everyMs: config.GATEWAY_LOG_EXPORT_EVERY_MS,
    retryPolicy: { baseDelayMs: config.GATEWAY_LOG_EXPORT_RETRY_MS, maxDelayMs: BACKOFF_MAX_MS },
    keepMs: parseDurationMs(config.GATEWAY_LOG_EXPORT_KEEP) ?? 0,
    metrics: exportMetrics,
    warn: (detail, message) => log.warn(detail, message),
  });
  metrics.registerLogExportLag(() => logExport.statuses);
  const names = targetNames(config);
  return {
    sink: exportQueueSink(config, store, (count, error) => {
      for (const target of names) exportMetrics.dropped(target, count);
      log.warn({ err: error, records: count }, QUEUEING_FAILED);
    }),
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

const QUEUEING_FAILED = "log-export: queueing failed, requests are not exported";

/** For the primary process, which exports nothing itself: what it replays is queued for the leading worker. */
export function replaySink(config: Config, store: Store, log: Logger): RecordSink {
  return exportQueueSink(config, store, (count, error) => log.warn({ err: error, records: count }, QUEUEING_FAILED));
}

function exportQueueSink(config: Config, store: Store, onDropped: (count: number, error: unknown) => void): RecordSink {
  const targets = targetNames(config);
  if (targets.length === 0) return store;
  return withExportQueue(store, { outbox: store.logOutbox, log: store.log, targets, clock: systemClock, onDropped });
}

function targetNames(config: Config): LogTarget[] {
  const names: LogTarget[] = [];
  if (config.OTEL_LOGS_EXPORTER === "otlp" && config.OTEL_EXPORTER_OTLP_ENDPOINT !== null) names.push("otlp");
  if (config.GATEWAY_LOG_EXPORT_WEBHOOK_URL !== null) names.push("webhook");
  if (config.GATEWAY_LOG_EXPORT_DIR !== null) names.push("files");
  return names;
}

function exportTargets(
  config: Config,
  deps: LogExportBootstrapDeps,
  files: RequestLogFiles | undefined,
): ReadonlyMap<LogTarget, SendRecords> {
  const { directory, ids } = deps;
  const targets = new Map<LogTarget, SendRecords>();
  const line = (record: RequestRecord) => exportLine(record, directory);
  const otlp = config.OTEL_LOGS_EXPORTER === "otlp" ? otlpClient(config) : undefined;
  if (otlp !== undefined) targets.set("otlp", otlpLogTarget(otlp, otlpSource(config, deps), systemClock));
  const { GATEWAY_LOG_EXPORT_WEBHOOK_URL: url, GATEWAY_LOG_EXPORT_WEBHOOK_SECRETS: secrets } = config;
  if (url !== null) {
    const post = createGuardedPost("anywhere", WEBHOOK_TIMEOUT_MS);
    targets.set("webhook", webhookTarget({ url, secrets, post, line, clock: systemClock, ids }));
  }
  if (files !== undefined)
    targets.set("files", async (records) => {
      await files.append(records.map((record) => `${JSON.stringify(line(record))}\n`).join(""));
      return "sent";
    });
  return targets;
}

function requestLogFiles(config: Config, ids: IdGenerator): RequestLogFiles | undefined {
  if (config.GATEWAY_LOG_EXPORT_DIR === null) return undefined;
  return new RequestLogFiles({
    folder: path.resolve(DATA_ROOT, config.GATEWAY_LOG_EXPORT_DIR),
    writer: ids.next("").slice(-WRITER_CHARS),
    fileMaxBytes: config.GATEWAY_LOG_EXPORT_FILE_MAX_BYTES,
    fileMaxAgeMs: parseDurationMs(config.GATEWAY_LOG_EXPORT_FILE_MAX_AGE) ?? 0,
    retentionMs: parseDurationMs(config.GATEWAY_LOG_EXPORT_FILES_RETENTION) ?? null,
    clock: systemClock,
  });
}

const TROUBLESHOOTING = {
  otlp: "check whether it responds",
  webhook: "check whether it responds",
  files: "check whether GATEWAY_LOG_EXPORT_DIR is writable",
} as const;

/** Advice only: a failing export does not affect requests. */
export function logExportCheck(logExport: Pick<LogExporter, "statuses">): Check {
  return {
    name: "log export",
    run: async () => {
      const { statuses } = logExport;
      if (statuses.length === 0) return { ok: true, detail: "the request log is not exported" };
      const lines = statuses.map(({ target, lagMs, failures }) =>
        failures === 0
          ? `${target}: ${Math.round(lagMs / 1000)} s behind`
          : `${target}: ${pluralize(failures, "attempt")} failed in a row, ${Math.round(lagMs / 1000)} s behind: ${TROUBLESHOOTING[target]}`,
      );
      return { ok: true, warning: statuses.some(({ failures }) => failures > 0), detail: lines.join("; ") };
    },
  };
}
