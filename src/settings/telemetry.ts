import { z } from "zod";
import { SAMPLERS } from "../io/telemetry/sampler.ts";
import { duration, integer, logRetention, onOff, setting } from "./setting-types.ts";

const url = z
  .url({ protocol: /^https?$/, error: "write an absolute http or https address" })
  .transform((text) => text.replace(/\/+$/, ""));

const exporter = z.enum(["otlp", "none"], { error: "write otlp or none" });

const PAIRS_HINT = "write name=value, several separated by commas";

/** `name=value` pairs with what is special in them percent-encoded, as OpenTelemetry has them. */
const pairs: z.ZodType<readonly (readonly [string, string])[]> = z.string().transform((text, context) => {
  const found: [string, string][] = [];
  for (const item of text.split(",").filter((part) => part.trim() !== "")) {
    const at = item.indexOf("=");
    const [name, value] = [item.slice(0, at).trim(), tryDecodeUri(item.slice(at + 1).trim())];
    if (at < 1 || value === undefined || !/^[\w.!#$%&'*+^`|~-]+$/.test(name) || /[\r\n\0]/.test(value)) {
      context.addIssue({ code: "custom", message: PAIRS_HINT });
      return z.NEVER;
    }
    found.push([name, value]);
  }
  return found;
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
  .regex(/^(?:0(?:\.\d+)?|1(?:\.0+)?)$/, "write a number from 0 to 1, such as 0.1")
  .transform(Number);

const SECRET_CHARS_MIN = 32;

const webhookSecrets = z
  .string()
  .transform((text) => text.split(",").map((item) => item.trim()))
  .refine(
    (list) => list.every((item) => item.length >= SECRET_CHARS_MIN),
    `write secrets of at least ${SECRET_CHARS_MIN} characters, separated by commas`,
  );

/** What leaves the gateway about itself: traces, metrics, and the request log. Never content. */
export const TELEMETRY_SETTINGS = {
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    url.nullable(),
    null,
    "Receiver of OpenTelemetry over HTTP, without /v1/traces, such as http://collector:4318. Absent: nothing is sent. See the guide on observability.",
  ),
  OTEL_EXPORTER_OTLP_HEADERS: {
    ...setting(pairs, [], "Headers of every message to it, such as authorization=Bearer%20abc; separated by commas."),
    secret: true,
  },
  OTEL_EXPORTER_OTLP_PROTOCOL: setting(
    z.string().min(1),
    "http/json",
    "Form of the messages: http/json is the one that this version speaks.",
  ),
  OTEL_EXPORTER_OTLP_TIMEOUT: setting(integer(10, 600_000), 10_000, "How long the receiver may take, in milliseconds."),
  OTEL_SERVICE_NAME: setting(z.string().min(1).max(200), "inference-gateway", "Name of this service in what is sent."),
  OTEL_RESOURCE_ATTRIBUTES: setting(
    pairs,
    [],
    "More that is said of this service, such as deployment.environment.name=prod; separated by commas.",
  ),
  OTEL_TRACES_EXPORTER: setting(exporter, "otlp", "Traces of requests: otlp or none."),
  OTEL_METRICS_EXPORTER: setting(exporter, "otlp", "Metrics: otlp or none. /metrics shows them in any case."),
  OTEL_LOGS_EXPORTER: setting(
    exporter,
    "none",
    "otlp: the request log is sent too, every request at least once, also across restarts.",
  ),
  OTEL_TRACES_SAMPLER: setting(
    z.enum(SAMPLERS, { error: `write one of ${SAMPLERS.join(", ")}` }),
    "parentbased_always_on",
    "Which traces are kept: always_on, always_off or traceidratio; with parentbased_ before it the caller's own choice goes first.",
  ),
  OTEL_TRACES_SAMPLER_ARG: setting(
    share,
    1,
    "Share of the traces that a traceidratio sampler keeps: 0.1 is one in ten.",
  ),
  OTEL_BSP_MAX_QUEUE_SIZE: setting(
    integer(1, 1_000_000),
    2048,
    "Requests whose traces wait to be sent; further ones are dropped and counted.",
  ),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: setting(integer(1, 10_000), 512, "Requests whose traces are sent in one message."),
  OTEL_BSP_SCHEDULE_DELAY: setting(
    integer(10, 600_000),
    5_000,
    "How long traces wait for others to be sent with, in milliseconds.",
  ),
  OTEL_METRIC_EXPORT_INTERVAL: setting(integer(10, 3_600_000), 60_000, "How often metrics are sent, in milliseconds."),
  GATEWAY_TRACE_PROVIDERS: setting(
    onOff,
    "off",
    "on: providers and nodes receive the request's trace in a traceparent header. Off: they receive none of it.",
  ),
  GATEWAY_LOG_EXPORT_WEBHOOK_URL: {
    ...setting(
      url.nullable(),
      null,
      "Where the request log is sent as it grows, in signed batches of JSON. GATEWAY_LOG_EXPORT_WEBHOOK_SECRETS must be set with it. See the guide on observability.",
    ),
    secret: true,
  },
  GATEWAY_LOG_EXPORT_WEBHOOK_SECRETS: {
    ...setting(
      webhookSecrets,
      [],
      "Secrets that those batches are signed with, each of at least 32 characters, separated by commas: with each of them, so that they can be changed without a gap.",
    ),
    secret: true,
  },
  GATEWAY_LOG_EXPORT_DIR: setting(
    z.string().min(1).nullable(),
    null,
    "Folder that the request log is written to as it grows, as JSON lines. A relative path is taken from the project's root.",
  ),
  GATEWAY_LOG_EXPORT_FILE_MAX_BYTES: setting(
    integer(1024, 1_099_511_627_776),
    100 * 1024 * 1024,
    "A file of GATEWAY_LOG_EXPORT_DIR that would be longer is ended, and another one begun.",
  ),
  GATEWAY_LOG_EXPORT_FILE_MAX_AGE: setting(duration, "1d", "A file that is older is ended, and another one begun."),
  GATEWAY_LOG_EXPORT_FILES_RETENTION: setting(
    logRetention,
    "30d",
    "How long those files are kept: a duration of at least a day, or forever.",
  ),
  GATEWAY_LOG_EXPORT_BATCH: setting(integer(1, 10_000), 500, "Requests that are sent to a target of the log at once."),
  GATEWAY_LOG_EXPORT_EVERY_MS: setting(
    integer(10, 3_600_000),
    1_000,
    "How often it is looked for requests that are to be sent, in milliseconds.",
  ),
  GATEWAY_LOG_EXPORT_RETRY_MS: setting(
    integer(10, 3_600_000),
    1_000,
    "How long a target that failed is left alone; each further wait is twice as long, up to five minutes.",
  ),
  GATEWAY_LOG_EXPORT_KEEP: setting(
    duration,
    "7d",
    "How long a request waits for a target that does not take it, before it is given up and counted.",
  ),
} as const;

/** What belongs together. */
export function checkTelemetrySettings(values: Readonly<Record<string, unknown>>, problems: string[]): void {
  if ((values["OTEL_EXPORTER_OTLP_ENDPOINT"] ?? null) !== null && values["OTEL_EXPORTER_OTLP_PROTOCOL"] !== "http/json")
    problems.push("OTEL_EXPORTER_OTLP_PROTOCOL: write http/json, or unset it; this version speaks no other");
  const { OTEL_LOGS_EXPORTER: logs, GATEWAY_LOG_EXPORT_WEBHOOK_SECRETS: secrets } = values;
  if (logs === "otlp" && (values["OTEL_EXPORTER_OTLP_ENDPOINT"] ?? null) === null)
    problems.push("OTEL_EXPORTER_OTLP_ENDPOINT: set it too, because OTEL_LOGS_EXPORTER is otlp");
  const isSigned = Array.isArray(secrets) && secrets.length > 0;
  if ((values["GATEWAY_LOG_EXPORT_WEBHOOK_URL"] ?? null) !== null && !isSigned)
    problems.push("GATEWAY_LOG_EXPORT_WEBHOOK_SECRETS: set it too, because GATEWAY_LOG_EXPORT_WEBHOOK_URL is set");
}
