/** What went wrong on a connection. Codes only: what a provider sent is never part of it. */
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
  /** The connection was closed before the answer was whole. */
  | "HTTP_CUT_OFF"
  /** What came is no answer in HTTP/1.1, or one whose end cannot be told for certain. */
  | "HTTP_BAD_ANSWER"
  | "HTTP_HEAD_TOO_LARGE"
  /** A header of the request cannot be written as one line. */
  | "HTTP_BAD_HEADER"
  /** An upload had another length than it was said to have. */
  | "HTTP_BAD_UPLOAD";
