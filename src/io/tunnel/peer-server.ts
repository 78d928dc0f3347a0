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

/** Why a connection or a request of another instance, or of somebody who claims to be one, was turned away. */
export type PeerRejection = "handshake" | "path" | "node" | "full";

/** Nodes that are connected here. */
export type LocalNodes = {
  /** This instance stops, and has cut its nodes off. */
  readonly closed: boolean;
  /** A request to a node of a workspace. `absent`: the workspace has no such node, or it is not connected here. */
  openStream(nodeId: string, workspaceId: string, headers: IncomingHttpHeaders): ClientHttp2Stream | "absent" | "full";
};

export type PeerServerRules = {
  readonly timers: Timers;
  readonly clock: Pick<Clock, "monotonicMs">;
  /** Another instance asks far more often: when it has been quiet for so long, nobody is there. */
  readonly idleTimeoutMs: number;
};

const HANDSHAKE_MS = 10_000;
const RESETS_AT_ONCE = 100_000;
const RESETS_PER_SECOND = 10_000;
/** How often somebody who waits for the end of all requests looks again. */
const LOOK_AGAIN_MS = 20;
/** So long others have to hear how their requests ended. */
const GOODBYE_MS = 1_000;

const PATHS: readonly string[] = NODE_PATHS.map((path) => `/v1${path}`);

/**
 * Where other instances of the same gateway ask for nodes that are connected here. Whoever does not have a key of the
 * gateway does not get as far as a request. Nothing of a request is looked at, kept or logged: that is done where it came in.
 */
export class PeerServer {
  readonly #rules: PeerServerRules;
  readonly #nodes: LocalNodes;
  readonly #refused: (why: PeerRejection) => void;
  readonly #server: Http2SecureServer;
  readonly #sessions = new Set<ServerHttp2Session>();
  #running = 0;

  constructor(rules: PeerServerRules, keys: PeerKeys, nodes: LocalNodes, refused: (why: PeerRejection) => void) {
    this.#rules = rules;
    this.#nodes = nodes;
    this.#refused = refused;
    this.#server = createSecureServer({
      ...PEER_TLS,
      pskCallback: (_socket, identity) => keys.find(identity) ?? null,
      handshakeTimeout: HANDSHAKE_MS,
      settings: { initialWindowSize: 256 * 1024 },
      maxSessionMemory: PEER_SESSION_MEMORY_MB,
      // Every caller that hangs up resets a stream, and all of another instance's come here: that is no attack.
      streamResetBurst: RESETS_AT_ONCE,
      streamResetRate: RESETS_PER_SECOND,
    });
    this.#server.on("tlsClientError", () => refused("handshake"));
    this.#server.on("unknownProtocol", (socket) => socket.destroy());
    this.#server.on("sessionError", () => {});
    this.#server.on("session", (session) => this.#greet(session));
  }

  /** Requests of other instances that are under way. */
  get running(): number {
    return this.#running;
  }

  /** Takes the port, and answers with it. Never shared with other processes: each has connections of its own. */
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

  /** Lets what is under way finish. */
  async drain(timeoutMs: number): Promise<void> {
    const { clock, timers } = this.#rules;
    const deadlineMs = clock.monotonicMs() + timeoutMs;
    while (this.#running > 0 && clock.monotonicMs() < deadlineMs)
      await new Promise<void>((resolve) => timers.after(LOOK_AGAIN_MS, resolve));
  }

  async close(): Promise<void> {
    this.#server.close();
    for (const session of this.#sessions) session.close();
    const { clock, timers } = this.#rules;
    const deadlineMs = clock.monotonicMs() + GOODBYE_MS;
    while (this.#sessions.size > 0 && clock.monotonicMs() < deadlineMs)
      await new Promise<void>((resolve) => timers.after(LOOK_AGAIN_MS, resolve));
    for (const session of this.#sessions) session.destroy();
  }

  #greet(session: ServerHttp2Session): void {
    const { timers, idleTimeoutMs } = this.#rules;
    const quiet = timers.after(idleTimeoutMs, () => session.destroy());
    this.#sessions.add(session);
    session.on("ping", () => quiet.refresh());
    session.on("error", () => {});
    session.on("stream", (stream, headers) => this.#take(stream, headers));
    session.once("close", () => {
      cancelTimer(quiet);
      this.#sessions.delete(session);
    });
  }

  #take(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    stream.on("error", () => {});
    if (headers[":method"] !== "POST" || !PATHS.includes(String(headers[":path"]))) {
      this.#turnAway(stream, constants.NGHTTP2_CONNECT_ERROR, "path");
      return;
    }
    if (this.#nodes.closed) {
      stream.close(PEER_STOPPING_CODES.unsent);
      return;
    }
    const asked = this.#nodes.openStream(
      String(headers[PEER_NODE_HEADER]),
      String(headers[PEER_WORKSPACE_HEADER]),
      forNode(headers),
    );
    if (asked === "absent") this.#turnAway(stream, constants.NGHTTP2_CONNECT_ERROR, "node");
    else if (asked === "full") this.#turnAway(stream, constants.NGHTTP2_REFUSED_STREAM, "full");
    else this.#join(stream, asked);
  }

  #turnAway(stream: ServerHttp2Stream, code: number, why: PeerRejection): void {
    stream.close(code);
    this.#refused(why);
  }

  #join(stream: ServerHttp2Stream, node: ClientHttp2Stream): void {
    this.#running += 1;
    stream.once("close", () => {
      this.#running -= 1;
      // Whoever asked has heard all of it, or does not want it any more.
      node.close(constants.NGHTTP2_CANCEL);
    });
    joinStreams(stream, node, () => this.#nodes.closed);
  }
}

