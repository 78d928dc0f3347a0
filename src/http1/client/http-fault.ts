import type { RequestFailure } from "./contract.ts";

/** A failure of one connection. It carries a code only, never bytes that the server sent. */
export class HttpFault extends Error {
  readonly code: HttpFaultCode;

  constructor(code: HttpFaultCode) {
    super(code);
    this.name = "HttpFault";
    this.code = code;
  }
}

export type HttpFaultCode =
  | "HTTP_CONNECT_TIMEOUT"
  | "HTTP_FIRST_BYTE_TIMEOUT"
  | "HTTP_IDLE_TIMEOUT"
  /** The connection closed before the response was complete. */
  | "HTTP_CUT_OFF"
  /** Not a valid HTTP/1.1 response, or one whose end is ambiguous. */
  | "HTTP_BAD_ANSWER"
  | "HTTP_HEAD_TOO_LARGE"
  /** A request header cannot be written as one line. */
  | "HTTP_BAD_HEADER"
  /** An upload was longer or shorter than its declared length. */
  | "HTTP_BAD_UPLOAD";

/** The client itself was closed. */
export const CLIENT_CLOSED = new Error("the gateway is stopping");

export function failureKindOf(error: unknown, isSent: boolean): RequestFailure["kind"] {
  if (error === CLIENT_CLOSED) return "stopped";
  const code = error instanceof HttpFault ? error.code : undefined;
  if (code === "HTTP_CONNECT_TIMEOUT" || code === "HTTP_FIRST_BYTE_TIMEOUT" || code === "HTTP_IDLE_TIMEOUT")
    return "timeout";
  return isSent ? "broken" : "connect";
}

/** Codes and class names only: messages of the network stack can contain addresses and headers. */
export function errorCodeOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown fault";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
