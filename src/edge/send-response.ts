import type { IncomingMessage } from "node:http";
import type { HttpResponse } from "../app/exchange.ts";
import { envelopeOf, type Fault, messagesEnvelopeOf } from "../contract/faults.ts";
import type { Route } from "../contract/route.ts";
import { FastPathRequest } from "../http1/server/fast-path-connection.ts";
import type { InboundHttpRequest, OutboundHttpResponse, ResponseHeaders } from "../http1/server/server-message.ts";
import { ServerResponse } from "../kit/node-http.ts";
import { awaitsContinue } from "./request-body.ts";

/** A refused request with a larger unread body closes its connection. */
const UNREAD_BYTES_MAX = 64 * 1024;
/** Limits for discarding the rest of a refused body. */
const DRAIN_BYTES_MAX = 64 * 1024 * 1024;
const DRAIN_MS_MAX = 10_000;

export function sendResponse(
  request: InboundHttpRequest,
  response: OutboundHttpResponse,
  content: HttpResponse,
  baseHeaders: Readonly<Record<string, string>>,
): void {
  const json = content.json === undefined ? undefined : JSON.stringify(content.json);
  const body = json ?? content.bytes ?? "";
  const headers: ResponseHeaders = { ...baseHeaders, ...content.headers };
  if (json !== undefined) headers["content-type"] ??= "application/json";
  if (content.status !== 204 && content.status !== 304) headers["content-length"] = String(Buffer.byteLength(body));
  if (content.cookies !== undefined && content.cookies.length > 0) headers["set-cookie"] = [...content.cookies];
  write(request, response, content.status, headers, body);
}

export function sendFault(
  request: InboundHttpRequest,
  response: OutboundHttpResponse,
  problem: Fault,
  requestId: string,
  baseHeaders: Readonly<Record<string, string>>,
  errorShape: Route["errors"],
): void {
  const envelope = envelopeOf(problem, requestId);
  const body = JSON.stringify(errorShape === "messages" ? messagesEnvelopeOf(envelope) : envelope);
  const headers = {
    ...baseHeaders,
    ...problem.headers,
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
  };
  write(request, response, problem.status, headers, body);
}

function write(
  request: InboundHttpRequest,
  response: OutboundHttpResponse,
  status: number,
  headers: ResponseHeaders,
  body: Buffer | string,
): void {
  if (response.headersSent || response.destroyed) return;
  const payload = request.method === "HEAD" ? "" : body;
  if (request instanceof FastPathRequest || !isStillSending(request)) {
    response.writeHead(status, headers);
    response.end(payload);
    return;
  }
  headers["connection"] = "close";
  response.writeHead(status, headers);
  if (payload.length === 0 && response instanceof ServerResponse) response.flushHeaders();
  else response.write(payload);
  drainRequest(request, () => response.end());
}

function isStillSending(request: IncomingMessage): boolean {
  if (request.complete) return false;
  const { headers } = request;
  return (
    headers["transfer-encoding"] !== undefined ||
    Number(headers["content-length"] ?? 0) > UNREAD_BYTES_MAX ||
    awaitsContinue(request)
  );
}

/** Discards the rest of the body: closing a socket with unread bytes sends a reset, and the client may lose the response. */
function drainRequest(request: IncomingMessage, done: () => void): void {
  let bytes = 0;
  const finish = () => {
    clearTimeout(timer);
    request.off("data", discard);
    for (const event of ["end", "close", "error"]) request.off(event, finish);
    done();
  };
  const discard = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > DRAIN_BYTES_MAX) finish();
  };
  const timer = setTimeout(finish, DRAIN_MS_MAX);
  for (const event of ["end", "close", "error"]) request.on(event, finish);
  request.on("data", discard);
  request.resume();
}