/** What one side says the other hears, no faster than it is taken; and how the node ended is how the request ends. */
function joinStreams(stream: ServerHttp2Stream, node: ClientHttp2Stream, isStopping: () => boolean): void {
  let isWhole = false;
  // It is not known any more once the stream has ended.
  const { session } = node;
  node.on("error", () => {});
  node.once("response", (headers) => {
    if (stream.destroyed || stream.closed) return;
    try {
      stream.respond(withoutPseudo(headers, Number(headers[":status"] ?? 502)), { waitForTrailers: true });
    } catch {
      // A node can write statuses and headers that cannot be passed on: that is the end of its answer, and of nothing else.
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
      return;
    }
    stream.once("wantTrailers", () => stream.sendTrailers({ [END_TRAILER]: "whole" }));
    node.pipe(stream, { end: false });
  });
  node.once("trailers", (trailers) => {
    isWhole = trailers[END_TRAILER] === "whole";
  });
  node.once("close", () => {
    if (stream.destroyed || stream.closed) return;
    if (isWhole && stream.headersSent) stream.end();
    else if (isStopping()) stream.close(PEER_STOPPING_CODES.cut);
    else if (node.rstCode !== constants.NGHTTP2_REFUSED_STREAM) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else stream.close(isSessionClosing(session) ? constants.NGHTTP2_CONNECT_ERROR : node.rstCode);
  });
  stream.pipe(node);
}

const OWN_HEADERS: readonly string[] = [...HOP_BY_HOP_HEADERS, PEER_NODE_HEADER, PEER_WORKSPACE_HEADER];

function forNode(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const kept = Object.entries(headers).filter(([name]) => !name.startsWith(":") && !OWN_HEADERS.includes(name));
  return { ":method": "POST", ":path": String(headers[":path"]), ...Object.fromEntries(kept) };
}

function withoutPseudo(headers: IncomingHttpHeaders, status: number): Record<string, string | string[] | number> {
  const result: Record<string, string | string[] | number> = { ":status": status };
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !name.startsWith(":")) result[name] = value;
  return result;
}
