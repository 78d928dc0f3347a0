import type { AttemptRecord, RequestRecord, Surface } from "../../domain/record/record.ts";
import { hasFailed, isNodeProvider } from "../../domain/record/request-shape.ts";
import { parseTraceparent, spanIdOf, type TraceParent, traceIdOf } from "../../kit/trace-context.ts";
import {
  attemptModel,
  conventionalProviderName,
  GATEWAY_ATTRIBUTES,
  GENAI,
  operationName,
} from "./genai-conventions.ts";
import { type AttributeValue, type OtlpAttribute, otlpAttributes, unixNanos } from "./otlp-values.ts";
import { errorTypeOf, wasSent } from "./request-metrics.ts";

/** Enum values of OTLP. */
const KIND_SERVER = 2;
const KIND_CLIENT = 3;
const STATUS_ERROR = 2;

const ROUTES: Readonly<Record<Surface, string>> = {
  chat: "/v1/chat/completions",
  messages: "/v1/messages",
  responses: "/v1/responses",
  gemini: "/v1beta/models/{model+}:generateContent",
  embeddings: "/v1/embeddings",
  transcriptions: "/v1/audio/transcriptions",
  rerank: "/v1/rerank",
  moderations: "/v1/moderations",
  images: "/v1/images/generations",
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

/** Undefined when the address is not known or private to a workspace. */
export type ServerAddressLookup = (endpoint: string) => { readonly address: string; readonly port: number } | undefined;

/** The caller's trace, or a new one. */
export function traceContextOf({ id, trace }: RequestRecord): {
  readonly traceId: string;
  readonly parent?: TraceParent;
} {
  const parent = trace === undefined ? undefined : parseTraceparent(trace);
  return parent === undefined ? { traceId: traceIdOf(id) } : { traceId: parent.traceId, parent };
}

/** One span for the request and one for each attempt; records contain no prompts or responses. */
export function buildSpans(record: RequestRecord, serverOf: ServerAddressLookup): OtlpSpan[] {
  const { traceId, parent } = traceContextOf(record);
  const { attempts } = record;
  const lastSent = attempts.findLastIndex(wasSent);
  const spans = [requestSpan(record, traceId, parent)];
  for (const [index, attempt] of attempts.entries())
    if (wasSent(attempt))
      spans.push(attemptSpan({ record, attempt, index, traceId, serverOf, isLast: index === lastSent }));
  return spans;
}

function requestSpan(record: RequestRecord, traceId: string, parent: TraceParent | undefined): OtlpSpan {
  const { surface, status, errorCode, createdAtMs, totalMs } = record;
  // By the conventions a 4xx response is no error of a server span.
  const isServerOutcome = status < 400 || status >= 500;
  return {
    traceId,
    spanId: spanIdOf(record.id, 0),
    ...(parent === undefined ? {} : { parentSpanId: parent.spanId }),
    name: `POST ${ROUTES[surface]}`,
    kind: KIND_SERVER,
    startTimeUnixNano: unixNanos(createdAtMs),
    endTimeUnixNano: unixNanos(createdAtMs + totalMs),
    attributes: otlpAttributes({
      [GENAI.method]: "POST",
      [GENAI.route]: ROUTES[surface],
      [GENAI.status]: status,
      [GENAI.errorType]: errorCode,
      ...gatewayAttributes(record),
    }),
    status: isServerOutcome && hasFailed(record) ? { code: STATUS_ERROR } : {},
  };
}

/** Attributes of the gateway: ids of keys and members, never their names. */
export function gatewayAttributes(record: RequestRecord): Record<string, AttributeValue | null | undefined> {
  const { charge, usage, attempts } = record;
  return {
    [GATEWAY_ATTRIBUTES.requestId]: record.id,
    [GATEWAY_ATTRIBUTES.workspaceId]: record.workspaceId,
    [GATEWAY_ATTRIBUTES.keyId]: record.keyId,
    [GATEWAY_ATTRIBUTES.memberId]: record.memberId,
    [GATEWAY_ATTRIBUTES.environment]: record.environment,
    [GATEWAY_ATTRIBUTES.surface]: record.surface,
    [GATEWAY_ATTRIBUTES.modelRequested]: record.modelRequested,
    [GATEWAY_ATTRIBUTES.model]: record.model,
    [GATEWAY_ATTRIBUTES.provider]: record.provider,
    [GATEWAY_ATTRIBUTES.endpoint]: record.endpoint,
    [GATEWAY_ATTRIBUTES.level]: record.level,
    [GATEWAY_ATTRIBUTES.countries]: record.countries,
    [GATEWAY_ATTRIBUTES.router]: record.router,
    [GATEWAY_ATTRIBUTES.cost]: charge === null ? null : Number(charge.nanos) / 1e9,
    [GATEWAY_ATTRIBUTES.currency]: charge?.currency,
    [GATEWAY_ATTRIBUTES.estimated]: usage?.estimated === true ? true : null,
    [GATEWAY_ATTRIBUTES.ownKey]: record.ownKey,
    [GATEWAY_ATTRIBUTES.nodeId]: record.nodeId,
    [GATEWAY_ATTRIBUTES.overheadMs]: record.overheadMs,
    [GATEWAY_ATTRIBUTES.firstByteMs]: record.ttfbMs,
    [GATEWAY_ATTRIBUTES.attempts]: attempts.filter(wasSent).length,
    [GENAI.requestStream]: record.streaming,
  };
}

type AttemptSpanInput = {
  readonly record: RequestRecord;
  readonly attempt: AttemptRecord;
  /** Index among all attempts of the record, including skipped ones. */
  readonly index: number;
  readonly traceId: string;
  readonly serverOf: ServerAddressLookup;
  readonly isLast: boolean;
};

function attemptSpan({ record, attempt, index, traceId, serverOf, isLast }: AttemptSpanInput): OtlpSpan {
  const { endpoint, provider, startedAtMs, durationMs, outcome, maybeAccepted, upstreamStatus } = attempt;
  const operation = operationName(record.surface);
  const model = attemptModel(record, endpoint);
  const server = attempt.ownKey === true || isNodeProvider(provider) ? undefined : serverOf(endpoint);
  const error = errorTypeOf(attempt);
  return {
    traceId,
    spanId: spanIdOf(record.id, index + 1),
    parentSpanId: spanIdOf(record.id, 0),
    name: model === undefined ? operation : `${operation} ${model}`,
    kind: KIND_CLIENT,
    startTimeUnixNano: unixNanos(startedAtMs),
    endTimeUnixNano: unixNanos(startedAtMs + durationMs),
    attributes: otlpAttributes({
      [GENAI.operation]: operation,
      [GENAI.provider]: conventionalProviderName(provider),
      [GENAI.requestModel]: model,
      [GENAI.requestStream]: record.streaming,
      [GENAI.serverAddress]: server?.address,
      [GENAI.serverPort]: server?.port,
      [GENAI.errorType]: error,
      [GENAI.status]: upstreamStatus,
      [GATEWAY_ATTRIBUTES.provider]: provider,
      [GATEWAY_ATTRIBUTES.endpoint]: endpoint,
      [GATEWAY_ATTRIBUTES.outcome]: outcome,
      [GATEWAY_ATTRIBUTES.ownKey]: attempt.ownKey,
      [GATEWAY_ATTRIBUTES.maybeAccepted]: maybeAccepted ? true : null,
      ...(isLast ? replyAttributes(record, attempt) : {}),
    }),
    status: error === undefined || outcome === "cancelled" ? {} : { code: STATUS_ERROR },
  };
}

/** Attributes of the last attempt, from the outcome of the request. */
function replyAttributes(
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
