import type { ErrorEnvelope } from "../../../../contract/faults.ts";
import type { JsonObject } from "../../../../kit/json.ts";

/** Some clients read the fields at the top level, others in `error`. */
export function errorFields(error: Omit<ErrorEnvelope["error"], "code"> & { readonly code: string }): JsonObject {
  const { code, message, param = null } = error;
  return { code, message, param, error: { ...error, param } };
}

/** The dialect has a closed list of failure codes. */
const FAILURE_CODES: ReadonlySet<string> = new Set(["rate_limit_exceeded", "context_length_exceeded"]);

export function failureCode(code: string): string {
  return FAILURE_CODES.has(code) ? code : "server_error";
}
