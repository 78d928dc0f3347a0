import type { ErrorEnvelope } from "../../../../contract/faults.ts";
import type { JsonObject } from "../../../../kit/json.ts";

/** What an `error` event says: some readers look for the fields at its top, some in `error`. */
export function errorFields(error: Omit<ErrorEnvelope["error"], "code"> & { readonly code: string }): JsonObject {
  const { code, message, param = null } = error;
  return { code, message, param, error: { ...error, param } };
}

/** The word that a failed response has for it: the dialect knows a closed list of them. */
const FAILURE_CODES: ReadonlySet<string> = new Set(["rate_limit_exceeded", "context_length_exceeded"]);

export function failureCode(code: string): string {
  return FAILURE_CODES.has(code) ? code : "server_error";
}
