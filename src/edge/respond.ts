import type { IncomingMessage, ServerResponse } from "node:http";
import type { Reply } from "../app/exchange.ts";
import { envelopeOf, type Fault } from "../contract/faults.ts";

/** Bodies larger than this are not waited for when the request is refused: the connection is closed instead. */
const UNREAD_BYTES_MAX = 64 * 1024;

export function sendReply(
  request: IncomingMessage,
  response: ServerResponse,
  reply: Reply,
  baseHeaders: Readonly<Record<string, string>>,
): void {
  const json = reply.json === undefined ? undefined : JSON.stringify(reply.json);
  const body = json ?? reply.bytes ?? "";
  const headers: Record<string, string> = { ...baseHeaders, ...reply.headers };
  if (json !== undefined) headers["content-type"] ??= "application/json";
  if (reply.status !== 204 && reply.status !== 304) headers["content-length"] = String(Buffer.byteLength(body));
  send(request, response, reply.status, headers, body);
}

export function sendFault(
  request: IncomingMessage,
  response: ServerResponse,
  problem: Fault,
  requestId: string,
  baseHeaders: Readonly<Record<string, string>>,
): void {
  const body = JSON.stringify(envelopeOf(problem, requestId));
  const headers = {
    ...baseHeaders,
    ...problem.headers,
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
  };
  send(request, response, problem.status, headers, body);
}

function send(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  body: Buffer | string,
): void {
  if (response.headersSent || response.destroyed) return;
  const unread =
    !request.complete &&
    (request.headers["transfer-encoding"] !== undefined ||
      Number(request.headers["content-length"] ?? 0) > UNREAD_BYTES_MAX);
  if (unread) headers["connection"] = "close";
  response.writeHead(status, headers);
  response.end(request.method === "HEAD" ? undefined : body);
}
