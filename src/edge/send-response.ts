import type { IncomingMessage } from "node:http";
import type { HttpResponse } from "../app/exchange.ts";
import { toFault } from "../app/to-fault.ts";
import { type ErrorEnvelope, envelopeOf, messagesEnvelopeOf } from "../contract/error-envelope.ts";
import type { Fault } from "../contract/faults.ts";
import { geminiErrorOf } from "../contract/gemini-error.ts";
import { FastPathRequest } from "../http1/server/fast-path-connection.ts";
import type { ResponseHeaders } from "../http1/server/outbound-response.ts";
import { cleanUpstreamError } from "../io/upstream/upstream-error.ts";
import { ServerResponse } from "../kit/node-http.ts";
import { redactSecrets } from "../kit/secret.ts";
import type { EdgeDeps } from "./edge-deps.ts";
import type { EdgeExchange } from "./edge-exchange.ts";
import { awaitsContinue } from "./streamed-body.ts";

/** A refused request with a larger unread body closes its connection. */
const UNREAD_BYTES_MAX = 64 * 1024;
/** Limits for discarding the rest of a refused body. */
const DRAIN_BYTES_MAX = 64 * 1024 * 1024;
const DRAIN_MS_MAX = 10_000;

type ResponseExchange = Pick<EdgeExchange, "request" | "response" | "baseHeaders">;

export function sendResponse(exchange: ResponseExchange, content: HttpResponse): void {
  const json = content.json === undefined ? undefined : JSON.stringify(content.json);
  const body = json ?? content.bytes ?? "";
  const headers: ResponseHeaders = { ...exchange.baseHeaders, ...content.headers };
  if (json !== undefined) headers["content-type"] ??= "application/json";
  if (content.status !== 204 && content.status !== 304) headers["content-length"] = String(Buffer.byteLength(body));
  if (content.cookies !== undefined && content.cookies.length > 0) headers["set-cookie"] = [...content.cookies];
  write(exchange, content.status, headers, body);
}

/** Answers a request with whatever was thrown, as a fault without known secrets. */
export function refuse(
  exchange: EdgeExchange,
  error: unknown,
  onServerFault: EdgeDeps["onServerFault"],
  secrets: readonly string[],
): void {
  const problem = redactFault(toFault(error), secrets);
  if (problem.status === 429) dropRateHeaders(exchange.baseHeaders);
  if (problem.status >= 500) onServerFault(problem, exchange.requestId);
  if (exchange.response.headersSent) exchange.response.destroy();
  else sendFault(exchange, problem);
}

/** Only the 429 of the key's own limit carries these headers, so that clients can tell it from any other 429. */
function dropRateHeaders(headers: Record<string, string>): void {
  delete headers["x-ratelimit-limit"];
  delete headers["x-ratelimit-remaining"];
  delete headers["x-ratelimit-reset"];
}

/** Without known secrets. */
export function redactFault(problem: Fault, secrets: readonly string[]): Fault {
  const message = redactSecrets(problem.message, secrets);
  const { upstream } = problem;
  if (upstream !== undefined) return problem.reworded({ message, upstream: cleanUpstreamError(upstream, secrets) });
  return message === problem.message ? problem : problem.reworded({ message });
}

function sendFault(exchange: EdgeExchange, problem: Fault): void {
  const { requestId, errorShape } = exchange;
  const envelope = envelopeOf(problem, requestId, errorShape);
  const body = JSON.stringify(errorBody(exchange, envelope, problem));
  const headers = {
    ...exchange.baseHeaders,
    ...problem.headers,
    link: `</docs/guides/errors#${problem.code}>; rel="help"`,
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
  };
  write(exchange, problem.status, headers, body);
}

function errorBody({ errorShape, routeId, query }: EdgeExchange, envelope: ErrorEnvelope, problem: Fault): unknown {
  if (errorShape === "messages") return messagesEnvelopeOf(envelope);
  if (errorShape !== "gemini") return envelope;
  const error = geminiErrorOf(envelope, { status: problem.status, retryAfter: problem.headers?.["retry-after"] });
  // A client that reads an array of answers gets an array.
  return routeId === "streamGenerateContent" && new URLSearchParams(query).get("alt") !== "sse" ? [error] : error;
}

function write(
  { request, response }: ResponseExchange,
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
