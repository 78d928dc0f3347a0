import { z } from "zod";
import { SAMPLERS } from "../io/telemetry/sampler.ts";
import { duration, integer, logRetention, onOff, setting } from "./setting-types.ts";

const url = z
  .url({ protocol: /^https?$/, error: "must be an absolute http or https URL" })
  .transform((text) => text.replace(/\/+$/, ""));

const exporter = z.enum(["otlp", "none"], { error: "must be otlp or none" });

const PAIRS_HINT = "must be name=value, several separated by commas";

/** OpenTelemetry's `name=value` lists with percent-encoded values. */
const pairs: z.ZodType<readonly (readonly [string, string])[]> = z.string().transform((text, context) => {
  const parsed: [string, string][] = [];
  for (const item of text.split(",").filter((part) => part.trim() !== "")) {
    const at = item.indexOf("=");
    const [name, value] = [item.slice(0, at).trim(), tryDecodeUri(item.slice(at + 1).trim())];
    if (at < 1 || value === undefined || !/^[\w.!#$%&'*+^`|~-]+$/.test(name) || /[\r\n\0]/.test(value)) {
      context.addIssue({ code: "custom", message: PAIRS_HINT });
      return z.NEVER;
    }
    parsed.push([name, value]);
  }
  return parsed;
});

function tryDecodeUri(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

const share = z
  .string()
  .regex(/^(?:0(?:\.\d+)?|1(?:\.0+)?)$/, "must be a number from 0 to 1, such as 0.1")
  .transform(Number);

const SECRET_CHARS_MIN = 32;

const webhookSecrets = z
  .string()
  .transform((text) => text.split(",").map((item) => item.trim()))
  .refine(
    (list) => list.every((item) => item.length >= SECRET_CHARS_MIN),
    `must be secrets of at least ${SECRET_CHARS_MIN} characters, separated by commas`,
  );

/** Export of traces, metrics and the request log; never prompts or responses. */
export const TELEMETRY_SETTINGS = {
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    url.nullable(),
    null,
    "OTLP/HTTP endpoint without /v1/traces, such as http://collector:4318. Absent: nothing is exported. See the guide on observability.",
  ),
  OTEL_EXPORTER_OTLP_HEADERS: {
    ...setting(pairs, [], "Headers of OTLP requests, such as authorization=Bearer%20abc; separated by commas."),
    secret: true,
  },
  OTEL_EXPORTER_OTLP_PROTOCOL: setting(
    z.string().min(1),
    "http/json",
    "OTLP protocol: this version supports http/json.",
  ),
  OTEL_EXPORTER_OTLP_TIMEOUT: setting(integer(10, 600_000), 10_000, "Timeout of an OTLP request in milliseconds."),
  OTEL_SERVICE_NAME: setting(z.string().min(1).max(200), "inference-gateway", "`service.name` of exported telemetry."),
  OTEL_RESOURCE_ATTRIBUTES: setting(
    pairs,
    [],
    "Further resource attributes, such as deployment.environment.name=prod; separated by commas.",
  ),
  OTEL_TRACES_EXPORTER: setting(exporter, "otlp", "Traces of requests: otlp or none."),
  OTEL_METRICS_EXPORTER: setting(exporter, "otlp", "Metrics: otlp or none. /metrics is available in any case."),
  OTEL_LOGS_EXPORTER: setting(
    exporter,
    "none",
    "otlp: also exports the request log, at least once for every request, across restarts.",
  ),
  OTEL_TRACES_SAMPLER: setting(
    z.enum(SAMPLERS, { error: `must be one of ${SAMPLERS.join(", ")}` }),
    "parentbased_always_on",
    "Trace sampler: always_on, always_off or traceidratio; with the prefix parentbased_ the caller's decision has priority.",
  ),
  OTEL_TRACES_SAMPLER_ARG: setting(share, 1, "Ratio of a traceidratio sampler: 0.1 keeps one trace in ten."),
  OTEL_BSP_MAX_QUEUE_SIZE: setting(
    integer(1, 1_000_000),
    2048,
    "Length of the trace queue in requests; further ones are dropped and counted.",
  ),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: setting(integer(1, 10_000), 512, "Requests per trace export."),
  OTEL_BSP_SCHEDULE_DELAY: setting(
    integer(10, 600_000),
    5_000,
    "Delay of a trace export to collect a batch, in milliseconds.",
  ),
  OTEL_METRIC_EXPORT_INTERVAL: setting(integer(10, 3_600_000), 60_000, "Interval of metric exports in milliseconds."),
  GATEWAY_TRACE_PROVIDERS: setting(
    onOff,
    "off",
    "on: providers and nodes receive the request's trace in a traceparent header. Off: they receive none of it.",
  ),
  GATEWAY_LOG_EXPORT_WEBHOOK_URL: {
    ...setting(
      url.nullable(),
      null,
      "Webhook that receives the request log in signed JSON batches. GATEWAY_LOG_EXPORT_WEBHOOK_SECRETS must be set with it. See the guide on observability.",
    ),
    secret: true,
  },
  GATEWAY_LOG_EXPORT_WEBHOOK_SECRETS: {
    ...setting(
      webhookSecrets,
      [],
      "Signing secrets of these batches, at least 32 characters each, separated by commas. Each batch is signed with all of them, so that they can be rotated.",
    ),
    secret: true,
  },
  GATEWAY_LOG_EXPORT_DIR: setting(
    z.string().min(1).nullable(),
    null,
    "Folder for the request log as JSON lines. A relative path is resolved like that of DATA_DIR.",
  ),
  GATEWAY_LOG_EXPORT_FILE_MAX_BYTES: setting(
    integer(1024, 1_099_511_627_776),
    100 * 1024 * 1024,
    "Maximum size of a file in GATEWAY_LOG_EXPORT_DIR before it is rotated.",
  ),
  GATEWAY_LOG_EXPORT_FILE_MAX_AGE: setting(duration, "1d", "Maximum age of a file before it is rotated."),
  GATEWAY_LOG_EXPORT_FILES_RETENTION: setting(
    logRetention,
    "30d",
    "Retention of these files: a duration of at least a day, or forever.",
  ),
  GATEWAY_LOG_EXPORT_BATCH: setting(integer(1, 10_000), 500, "Requests per batch of the log export."),
  GATEWAY_LOG_EXPORT_EVERY_MS: setting(
    integer(10, 3_600_000),
    1_000,
    "Polling interval of the log export in milliseconds.",
  ),
  GATEWAY_LOG_EXPORT_RETRY_MS: setting(
    integer(10, 3_600_000),
    1_000,
    "Delay before a failed export is retried; it doubles with each failure, up to five minutes.",
  ),
  GATEWAY_LOG_EXPORT_KEEP: setting(
    duration,
    "7d",
    "How long the export of a request is retried before it is dropped and counted.",
  ),
} as const;

/** Rules that involve several settings. */
export function checkTelemetrySettings(values: Readonly<Record<string, unknown>>, problems: string[]): void {
  if ((values["OTEL_EXPORTER_OTLP_ENDPOINT"] ?? null) !== null && values["OTEL_EXPORTER_OTLP_PROTOCOL"] !== "http/json")
    problems.push("OTEL_EXPORTER_OTLP_PROTOCOL: must be http/json or unset; this version supports no other protocol");
  const { OTEL_LOGS_EXPORTER: logs, GATEWAY_LOG_EXPORT_WEBHOOK_SECRETS: secrets } = values;
  if (logs === "otlp" && (values["OTEL_EXPORTER_OTLP_ENDPOINT"] ?? null) === null)
    problems.push("OTEL_EXPORTER_OTLP_ENDPOINT: required, because OTEL_LOGS_EXPORTER is otlp");
  const isSigned = Array.isArray(secrets) && secrets.length > 0;
  if ((values["GATEWAY_LOG_EXPORT_WEBHOOK_URL"] ?? null) !== null && !isSigned)
    problems.push("GATEWAY_LOG_EXPORT_WEBHOOK_SECRETS: required, because GATEWAY_LOG_EXPORT_WEBHOOK_URL is set");
}
