import { isNodeProvider } from "../../domain/catalogue/node-rows.ts";
import { hasFailed } from "../../domain/record/failed.ts";
import type { AttemptRecord, RequestRecord, Surface } from "../../domain/record/record.ts";
import { parseTraceparent, spanIdOf, type TraceParent, traceIdOf } from "../../kit/trace-context.ts";
import { errorTypeOf, GENAI, modelAt, OWN, operationOf, providerNameOf, wasAsked } from "./genai.ts";
import { type AttributeValue, attributesOf, nanosOf, type OtlpAttribute } from "./otlp-values.ts";

/** Numbers that OTLP has for them. */
const SERVER = 2;
const CLIENT = 3;
const FAILED = 2;

const ROUTES: Readonly<Record<Surface, string>> = {
  chat: "/v1/chat/completions",
  messages: "/v1/messages",
  responses: "/v1/responses",
  embeddings: "/v1/embeddings",
  transcriptions: "/v1/audio/transcriptions",
  speech: "/v1/audio/speech",
  decisions: "/v1/decisions",
};

export type OtlpSpan = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly OtlpAttribute[];
  readonly status: { readonly code?: number };
};

/** Where a provider's endpoint is reached; undefined: not known, or a workspace's own affair. */
export type ServerOf = (endpoint: string) => { readonly address: string; readonly port: number } | undefined;

/** The trace a request belongs to: its caller's, or one of its own. */
export function traceOf({ id, trace }: RequestRecord): { readonly traceId: string; readonly parent?: TraceParent } {
  const parent = trace === undefined ? undefined : parseTraceparent(trace);
  return parent === undefined ? { traceId: traceIdOf(id) } : { traceId: parent.traceId, parent };
}

/** One span for the request and one for each attempt. They are made from its record, which never has content. */
export function spansOf(record: RequestRecord, serverOf: ServerOf): OtlpSpan[] {
  const { traceId, parent } = traceOf(record);
  const { attempts } = record;
  const lastAsked = attempts.findLastIndex(wasAsked);
  const spans = [requestSpan(record, traceId, parent)];
  for (const [index, attempt] of attempts.entries())
    if (wasAsked(attempt))
      spans.push(attemptSpan({ record, attempt, index, traceId, serverOf, isLast: index === lastAsked }));
  return spans;
}

function requestSpan(record: RequestRecord, traceId: string, parent: TraceParent | undefined): OtlpSpan {
  const { surface, status, errorCode, createdAtMs, totalMs } = record;
  // By the conventions a server's span has not failed where the caller's own request was refused.
  const isOurs = status < 400 || status >= 500;
  return {
    traceId,
    spanId: spanIdOf(record.id, 0),
    ...(parent === undefined ? {} : { parentSpanId: parent.spanId }),
    name: `POST ${ROUTES[surface]}`,
    kind: SERVER,
    startTimeUnixNano: nanosOf(createdAtMs),
    endTimeUnixNano: nanosOf(createdAtMs + totalMs),
    attributes: attributesOf({
      [GENAI.method]: "POST",
      [GENAI.route]: ROUTES[surface],
      [GENAI.status]: status,
      [GENAI.errorType]: errorCode,
      ...ownAttributes(record),
    }),
    status: isOurs && hasFailed(record) ? { code: FAILED } : {},
  };
}

