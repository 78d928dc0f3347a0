import { hasFailed } from "../../domain/record/failed.ts";
import type { RequestRecord } from "../../domain/record/record.ts";
import type { Clock } from "../../kit/clock.ts";
import { spanIdOf } from "../../kit/trace-context.ts";
import { GENAI, OWN, operationOf } from "./genai.ts";
import type { Otlp } from "./otlp.ts";
import { attributesOf, nanosOf, type OtlpSource } from "./otlp-values.ts";
import type { Posting } from "./posting.ts";
import { ownAttributes, traceOf } from "./spans.ts";

/** Numbers that OTLP has for them. */
const INFO = 9;
const WARN = 13;
const ERROR = 17;
const SAMPLED = 1;

/** The request log as log records of OTLP, each with the trace it belongs to. */
export function otlpLogs(otlp: Otlp, { resource, scope }: OtlpSource, clock: Clock) {
  return (records: readonly RequestRecord[], abort: AbortSignal): Promise<Posting> => {
    const observed = nanosOf(clock.nowMs());
    const logRecords = records.map((record) => ({ ...logRecordOf(record), observedTimeUnixNano: observed }));
    return otlp.send(
      "logs",
      JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords }] }] }),
      abort,
    );
  };
}

function logRecordOf(record: RequestRecord) {
  const { id, surface, status, errorCode, usage, createdAtMs, totalMs } = record;
  return {
    timeUnixNano: nanosOf(createdAtMs + totalMs),
    severityNumber: status >= 500 ? ERROR : hasFailed(record) ? WARN : INFO,
    eventName: "gateway.request",
    body: { stringValue: `${surface} ${status}${errorCode === null ? "" : ` ${errorCode}`}` },
    attributes: attributesOf({
      ...ownAttributes(record),
      [OWN.app]: record.app,
      [OWN.clientRequestId]: record.clientRequestId,
      [OWN.totalMs]: totalMs,
      [GENAI.operation]: operationOf(surface),
      [GENAI.status]: status,
      [GENAI.errorType]: errorCode,
      [GENAI.responseId]: record.upstreamId,
      [GENAI.inputTokens]: usage?.inputTokens,
      [GENAI.outputTokens]: usage?.outputTokens,
    }),
    traceId: traceOf(record).traceId,
    spanId: spanIdOf(id, 0),
    flags: SAMPLED,
  };
}
