import type { IncomingHttpHeaders } from "node:http";
import { envelopeOf, type Fault, fault, messagesEnvelopeOf } from "../../contract/faults.ts";
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
import type { GatewayDeps } from "./gateway-deps.ts";
import type { RequestTrace } from "./request-trace.ts";
import { settleUncharged } from "./settle.ts";

const HEADER = "idempotency-key";
const RETRY_AFTER_SECONDS = 1;

/** Headers that change what is answered. */
const FINGERPRINTED_HEADERS = ["anthropic-version", "anthropic-beta"] as const;

export function hasIdempotencyKey({ headers }: Exchange): boolean {
  return headers[HEADER] !== undefined;
}

/**
 * Takes the caller's key for this request, before anything is planned or held. Answers with the charged call that the
 * key stands for already, if there is one; a twin that runs and another body are refused.
 */
export async function claimIdempotencyKey(
  gateway: Pick<GatewayDeps, "state" | "idempotency">,
  trail: RequestTrace,
  exchange: Exchange,
  body: Buffer,
): Promise<ChargedKeyUse | undefined> {
  const use = keyUseFor(trail, exchange, body);
  const keyUse = { ...use, ttlMs: gateway.idempotency.ttlMs };
  const { run = "first" } = exchange;
  // Its end frees what it may have from before, whatever is heard of it now.
  if (run === "again") trail.idempotencyClaim = keyUse;
  const verdict = await gateway.state.claimIdempotencyKey(use, trail.requestId, run);
  switch (verdict.is) {
    case "remembered":
      return verdict.first;
    case "running":
      throw stillRunningFault(verdict.requestId);
    case "other_body":
      throw keyReusedFault(verdict.requestId);
    case "claimed": {
      trail.idempotencyClaim = keyUse;
      if (verdict.known === "all") return undefined;
      const first = await gateway.idempotency.find(use.key);
      if (first !== undefined && first.body !== use.body) throw keyReusedFault(first.requestId);
      return first;
    }
  }
}

function keyUseFor({ principal }: RequestTrace, { headers, route }: Exchange, body: Buffer): IdempotencyKeyUse {
  const sent = IdempotencyHeaders.safeParse({ "Idempotency-Key": headers[HEADER] });
  if (!sent.success)
    throw fault("invalid_value", {
      message: `Header "Idempotency-Key": write 1 to ${IDEMPOTENCY_KEY_CHARS_MAX} printable ASCII characters, such as a UUID, or leave it out.`,
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
    message: `The same request is still running under this Idempotency-Key, as ${requestId}. Send it again when that one is over, or use another key.`,
    headers: { "retry-after": String(RETRY_AFTER_SECONDS) },
  });
}

function keyReusedFault(requestId: string): Fault {
  return fault("idempotency_key_reused", {
    message: `This Idempotency-Key belongs to another request, ${requestId}: its body, its endpoint or its anthropic-* headers were others. Use a new key for a new request.`,
    param: "Idempotency-Key",
  });
}

type ReplayRequest = {
  readonly gateway: GatewayDeps;
  readonly trail: RequestTrace;
  readonly exchange: Exchange;
  readonly sink: ResponseSink;
  readonly surface: Surface;
  /** What was sent, as the log may see it. */
  readonly loggableBody: Buffer;
};

/** Answers a call that was answered and charged before: what is known of the first, and its contents where they are kept. */
export async function replayResponse(call: ReplayRequest, first: ChargedKeyUse): Promise<void> {
  const { gateway, trail, exchange, sink, surface, loggableBody } = call;
  gateway.recheckKey(exchange);
  const problem = replayFault(first, surface);
  const isStream = trail.streaming && first.status === ANSWERED;
  // Its caller left before it was whole: there is no answer to repeat.
  if (first.status === CUT_SHORT || (!isStream && requiresFullResponse(first, surface, loggableBody))) throw problem;
  const kept = isStream ? undefined : await findStoredResponse(gateway, first);
  // One that was declined did not say who served it either.
  const served =
    first.status === ANSWERED ? (first.served ?? (await gateway.idempotency.servedCall(first.requestId))) : undefined;
  await settleUncharged(
    gateway,
    trail,
    trail.finishedRecord({ status: first.status, errorCode: problem.code, usage: null, charge: null }),
  );
  const notice = isStream ? replayErrorFrame(problem, first.requestId, surface) : replayNotice(problem, first, surface);
  const { text, headers } = kept ?? { text: notice, headers: {} };
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
 * Audio and bare transcripts are saved before anybody reads them: what is said in their place would be played, or shown as
 * subtitles. Of decisions every question is answered, or the request fails.
 */
function requiresFullResponse({ status }: ChargedKeyUse, surface: Surface, asked: Buffer): boolean {
  if (surface === "speech") return true;
  if (surface === "decisions") return status === ANSWERED;
  return surface === "transcriptions" && PLAIN_TRANSCRIPTS.has(tryParseJson(asked)?.["response_format"]);
}

function servedByHeaders(served: ServedCall | undefined): Record<string, string> {
  if (served === undefined) return {};
  const { model, provider, level, countries } = served;
  const where = countries.length === 0 ? {} : { "x-svc-compute-countries": countries.join(",") };
  return { "x-svc-model": model, "x-svc-provider": provider, "x-svc-sovereignty-level": level, ...where };
}

/** The id under which log and cost are found is the first one's. */
function requestIdHeaders(id: string): Record<string, string> {
  return { "x-svc-request-id": id, "x-request-id": id, "request-id": id };
}

/** How a call can end that is charged; with any other status it was declined, and paid for having been read. */
const ANSWERED = 200;
const CUT_SHORT = 499;
const OUTCOME_PHRASES: Readonly<Record<number, string>> = {
  [ANSWERED]: "was answered",
  [CUT_SHORT]: "was cut short by its caller",
};

function replayFault({ requestId, status, nanos, currency }: ChargedKeyUse, surface: Surface): Fault {
  const stored =
    surface === "responses" ? `, and the response, if it was stored, at GET /v1/responses/${requestId}` : "";
  const end = OUTCOME_PHRASES[status] ?? "was declined by the provider";
  return fault("idempotent_replay", {
    message: `This request ${end} and charged before, under the same Idempotency-Key: ${requestId}, status ${status}, ${formatNanos(nanos)} ${currency}. It is not made or charged again, and the gateway keeps no contents. What became of it is at GET /v1/requests/${requestId}${stored}. To ask anew, use another key.`,
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
    // What is known of it can be said without its contents.
    return undefined;
  }
}

/** It has no `choices`, `content` or `output`, so that nobody takes it for an answer that says nothing; what was declined is an error. */
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

/** A stream that says nothing would look like an empty answer, so it ends with an error at once. */
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