/** What the gateway itself says of a request; the names of people and keys are not among it, only their ids. */
export function ownAttributes(record: RequestRecord): Record<string, AttributeValue | null | undefined> {
  const { charge, usage, attempts } = record;
  return {
    [OWN.requestId]: record.id,
    [OWN.workspaceId]: record.workspaceId,
    [OWN.keyId]: record.keyId,
    [OWN.memberId]: record.memberId,
    [OWN.environment]: record.environment,
    [OWN.surface]: record.surface,
    [OWN.modelRequested]: record.modelRequested,
    [OWN.model]: record.model,
    [OWN.provider]: record.provider,
    [OWN.endpoint]: record.endpoint,
    [OWN.level]: record.level,
    [OWN.countries]: record.countries,
    [OWN.router]: record.router,
    [OWN.cost]: charge === null ? null : Number(charge.nanos) / 1e9,
    [OWN.currency]: charge?.currency,
    [OWN.estimated]: usage?.estimated === true ? true : null,
    [OWN.ownKey]: record.ownKey,
    [OWN.nodeId]: record.nodeId,
    [OWN.overheadMs]: record.overheadMs,
    [OWN.firstByteMs]: record.ttfbMs,
    [OWN.attempts]: attempts.filter(wasAsked).length,
    [GENAI.requestStream]: record.streaming,
  };
}

type Attempted = {
  readonly record: RequestRecord;
  readonly attempt: AttemptRecord;
  /** Its place among all lines of the record, those that were passed over included. */
  readonly index: number;
  readonly traceId: string;
  readonly serverOf: ServerOf;
  readonly isLast: boolean;
};

function attemptSpan({ record, attempt, index, traceId, serverOf, isLast }: Attempted): OtlpSpan {
  const { endpoint, provider, startedAtMs, durationMs, outcome, maybeAccepted, upstreamStatus } = attempt;
  const operation = operationOf(record.surface);
  const model = modelAt(record, endpoint);
  const server = attempt.ownKey === true || isNodeProvider(provider) ? undefined : serverOf(endpoint);
  const error = errorTypeOf(attempt);
  return {
    traceId,
    spanId: spanIdOf(record.id, index + 1),
    parentSpanId: spanIdOf(record.id, 0),
    name: model === undefined ? operation : `${operation} ${model}`,
    kind: CLIENT,
    startTimeUnixNano: nanosOf(startedAtMs),
    endTimeUnixNano: nanosOf(startedAtMs + durationMs),
    attributes: attributesOf({
      [GENAI.operation]: operation,
      [GENAI.provider]: providerNameOf(provider),
      [GENAI.requestModel]: model,
      [GENAI.requestStream]: record.streaming,
      [GENAI.serverAddress]: server?.address,
      [GENAI.serverPort]: server?.port,
      [GENAI.errorType]: error,
      [GENAI.status]: upstreamStatus,
      [OWN.provider]: provider,
      [OWN.endpoint]: endpoint,
      [OWN.outcome]: outcome,
      [OWN.ownKey]: attempt.ownKey,
      [OWN.maybeAccepted]: maybeAccepted ? true : null,
      ...(isLast ? answered(record, attempt) : {}),
    }),
    status: error === undefined || outcome === "cancelled" ? {} : { code: FAILED },
  };
}

/** What came of the attempt that the request ended with. */
function answered(
  { model, upstreamId, usage, ttfbMs, createdAtMs, streaming }: RequestRecord,
  { outcome, startedAtMs }: AttemptRecord,
): Record<string, AttributeValue | null | undefined> {
  const tokens = (count: number | undefined) => (count === undefined || count === 0 ? null : count);
  return {
    [GENAI.responseModel]: outcome === "served" ? model : null,
    [GENAI.responseId]: upstreamId,
    [GENAI.inputTokens]: usage?.inputTokens,
    [GENAI.outputTokens]: usage?.outputTokens,
    [GENAI.cachedTokens]: tokens(usage?.cachedTokens),
    [GENAI.cacheWriteTokens]: tokens(usage?.cacheWriteTokens),
    [GENAI.reasoningTokens]: tokens(usage?.reasoningTokens),
    [GENAI.audioInputTokens]: tokens(usage?.audioInputTokens),
    [GENAI.audioOutputTokens]: tokens(usage?.audioOutputTokens),
    [GENAI.timeToFirstChunk]:
      streaming && ttfbMs !== null ? Math.max(0, createdAtMs + ttfbMs - startedAtMs) / 1000 : null,
  };
}
