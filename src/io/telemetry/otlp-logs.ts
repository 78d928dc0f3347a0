import type { RequestRecord } from "../../domain/record/record.ts";
import { hasFailed } from "../../domain/record/request-shape.ts";
import type { Clock } from "../../kit/clock.ts";
import { spanIdOf } from "../../kit/trace-context.ts";
import type { ExportResult } from "./export-result.ts";
import { GATEWAY_ATTRIBUTES, GENAI, operationName } from "./genai-conventions.ts";
import type { OtlpClient } from "./otlp-client.ts";
import { type OtlpSource, otlpAttributes, unixNanos } from "./otlp-values.ts";
import { gatewayAttributes, traceContextOf } from "./spans.ts";

/** Severity numbers of OTLP. */
const INFO = 9;
const WARN = 13;
const ERROR = 17;
const SAMPLED = 1;

/** Exports request records as OTLP log records, linked to their traces. */
export function otlpLogTarget(otlp: OtlpClient, { resource, scope }: OtlpSource, clock: Clock) {
  return (records: readonly RequestRecord[], abort: AbortSignal): Promise<ExportResult> => {
    const observed = unixNanos(clock.nowMs());
    const logRecords = records.map((record) => ({ ...encodeLogRecord(record), observedTimeUnixNano: observed }));
    return otlp.send(
      "logs",
      JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords }] }] }),
      abort,
    );
  };
}

function encodeLogRecord(record: RequestRecord) {
  const { id, surface, status, errorCode, usage, createdAtMs, totalMs } = record;
  return {
    timeUnixNano: unixNanos(createdAtMs + totalMs),
    severityNumber: status >= 500 ? ERROR : hasFailed(record) ? WARN : INFO,
    eventName: "gateway.request",
    body: { stringValue: `${surface} ${status}${errorCode === null ? "" : ` ${errorCode}`}` },
    attributes: otlpAttributes({
      ...gatewayAttributes(record),
      [GATEWAY_ATTRIBUTES.app]: record.app,
      [GATEWAY_ATTRIBUTES.clientRequestId]: record.clientRequestId,
      [GATEWAY_ATTRIBUTES.totalMs]: totalMs,
      [GENAI.operation]: operationName(surface),
      [GENAI.status]: status,
      [GENAI.errorType]: errorCode,
      [GENAI.responseId]: record.upstreamId,
      [GENAI.inputTokens]: usage?.inputTokens,
      [GENAI.outputTokens]: usage?.outputTokens,
    }),
    traceId: traceContextOf(record).traceId,
    spanId: spanIdOf(id, 0),
    flags: SAMPLED,
  };
}
