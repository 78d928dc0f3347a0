import type { ErrorEnvelope } from "../../../../contract/error-envelope.ts";

/** The status stays 200 and no end marker follows. */
export function encodeStreamError(envelope: ErrorEnvelope): string {
  return `data: ${JSON.stringify(envelope)}\n\n`;
}
