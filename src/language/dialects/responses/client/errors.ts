import type { ErrorEnvelope } from "../../../../contract/error-envelope.ts";
import type { JsonObject } from "../../../../kit/json.ts";

/** Some clients read the fields at the top level, others in `error`. */
export function errorFields(error: Omit<ErrorEnvelope["error"], "code"> & { readonly code: string }): JsonObject {
  const { code, message, param = null } = error;
  return { code, message, param, error: { ...error, param } };
}

export type FailedResponseError = {
  readonly code: string;
  readonly message: string;
  readonly upstream?: ErrorEnvelope["error"]["upstream"];
};

/** Codes of the gateway that are also the dialect's; any other failure has the provider's own code, if it sent one. */
const FAILURE_CODES: ReadonlySet<string> = new Set(["rate_limit_exceeded", "context_length_exceeded"]);

export function failedResponseError({ code, message, upstream }: ErrorEnvelope["error"]): FailedResponseError {
  const own = { code: FAILURE_CODES.has(code) ? code : (upstream?.code ?? "server_error"), message };
  return upstream === undefined ? own : { ...own, upstream };
}
