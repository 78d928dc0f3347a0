import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { FastPath } from "../http1/server/fast-path.ts";
import type { InboundHttpRequest } from "../http1/server/fast-path-connection.ts";
import type { OutboundHttpResponse } from "../http1/server/outbound-response.ts";
import { TUNNEL_PATH } from "../io/tunnel/protocol.ts";
import { createServer, ServerResponse } from "../kit/node-http.ts";
import { EXPOSED_HEADERS } from "./cors.ts";
import type { EdgeDeps } from "./edge-deps.ts";
import type { ClientConnectionState } from "./edge-exchange.ts";
import { Listener } from "./listener.ts";
import type { UpgradeRequest } from "./node-upgrade.ts";
import { connectFault, HEADER_BYTES_MAX, malformedFault, writeRawResponse } from "./raw-response.ts";
import { originForm } from "./request-router.ts";
import { isResponsesUpgrade } from "./responses-sockets.ts";
import { transferredBytes, watchWriteStalls } from "./write-stall.ts";

/** Serves requests of the fast path and of Node's server. */
export type RequestReceiver = {
  receive(request: InboundHttpRequest, response: OutboundHttpResponse): Promise<void>;
};

/** Carries the code of Node's own error for a request timeout. */
class RequestTimeoutError extends Error {
  readonly code = "ERR_HTTP_REQUEST_TIMEOUT";
}

/** Response headers without meaning for the connection: the fast path copies them as they are. */
const END_TO_END_HEADERS: ReadonlySet<string> = new Set([
  ...EXPOSED_HEADERS.split(", "),
  "content-type",
  "cache-control",
]);

/** Node's server with the fast path in front of it. Requests go to the receiver; everything else is answered here. */
export function createListener(
  { clock, ids, timeouts }: Pick<EdgeDeps, "clock" | "ids" | "timeouts">,
  receiver: RequestReceiver,
  onUpgrade: (upgrade: UpgradeRequest) => void,
): Listener {
  const receive = (request: InboundHttpRequest, response: OutboundHttpResponse) =>
    void receiver.receive(request, response);
  const server = createServer(
    {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: timeouts.headersMs,
      requestTimeout: timeouts.requestMs,
      connectionsCheckingInterval: timeouts.checkEveryMs,
      keepAliveTimeout: timeouts.idleMs,
      // Node would answer a missing Host with an empty 400; the gateway sends its error envelope instead.
      requireHostHeader: false,
      // On every other path the Upgrade header is ignored, as HTTP allows, and the request is served.
      shouldUpgradeCallback: (request) =>
        (request.method === "GET" && pathOf(request.url) === TUNNEL_PATH) || isResponsesUpgrade(request),
    },
    receive,
  );
  // "100 Continue" is sent when the body is read, so that a refusal saves the upload. Other expectations are ignored.
  server.on("checkContinue", receive);
  server.on("checkExpectation", receive);
  server.on("connect", (_request, socket) => writeRawResponse(socket, connectFault(), ids.next("req_")));
  server.on("upgrade", (request, socket, head) => onUpgrade({ request, socket, head }));
  const rejectMalformed = (error: ConnectionError, socket: Duplex) => {
    const connection = listener.connections.get(socket);
    if (connection !== undefined && isServing(connection))
      return rejectAfterResponses(connection, socket, () => rejectMalformed(error, socket));
    const problem = refuseMalformed(listener, error, socket);
    if (problem !== undefined) writeRawResponse(socket, problem, ids.next("req_"));
  };
  const fastPath = new FastPath(server, {
    clock,
    timeouts,
    endToEndHeaders: END_TO_END_HEADERS,
    receiver,
    onHeadersTimeout: (socket) => rejectMalformed(new RequestTimeoutError(), socket),
    onSocketTimeout: (socket) => closeIfStalled(listener, socket),
    onRequestQueued: () => {
      listener.inFlight += 1;
    },
    onRequestDequeued: () => {
      listener.inFlight -= 1;
    },
  });
  watchWriteStalls(server, timeouts.stallMs);
  server.on("timeout", (socket) => closeIfStalled(listener, socket));
  server.on("clientError", rejectMalformed);
  const listener = new Listener(server, fastPath, timeouts, clock);
  return listener;
}

/** True if every pending request was received whole: bytes after the last one belong to none of them. */
function isServing({ responses }: ClientConnectionState): boolean {
  // The fast path serves only requests that it has whole.
  return (
    responses.length > 0 &&
    responses.every((response) => !(response instanceof ServerResponse) || response.req.complete)
  );
}

/** The requests before the malformed bytes are served, charged and answered; the parser reports every further read again. */
function rejectAfterResponses(connection: ClientConnectionState, socket: Duplex, reject: () => void): void {
  if (connection.hasMalformedRest) return;
  connection.hasMalformedRest = true;
  for (const response of connection.responses)
    response.on("close", () => {
      if (connection.responses.length === 0 && socket.writable) reject();
    });
}

type ConnectionError = Error & { readonly code?: string };

/** The fault for bytes that are not HTTP; undefined when another response has begun, and the connection is closed. */
function refuseMalformed({ connections }: Listener, { code }: ConnectionError, socket: Duplex) {
  const connection = connections.get(socket);
  const hasBegun = (connection?.responses ?? []).some((response) => response.headersSent);
  if (code === "ECONNRESET" || hasBegun) return void socket.destroy();
  const problem = malformedFault(code);
  // A half-closed connection in the middle of a body counts as a disconnect; the response is sent in case it is not.
  if (connection !== undefined && code !== "HPE_INVALID_EOF_STATE") connection.refusal = problem;
  return problem;
}

/** Closes an idle connection, or one whose client does not read. A connection that waits for a provider stays open. */
function closeIfStalled({ connections }: Listener, socket: Socket): void {
  const before = transferredBytes(socket);
  // After an event-loop stall, progress on the socket becomes visible only in the next tick.
  setImmediate(() => {
    if (transferredBytes(socket) !== before) return;
    const pending = connections.get(socket)?.responses.length ?? 0;
    if (pending === 0 || socket.writableLength > 0) socket.destroy();
  });
}

function pathOf(url: string | undefined): string {
  return originForm(url ?? "/").replace(/\?.*$/s, "");
}
