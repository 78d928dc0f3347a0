import type { IncomingMessage } from "node:http";
import type { HttpResponse } from "../app/exchange.ts";
import { envelopeOf, type Fault, messagesEnvelopeOf } from "../contract/faults.ts";
import type { Route } from "../contract/route.ts";
import { FastPathRequest } from "../http1/server/fast-path-request.ts";
import type { AnswerHeaders, Incoming, Outgoing } from "../http1/server/server-message.ts";
import { ServerResponse } from "../kit/node-http.ts";
import { awaitsContinue } from "./request-body.ts";

/** Bodies larger than this are not waited for when the request is refused: the connection is closed instead. */
const UNREAD_BYTES_MAX = 64 * 1024;
/** How much, and how long, is still read from a client that is sending while it has its refusal already. */
const LINGER_BYTES_MAX = 64 * 1024 * 1024;
const LINGER_MS = 10_000;

export function sendReply(
  request: Incoming,
  response: Outgoing,
  reply: HttpResponse,
  baseHeaders: Readonly<Record<string, string>>,
): void {
  const json = reply.json === undefined ? undefined : JSON.stringify(reply.json);
  const body = json ?? reply.bytes ?? "";
  const headers: AnswerHeaders = { ...baseHeaders, ...reply.headers };
  if (json !== undefined) headers["content-type"] ??= "application/json";
  if (reply.status !== 204 && reply.status !== 304) headers["content-length"] = String(Buffer.byteLength(body));
  if (reply.cookies !== undefined && reply.cookies.length > 0) headers["set-cookie"] = [...reply.cookies];
  send(request, response, reply.status, headers, body);
}

export function sendFault(
  request: Incoming,
  response: Outgoing,
  problem: Fault,
  requestId: string,
  baseHeaders: Readonly<Record<string, string>>,
  shape: Route["errors"],
): void {
  const envelope = envelopeOf(problem, requestId);
  const body = JSON.stringify(shape === "messages" ? messagesEnvelopeOf(envelope) : envelope);
  const headers = {
    ...baseHeaders,
    ...problem.headers,
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
  };
  send(request, response, problem.status, headers, body);
}

function send(
  request: Incoming,
  response: Outgoing,
  status: number,
  headers: AnswerHeaders,
  body: Buffer | string,
): void {
  if (response.headersSent || response.destroyed) return;
  const payload = request.method === "HEAD" ? "" : body;
  if (request instanceof FastPathRequest || !isSending(request)) {
    response.writeHead(status, headers);
    response.end(payload);
    return;
  }
  headers["connection"] = "close";
  response.writeHead(status, headers);
  if (payload.length === 0 && response instanceof ServerResponse) response.flushHeaders();
  else response.write(payload);
  linger(request, () => response.end());
}

function isSending(request: IncomingMessage): boolean {
  if (request.complete) return false;
  const { headers } = request;
  return (
    headers["transfer-encoding"] !== undefined ||
    Number(headers["content-length"] ?? 0) > UNREAD_BYTES_MAX ||
    awaitsContinue(request)
  );
}

/** A connection that is closed with bytes unread is reset, and the client may never see why: so they are read away. */
function linger(request: IncomingMessage, done: () => void): void {
  let bytes = 0;
  const finish = () => {
    clearTimeout(timer);
    request.off("data", discard);
    for (const event of ["end", "close", "error"]) request.off(event, finish);
    done();
  };
  const discard = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > LINGER_BYTES_MAX) finish();
  };
  const timer = setTimeout(finish, LINGER_MS);
  for (const event of ["end", "close", "error"]) request.on(event, finish);
  request.on("data", discard);
  request.resume();
}
