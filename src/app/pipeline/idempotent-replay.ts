import type { IncomingHttpHeaders } from "node:http";
import { envelopeOf, messagesEnvelopeOf } from "../../contract/error-envelope.ts";
import { type Fault, fault } from "../../contract/faults.ts";
import { IDEMPOTENCY_KEY_CHARS_MAX, IdempotencyHeaders } from "../../contract/schemas/idempotency.ts";
import {
  type ChargedKeyUse,
  type IdempotencyKeyUse,
  keyUseOf,
  type ServedCall,
  type StoredReply,
} from "../../domain/admission/idempotency.ts";
import type { Surface } from "../../domain/record/record.ts";
import { formatNanos } from "../../kit/money.ts";
import { encodeStreamError } from "../../language/dialects/chat/client/errors.ts";
import { errorFields } from "../../language/dialects/responses/client/errors.ts";
import type { TranscriptFormat } from "../../language/transcriptions/call.ts";
import type { Exchange, ResponseSink } from "../exchange.ts";
import { tryParseJson } from "../request-input.ts";
import type { CaptureRecorder } from "./capture-recorder.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import type { ReceivedRequest } from "./inference-request.ts";
import type { RequestTrace } from "./record.ts";
import { settleUncharged } from "./settle.ts";
import { traceUndecoded } from "./trace-undecoded.ts";

export const IDEMPOTENCY_KEY_HEADER = "idempotency-key";
const RETRY_AFTER_SECONDS = 1;

/** Headers that change the reply. */
const FINGERPRINTED_HEADERS = ["anthropic-version", "anthropic-beta"] as const;

/**
 * Claims the idempotency key before anything is planned or held. Returns the charged request that already used the key, if
 * any; throws when that request is still running or had a different body.
 */
export async function claimIdempotencyKey(
  gateway: Pick<GatewayDeps, "state" | "idempotency">,
  trace: RequestTrace,
  exchange: Exchange,
  body: Buffer,
): Promise<ChargedKeyUse | undefined> {
  const use = keyUseFor(trace, exchange, body);
  const keyUse = { ...use, ttlMs: gateway.idempotency.ttlMs };
  const { run = "first" } = exchange;
  // A resumed job may still own the claim of its first run, so it is released at the end in any case.
  if (run === "again") trace.idempotencyClaim = keyUse;
  const verdict = await gateway.state.claimIdempotencyKey(use, trace.requestId, run);
  switch (verdict.is) {
    case "remembered":
      return verdict.charged;
    case "running":
      throw stillRunningFault(verdict.requestId);
    case "other_body":
      throw keyReusedFault(verdict.requestId);
    case "claimed": {
      trace.idempotencyClaim = keyUse;
      if (verdict.coverage === "all") return undefined;
      const first = await gateway.idempotency.find(use.key);
      if (first !== undefined && first.body !== use.body) throw keyReusedFault(first.requestId);
      return first;
    }
  }
}

function keyUseFor({ principal }: RequestTrace, { headers, route }: Exchange, body: Buffer): IdempotencyKeyUse {
  const sent = IdempotencyHeaders.safeParse({ "Idempotency-Key": headers[IDEMPOTENCY_KEY_HEADER] });
  if (!sent.success)
    throw fault("invalid_value", {
      message: `Header "Idempotency-Key" must be 1 to ${IDEMPOTENCY_KEY_CHARS_MAX} printable ASCII characters, such as a UUID. Correct it, or remove it.`,
      param: "Idempotency-Key",
    });
  const { workspace, key, member } = principal;
  return keyUseOf(
    {
      workspaceId: workspace.id,
      memberId: member?.id,
      environment: key.environment,
      key: sent.data["Idempotency-Key"] ?? "",
      route: route.id,
      headers: FINGERPRINTED_HEADERS.map((name) => headerLine(headers[name])),
    },
    body,
  );
}

function headerLine(value: IncomingHttpHeaders[string]): string | null {
  return value === undefined ? null : String(value);
}

function stillRunningFault(requestId: string): Fault {
  return fault("idempotency_key_in_use", {
    message: `A request with this Idempotency-Key is still running: ${requestId}. Retry when it has finished, or use another key.`,
    headers: { "retry-after": String(RETRY_AFTER_SECONDS) },
  });
}

function keyReusedFault(requestId: string): Fault {
  return fault("idempotency_key_reused", {
    message: `This Idempotency-Key was used for another request, ${requestId}, with a different body, endpoint or anthropic-* headers. Use a new key for each request.`,
    param: "Idempotency-Key",
  });
}

type ReplayRequest = {
  readonly gateway: GatewayDeps;
  readonly trace: RequestTrace;
  readonly exchange: Exchange;
  readonly sink: ResponseSink;
  readonly surface: Surface;
};

/** Claims the key; false when the request is new and has to run, otherwise it was charged before and is replayed. */
export async function replayIfCharged(
  request: ReplayRequest,
  { requestFingerprint, loggableBody }: ReceivedRequest,
  recorder: CaptureRecorder | undefined,
): Promise<boolean> {
  const { gateway, trace, exchange } = request;
  const first = await claimIdempotencyKey(gateway, trace, exchange, requestFingerprint);
  if (first === undefined) return false;
  recorder?.optOut();
  traceUndecoded(trace, loggableBody);
  await gateway.beforeSettlement?.(trace.requestId, "partial");
  await replayResponse(request, first, loggableBody);
  return true;
}

