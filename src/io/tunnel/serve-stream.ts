import type { IncomingMessage } from "node:http";
import { constants, type IncomingHttpHeaders, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { errorCodeOf, type LocalServer, openLocalRequest } from "./local-server.ts";
import { ANNOUNCE_PATH, type Announcement, END_TRAILER, MOVE_PATH, NODE_PATHS, PROBLEM_HEADER } from "./protocol.ts";

export type NodeServingContext = {
  readonly local: LocalServer;
  readonly capacity: number;
  announcement(): Announcement;
  /** Requests under way; kept by `serveStream`. */
  readonly inFlight: Set<ServerHttp2Stream>;
  onDone(): void;
  /** The gateway wants it to connect anew. */
  reconnect(): void;
};

const API_PREFIX = "/v1";
/** Headers that mean something on one connection only. */
const HOP_HEADERS: readonly string[] = [
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

/** One request of the gateway, carried to the local server and back; nothing of it is kept or looked at. */
export function serveStream(
  serving: NodeServingContext,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
): void {
  stream.on("error", () => {});
  const path = String(headers[":path"] ?? "");
  if (path === ANNOUNCE_PATH) {
    begin(stream, { ":status": 200, "content-type": "application/json" });
    stream.end(JSON.stringify(serving.announcement()));
    return;
  }
  if (path === MOVE_PATH) {
    begin(stream, { ":status": 200 });
    stream.end();
    serving.reconnect();
    return;
  }
  if (!NODE_PATHS.some((one) => path === `${API_PREFIX}${one}`) || headers[":method"] !== "POST") {
    refuse(stream, 404, "path", "The node carries nothing at this address.");
    return;
  }
  // Refused before anything was done with it: the gateway may ask somebody else.
  if (serving.inFlight.size >= serving.capacity) {
    stream.close(constants.NGHTTP2_REFUSED_STREAM);
    return;
  }
  serving.inFlight.add(stream);
  stream.once("close", () => {
    serving.inFlight.delete(stream);
    serving.onDone();
  });
  carry(serving.local, stream, path.slice(API_PREFIX.length), headers);
}

function carry(local: LocalServer, stream: ServerHttp2Stream, path: string, headers: IncomingHttpHeaders): void {
  const asked = openLocalRequest(local, "POST", path, kept(headers));
  stream.pipe(asked);
  stream.once("close", () => asked.destroy());
  // What nobody reads any more is read to its end all the same: until then the request is not over, and has its place.
  asked.once("close", () => stream.resume());
  asked.once("response", (response) => relay(stream, response));
  asked.once("error", (error) => {
    if (stream.headersSent) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else refuse(stream, 502, "unreachable", `The local server does not answer (${errorCodeOf(error)}).`);
  });
}

function relay(stream: ServerHttp2Stream, response: IncomingMessage): void {
  if (stream.destroyed) {
    response.destroy();
    return;
  }
  try {
    begin(stream, { ":status": response.statusCode ?? 502, ...kept(response.headers) });
  } catch {
    // A status or a header that this way has no words for must not end what runs beside it.
    response.destroy();
    refuse(stream, 502, "answer", `The local server answered ${response.statusCode} in a form that cannot be carried.`);
    return;
  }
  // A body that breaks off is not an end: the gateway must hear the difference.
  response.once("error", () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
  response.once("aborted", () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
  response.pipe(stream);
}

/** Its end is said apart. */
function begin(stream: ServerHttp2Stream, headers: OutgoingHttpHeaders): void {
  stream.respond(headers, { waitForTrailers: true });
  stream.once("wantTrailers", () => stream.sendTrailers({ [END_TRAILER]: "whole" }));
}

function kept(headers: NodeJS.Dict<string | string[]>): Record<string, string | string[]> {
  const result: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !name.startsWith(":") && !HOP_HEADERS.includes(name)) result[name] = value;
  return result;
}

function refuse(stream: ServerHttp2Stream, status: number, problem: string, message: string): void {
  if (stream.destroyed) return;
  begin(stream, { ":status": status, "content-type": "application/json", [PROBLEM_HEADER]: problem });
  stream.end(JSON.stringify({ error: { message, type: "api_error", code: `node_${problem}` } }));
}
