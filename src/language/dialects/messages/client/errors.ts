import { type ErrorEnvelope, messagesEnvelopeOf } from "../../../../contract/error-envelope.ts";

/** An `error` event; the HTTP status stays 200 and no `message_stop` follows. */
export function encodeStreamError(envelope: ErrorEnvelope): string {
  return `event: error\ndata: ${JSON.stringify(messagesEnvelopeOf(envelope))}\n\n`;
}
