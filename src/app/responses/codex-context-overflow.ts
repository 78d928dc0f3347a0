import { envelopeOf } from "../../contract/error-envelope.ts";
import { Fault, fault } from "../../contract/faults.ts";
import { responsesClient } from "../../language/dialects/responses/client/dialect.ts";
import type { Exchange, ResponseSink } from "../exchange.ts";
import type { ResponsesCall } from "./responses-context.ts";

/** Provider error texts for a prompt beyond the context window. */
const TOO_LONG = /context (?:window|length)|(?:prompt|input) is too long|token count .*exceeds/i;

/**
 * Codex compacts a conversation only when a stream fails with `context_length_exceeded`; after an HTTP error status it gives
 * up. Undefined: the regular error response applies.
 */
export function codexOverflowFault(
  { headers }: Exchange,
  decoded: ResponsesCall | undefined,
  error: unknown,
): Fault | undefined {
  if (decoded?.inbound.call.stream !== true || decoded.background !== "none" || !(error instanceof Fault))
    return undefined;
  if (!String(headers["originator"] ?? "").startsWith("codex")) return undefined;
  const { code, message, param, upstream } = error;
  if (code === "context_length_exceeded") return error;
  if (code !== "provider_error" || !TOO_LONG.test(message)) return undefined;
  return fault("context_length_exceeded", { message, param, upstream });
}

/** Sends a stream that fails at its first event. */
export function sendFailedStream(
  exchange: Exchange,
  sink: ResponseSink,
  { inbound, request }: ResponsesCall,
  problem: Fault,
): void {
  const { requestId, receivedAtMs, baseHeaders } = exchange;
  const createdSeconds = Math.floor(receivedAtMs / 1000);
  const head = { id: requestId, createdSeconds, model: request.model, inputTokens: 0 };
  const writer = responsesClient(inbound.echo).openWriter(head, inbound.call);
  sink.start(200, {
    ...baseHeaders,
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
  });
  sink.end(writer.fail(envelopeOf(problem, requestId)));
}
