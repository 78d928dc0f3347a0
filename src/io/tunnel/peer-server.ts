import {
  type ClientHttp2Stream,
  constants,
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Clock } from "../../kit/clock.ts";
import { cancelTimer, type Timers } from "../../kit/timers.ts";
import { HOP_BY_HOP_HEADERS, isSessionClosing } from "./node-call.ts";
import {
  PEER_NODE_HEADER,
  PEER_SESSION_MEMORY_MB,
  PEER_STOPPING_CODES,
  PEER_TLS,
  PEER_WORKSPACE_HEADER,
  type PeerKeys,
} from "./peer-keys.ts";
import { END_TRAILER, NODE_PATHS } from "./protocol.ts";

/** Why a connection or a request of a peer was rejected; the value of a metric label. */
export type PeerRejection = "handshake" | "path" | "node" | "full";

/** The nodes that are connected to this instance. */
export type LocalNodes = {
  /** This instance is stopping and has closed its node connections. */
  readonly closed: boolean;
  /** Opens a request to a node. `absent`: the workspace has no such node, or it is not connected here. */
  openStream(nodeId: string, workspaceId: string, headers: IncomingHttpHeaders): ClientHttp2Stream | "absent" | "full";
};

export type PeerServerRules = {
  readonly timers: Timers;
  readonly clock: Pick<Clock, "monotonicMs">;
  /** Peers ping far more often: after this long without a ping the session is dead. */
  readonly idleTimeoutMs: number;
};

const HANDSHAKE_TIMEOUT_MS = 10_000;
const RESET_BURST = 100_000;
const RESETS_PER_SECOND = 10_000;
const POLL_MS = 20;
/** Time for peers to receive the end of their requests. */
const CLOSE_GRACE_MS = 1_000;

const PATHS: readonly string[] = NODE_PATHS.map((path) => `/v1${path}`);

/**
 * Serves the requests of other instances for nodes that are connected here. The TLS handshake fails without a peer key.
 * Requests are neither inspected nor stored nor logged here: the instance that received them does that.
 */
export class PeerServer {
  readonly #rules: PeerServerRules;
  readonly #nodes: LocalNodes;
  readonly #onRejected: (reason: PeerRejection) => void;
  readonly #server: Http2SecureServer;
  readonly #sessions = new Set<ServerHttp2Session>();
  #inFlight = 0;

