import type { ErrorEnvelope } from "../../../../contract/error-envelope.ts";
import { geminiErrorOf } from "../../../../contract/gemini-error.ts";

/** A bare object: clients recognize it only without `data:`. */
export function encodeStreamError(envelope: ErrorEnvelope): string {
  return JSON.stringify(geminiErrorOf(envelope));
}