/** Replays a charged request: the stored response if there is one, else a notice with its id and cost. */
async function replayResponse(request: ReplayRequest, first: ChargedKeyUse, loggableBody: Buffer): Promise<void> {
  const { gateway, trace, exchange, sink, surface } = request;
  gateway.recheckKey(exchange);
  const problem = replayFault(first, surface);
  const isStream = trace.streaming && first.status === ANSWERED;
  // The first response was never complete, so there is nothing to replay.
  if (first.status === CUT_SHORT || (!isStream && requiresFullResponse(first, surface, loggableBody))) throw problem;
  const stored = isStream ? undefined : await findStoredResponse(gateway, first);
  // A declined request had no provider headers either.
  const served =
    first.status === ANSWERED ? (first.served ?? (await gateway.idempotency.servedCall(first.requestId))) : undefined;
  await settleUncharged(
    gateway,
    trace,
    trace.finishedRecord({ status: first.status, errorCode: problem.code, usage: null, charge: null }),
  );
  const notice = isStream ? replayErrorFrame(problem, first.requestId, surface) : replayNotice(problem, first, surface);
  const { text, headers } = stored ?? { text: notice, headers: {} };
  sink.start(first.status, {
    ...exchange.baseHeaders,
    ...servedByHeaders(served),
    ...headers,
    ...requestIdHeaders(first.requestId),
    "idempotent-replayed": "true",
    "content-type": isStream ? "text/event-stream; charset=utf-8" : "application/json",
    ...(isStream ? { "cache-control": "no-cache" } : { "content-length": String(Buffer.byteLength(text)) }),
  });
  sink.end(text);
}

const PLAIN_TRANSCRIPTS: ReadonlySet<unknown> = new Set(["text", "srt", "vtt"] satisfies TranscriptFormat[]);

/**
 * Clients save audio and plain transcripts without reading them, so a notice would be played or shown as subtitles. Clients of
 * the Gemini dialect take any object for an answer.
 * Decisions must answer every question or fail.
 */
function requiresFullResponse({ status }: ChargedKeyUse, surface: Surface, loggableBody: Buffer): boolean {
  if (surface === "speech" || surface === "gemini") return true;
  if (surface === "decisions") return status === ANSWERED;
  return surface === "transcriptions" && PLAIN_TRANSCRIPTS.has(tryParseJson(loggableBody)?.["response_format"]);
}

function servedByHeaders(served: ServedCall | undefined): Record<string, string> {
  if (served === undefined) return {};
  const { model, provider, level, countries } = served;
  const where = countries.length === 0 ? {} : { "x-svc-compute-countries": countries.join(",") };
  return { "x-svc-model": model, "x-svc-provider": provider, "x-svc-sovereignty-level": level, ...where };
}

/** The id of the first request, under which log and cost are found. */
function requestIdHeaders(id: string): Record<string, string> {
  return { "x-svc-request-id": id, "x-request-id": id, "request-id": id };
}

/** Statuses of charged requests; any other one was declined by the provider and charged for its input. */
const ANSWERED = 200;
const CUT_SHORT = 499;
const WITHHELD = 403;
const OUTCOME_PHRASES: Readonly<Record<number, string>> = {
  [ANSWERED]: "was served",
  [CUT_SHORT]: "was ended early by its caller",
  [WITHHELD]: "got a reply that rules of data classes withheld",
};

function replayFault({ requestId, status, nanos, currency }: ChargedKeyUse, surface: Surface): Fault {
  const stored =
    surface === "responses" ? `, and the response, if it was stored, at GET /v1/responses/${requestId}` : "";
  const end = OUTCOME_PHRASES[status] ?? "was declined by the provider";
  return fault("idempotent_replay", {
    message: `This request ${end} and charged before, under the same Idempotency-Key: ${requestId}, status ${status}, ${formatNanos(nanos)} ${currency}. It is not run or charged again, and the gateway stores no content. Its outcome is at GET /v1/requests/${requestId}${stored}. To run it again, use a new key.`,
    headers: { "idempotent-replayed": "true", "x-should-retry": "false" },
  });
}

async function findStoredResponse(
  gateway: GatewayDeps,
  { workspaceId, requestId }: ChargedKeyUse,
): Promise<StoredReply | undefined> {
  try {
    return await gateway.idempotency.storedReply(workspaceId, requestId);
  } catch {
    // The notice needs no content.
    return undefined;
  }
}

/** Has no `choices`, `content` or `output`, so that clients do not mistake it for an empty reply. */
function replayNotice(problem: Fault, first: ChargedKeyUse, surface: Surface): string {
  const { requestId: id, status, nanos, currency } = first;
  if (status !== ANSWERED) return errorBody(problem, id, surface);
  const { message, code } = problem;
  return JSON.stringify({
    id,
    [surface === "messages" ? "type" : "object"]: code,
    status,
    cost: formatNanos(nanos),
    currency,
    request_url: `/v1/requests/${id}`,
    message,
  });
}

/** An empty stream would look like an empty reply, so it ends with an error frame. */
function replayErrorFrame(problem: Fault, requestId: string, surface: Surface): string {
  if (surface === "messages") return `event: error\ndata: ${errorBody(problem, requestId, surface)}\n\n`;
  const envelope = envelopeOf(problem, requestId);
  if (surface !== "responses") return encodeStreamError(envelope);
  const event = { type: "error", sequence_number: 0, ...errorFields(envelope.error) };
  return `event: error\ndata: ${JSON.stringify(event)}\n\n`;
}

function errorBody(problem: Fault, requestId: string, surface: Surface): string {
  const envelope = envelopeOf(problem, requestId);
  return JSON.stringify(surface === "messages" ? messagesEnvelopeOf(envelope) : envelope);
}
