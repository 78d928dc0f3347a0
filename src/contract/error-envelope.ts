import type { Fault, FaultCode, FaultType, MessagesErrorType } from "./faults.ts";
import type { UpstreamError } from "./upstream-error.ts";

/** The body of every error response, and of error frames in streams. */
export type ErrorEnvelope = {
  readonly error: {
    readonly message: string;
    readonly type: FaultType | MessagesErrorType;
    readonly code: FaultCode;
    readonly param?: string;
    readonly request_id: string;
    readonly upstream?: UpstreamError;
  };
};

/** `dialect` is the caller's, where it has error types of its own. */
export function envelopeOf(problem: Fault, requestId: string, dialect?: "messages" | "gemini"): ErrorEnvelope {
  const { message, code, param, upstream, messagesType } = problem;
  const type = dialect !== "messages" ? problem.type : (messagesType ?? problem.type);
  const error = { message, type, code, ...(param === undefined ? {} : { param }), request_id: requestId };
  return { error: upstream === undefined ? error : { ...error, upstream } };
}

/** Words of the messages dialect by which its clients know how to go on, by the field that is at fault. */
const MESSAGES_DETAILS: Readonly<Record<string, { readonly error_code: string }>> = {
  // They then send the whole conversation instead of asking for it to be held.
  thread: { error_code: "thread_unsupported_request" },
};

/** The envelope as clients of the messages dialect look for it: the same, with that dialect's own words around it. */
export function messagesEnvelopeOf({ error }: ErrorEnvelope): {
  type: "error";
  error: ErrorEnvelope["error"] & { details?: { readonly error_code: string } };
  request_id: string;
} {
  const details = error.code === "unsupported_parameter" ? MESSAGES_DETAILS[error.param ?? ""] : undefined;
  return {
    type: "error",
    error: details === undefined ? error : { ...error, details },
    request_id: error.request_id,
  };
}