  constructor(rules: PeerServerRules, keys: PeerKeys, nodes: LocalNodes, onRejected: (reason: PeerRejection) => void) {
    this.#rules = rules;
    this.#nodes = nodes;
    this.#onRejected = onRejected;
    this.#server = createSecureServer({
      ...PEER_TLS,
      pskCallback: (_socket, identity) => keys.find(identity) ?? null,
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      settings: { initialWindowSize: 256 * 1024 },
      maxSessionMemory: PEER_SESSION_MEMORY_MB,
      // Every disconnecting caller resets a stream, and all callers of a peer share one session: the limits are high.
      streamResetBurst: RESET_BURST,
      streamResetRate: RESETS_PER_SECOND,
    });
    this.#server.on("tlsClientError", () => onRejected("handshake"));
    this.#server.on("unknownProtocol", (socket) => socket.destroy());
    this.#server.on("sessionError", () => {});
    this.#server.on("session", (session) => this.#acceptSession(session));
  }

  /** Requests of other instances. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Resolves with the bound port. Exclusive: workers must not share it, each has its own node connections. */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ host, port, exclusive: true }, () => {
        this.#server.off("error", reject);
        const address = this.#server.address();
        resolve(typeof address === "object" && address !== null ? address.port : port);
      });
    });
  }

  async drain(timeoutMs: number): Promise<void> {
    const { clock, timers } = this.#rules;
    const deadlineMs = clock.monotonicMs() + timeoutMs;
    while (this.#inFlight > 0 && clock.monotonicMs() < deadlineMs)
      await new Promise<void>((resolve) => timers.after(POLL_MS, resolve));
  }

  async close(): Promise<void> {
    this.#server.close();
    for (const session of this.#sessions) session.close();
    const { clock, timers } = this.#rules;
    const deadlineMs = clock.monotonicMs() + CLOSE_GRACE_MS;
    while (this.#sessions.size > 0 && clock.monotonicMs() < deadlineMs)
      await new Promise<void>((resolve) => timers.after(POLL_MS, resolve));
    for (const session of this.#sessions) session.destroy();
  }

  #acceptSession(session: ServerHttp2Session): void {
    const { timers, idleTimeoutMs } = this.#rules;
    const idleTimer = timers.after(idleTimeoutMs, () => session.destroy());
    this.#sessions.add(session);
    session.on("ping", () => idleTimer.refresh());
    session.on("error", () => {});
    session.on("stream", (stream, headers) => this.#acceptStream(stream, headers));
    session.once("close", () => {
      cancelTimer(idleTimer);
      this.#sessions.delete(session);
    });
  }

  #acceptStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    stream.on("error", () => {});
    if (headers[":method"] !== "POST" || !PATHS.includes(String(headers[":path"]))) {
      this.#reject(stream, constants.NGHTTP2_CONNECT_ERROR, "path");
      return;
    }
    if (this.#nodes.closed) {
      stream.close(PEER_STOPPING_CODES.unsent);
      return;
    }
    const opened = this.#nodes.openStream(
      String(headers[PEER_NODE_HEADER]),
      String(headers[PEER_WORKSPACE_HEADER]),
      nodeHeadersOf(headers),
    );
    if (opened === "absent") this.#reject(stream, constants.NGHTTP2_CONNECT_ERROR, "node");
    else if (opened === "full") this.#reject(stream, constants.NGHTTP2_REFUSED_STREAM, "full");
    else this.#relay(stream, opened);
  }

  #reject(stream: ServerHttp2Stream, code: number, reason: PeerRejection): void {
    stream.close(code);
    this.#onRejected(reason);
  }

  #relay(stream: ServerHttp2Stream, node: ClientHttp2Stream): void {
    this.#inFlight += 1;
    stream.once("close", () => {
      this.#inFlight -= 1;
      // The peer has the whole response, or aborted it.
      node.close(constants.NGHTTP2_CANCEL);
    });
    relayStreams(stream, node, () => this.#nodes.closed);
  }
}

/** Relays both directions with backpressure, and the node's end as the end of the peer's request. */
function relayStreams(stream: ServerHttp2Stream, node: ClientHttp2Stream, isStopping: () => boolean): void {
  let isComplete = false;
  // `node.session` is undefined once the stream has closed.
  const { session } = node;
  node.on("error", () => {});
  node.once("response", (headers) => {
    if (stream.destroyed || stream.closed) return;
    try {
      stream.respond(responseHeadersOf(headers, Number(headers[":status"] ?? 502)), { waitForTrailers: true });
    } catch {
      // A status or header that HTTP/2 cannot carry ends this response only.
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
      return;
    }
    stream.once("wantTrailers", () => stream.sendTrailers({ [END_TRAILER]: "whole" }));
    node.pipe(stream, { end: false });
  });
  node.once("trailers", (trailers) => {
    isComplete = trailers[END_TRAILER] === "whole";
  });
  node.once("close", () => {
    if (stream.destroyed || stream.closed) return;
    if (isComplete && stream.headersSent) stream.end();
    else if (isStopping()) stream.close(PEER_STOPPING_CODES.cut);
    else if (node.rstCode !== constants.NGHTTP2_REFUSED_STREAM) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else stream.close(isSessionClosing(session) ? constants.NGHTTP2_CONNECT_ERROR : node.rstCode);
  });
  stream.pipe(node);
}

const PEER_ONLY_HEADERS: readonly string[] = [...HOP_BY_HOP_HEADERS, PEER_NODE_HEADER, PEER_WORKSPACE_HEADER];

function nodeHeadersOf(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const forwarded = Object.entries(headers).filter(
    ([name]) => !name.startsWith(":") && !PEER_ONLY_HEADERS.includes(name),
  );
  return { ":method": "POST", ":path": String(headers[":path"]), ...Object.fromEntries(forwarded) };
}

function responseHeadersOf(headers: IncomingHttpHeaders, status: number): Record<string, string | string[] | number> {
  const result: Record<string, string | string[] | number> = { ":status": status };
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !name.startsWith(":")) result[name] = value;
  return result;
}
