import type { Duplex } from "node:stream";
import { envelopeOf } from "../contract/error-envelope.ts";
import { type Fault, fault } from "../contract/faults.ts";

export const HEADER_BYTES_MAX = 32 * 1024;

const REASONS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  405: "Method Not Allowed",
  408: "Request Timeout",
  426: "Upgrade Required",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  503: "Service Unavailable",
};

/** Writes an error envelope to a socket that has no response object, then closes it. */
export function writeRawResponse(socket: Duplex, problem: Fault, requestId: string): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify(envelopeOf(problem, requestId));
  const lines = [
    `HTTP/1.1 ${problem.status} ${REASONS[problem.status] ?? "Bad Request"}`,
    ...Object.entries(problem.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
    `link: </docs/guides/errors#${problem.code}>; rel="help"`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    `x-svc-request-id: ${requestId}`,
    `x-request-id: ${requestId}`,
    `request-id: ${requestId}`,
    ...(problem.headers?.["connection"] === undefined ? ["connection: close"] : []),
  ];
  socket.on("error", () => undefined);
  socket.end(`${lines.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

/** Maps the error code of the HTTP parser. */
export function malformedFault(code: string | undefined): Fault {
  if (code === "HPE_HEADER_OVERFLOW")
    return fault("headers_too_large", {
      message: `The request headers are larger than ${HEADER_BYTES_MAX} bytes. Send fewer or shorter ones.`,
    });
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return fault("request_timeout", { message: "The request was not received in time. Send it again." });
  return fault("invalid_request", {
    message: "The request is not valid HTTP. Check the client and any proxies.",
  });
}

export function connectFault(): Fault {
  return fault("method_not_allowed", {
    message: "CONNECT is not allowed: the gateway is not a forward proxy. Use POST /v1/chat/completions.",
    headers: { allow: "GET, POST" },
  });
}
