import type { IncomingMessage } from "node:http";
import { constants, type IncomingHttpHeaders, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { errorCodeOf, type LocalServer, openLocalRequest } from "./local-server.ts";
import { ANNOUNCE_PATH, type Announcement, END_TRAILER, MOVE_PATH, NODE_PATHS, PROBLEM_HEADER } from "./protocol.ts";

export type NodeServingContext = {
  readonly local: LocalServer;
  readonly capacity: number;
  announcement(): Announcement;
  /** Running requests; `serveStream` adds and removes them. */
  readonly inFlight: Set<ServerHttp2Stream>;
  onDone(): void;
  /** The gateway request for another connection. */
  reconnect(): void;
};

const API_PREFIX = "/v1";
const HOP_BY_HOP_HEADERS: readonly string[] = [
  "connection",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
  "host",
  "proxy-authorization",
  "proxy-connection",
  "http2-settings",
  "te",
];

/** Forwards one request of the gateway to the local server without storing or inspecting it. */
export function serveStream(
  context: NodeServingContext,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
): void {
  stream.on("error", () => {});
  const path = String(headers[":path"] ?? "");
  if (path === ANNOUNCE_PATH) {
    respond(stream, { ":status": 200, "content-type": "application/json" });
    stream.end(JSON.stringify(context.announcement()));
    return;
  }
  if (path === MOVE_PATH) {
    respond(stream, { ":status": 200 });
    stream.end();
    context.reconnect();
    return;
  }
  if (!NODE_PATHS.some((nodePath) => path === `${API_PREFIX}${nodePath}`) || headers[":method"] !== "POST") {
    respondWithProblem(stream, 404, "path", "The node does not serve this path.");
    return;
  }
  // REFUSED_STREAM guarantees that nothing was done, so the gateway may retry elsewhere.
  if (context.inFlight.size >= context.capacity) {
    stream.close(constants.NGHTTP2_REFUSED_STREAM);
    return;
  }
  context.inFlight.add(stream);
  stream.once("close", () => {
    context.inFlight.delete(stream);
    context.onDone();
  });
  forward(context.local, stream, path.slice(API_PREFIX.length), headers);
}

function forward(local: LocalServer, stream: ServerHttp2Stream, path: string, headers: IncomingHttpHeaders): void {
  const request = openLocalRequest(local, "POST", path, endToEndHeadersOf(headers));
  stream.pipe(request);
  stream.once("close", () => request.destroy());
  // The rest of the request body is discarded: until it is read, the stream does not close and keeps its slot.
  request.once("close", () => stream.resume());
  request.once("response", (response) => relay(stream, response));
  request.once("error", (error) => {
    if (stream.headersSent) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else respondWithProblem(stream, 502, "unreachable", `The local server does not respond (${errorCodeOf(error)}).`);
  });
}

function relay(stream: ServerHttp2Stream, response: IncomingMessage): void {
  if (stream.destroyed) {
    response.destroy();
    return;
  }
  try {
    respond(stream, { ":status": response.statusCode ?? 502, ...endToEndHeadersOf(response.headers) });
  } catch {
    // A status or header that HTTP/2 cannot forward must not end the session.
    response.destroy();
    respondWithProblem(
      stream,
      502,
      "answer",
      `The local server responded with ${response.statusCode} in a format that cannot be forwarded.`,
    );
    return;
  }
  // A truncated body must not look like a complete one.
  response.once("error", () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
  response.once("aborted", () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
  response.pipe(stream);
}

/** Sends the end trailer after the last byte. */
function respond(stream: ServerHttp2Stream, headers: OutgoingHttpHeaders): void {
  stream.respond(headers, { waitForTrailers: true });
  stream.once("wantTrailers", () => stream.sendTrailers({ [END_TRAILER]: "whole" }));
}

function endToEndHeadersOf(headers: NodeJS.Dict<string | string[]>): Record<string, string | string[]> {
  const result: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !name.startsWith(":") && !HOP_BY_HOP_HEADERS.includes(name)) result[name] = value;
  return result;
}

function respondWithProblem(stream: ServerHttp2Stream, status: number, problem: string, message: string): void {
  if (stream.destroyed) return;
  respond(stream, { ":status": status, "content-type": "application/json", [PROBLEM_HEADER]: problem });
  stream.end(JSON.stringify({ error: { message, type: "api_error", code: `node_${problem}` } }));
}
