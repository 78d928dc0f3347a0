import type { IncomingMessage } from "node:http";
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";
import type { Duplex } from "node:stream";
import { createWebSocketStream, type WebSocket, WebSocketServer } from "ws";
import type { Clock } from "../../kit/clock.ts";
import { tryParseDocument } from "../../kit/json-document.ts";
import { cancelTimer, type Timer } from "../../kit/timers.ts";
import type { UpstreamCall, UpstreamRequest, UpstreamResponseHandler } from "../upstream/transport.ts";
import { failStopped, failUnreachable, NodeCall, type NodeCallLimits, type NodeCallRules } from "./node-call.ts";
import { openNodeSession, type PingRules } from "./node-session.ts";
import { ANNOUNCE_PATH, Announcement, CLOSE_CODES, MOVE_PATH, SUBPROTOCOL } from "./protocol.ts";

export type TunnelHubRules = PingRules & {
  readonly clock: Pick<Clock, "nowMs">;
  readonly calls: NodeCallLimits;
  /** How often the announcement of a node is requested. */
  readonly announceEveryMs: number;
};

/** A connected node with its announcement. */
export type ConnectedNode = {
  readonly nodeId: string;
  readonly connectedAtMs: number;
  readonly address: string;
  readonly announcement: Announcement;
  /** The instance that holds the connection; null: this one. */
  readonly instance: string | null;
};

type TunnelHubListeners = {
  /** A node connected, or its announcement changed. */
  onAnnounced(node: ConnectedNode): void;
  onDisconnected(nodeId: string): void;
};

const GET: UpstreamRequest = { url: "", method: "GET", headers: {}, body: "" };
const FRAME_BYTES_MAX = 4 * 1024 * 1024;
const ANNOUNCEMENT_BYTES_MAX = 512 * 1024;

/** The gateway's side of all tunnels: the connected nodes, and requests to them. */
export class TunnelHub {
  readonly #rules: NodeConnectionRules;
  readonly #listeners: TunnelHubListeners;
  readonly #connections = new Map<string, NodeConnection>();
  #closed = false;
  // No compression: responses mix secrets with attacker-chosen text (CRIME), and every frame would need its own buffer.
  readonly #server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: FRAME_BYTES_MAX,
    handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
  });

  constructor(rules: TunnelHubRules, listeners: TunnelHubListeners) {
    this.#rules = { ...rules, calls: { ...rules.calls, isStopped: () => this.#closed } };
    this.#listeners = listeners;
  }

  /** The gateway is stopping: no further requests are sent. */
  get closed(): boolean {
    return this.#closed;
  }

  get size(): number {
    return this.#connections.size;
  }

  get connectedIds(): readonly string[] {
    return [...this.#connections.keys()];
  }

  findConnected(nodeId: string): ConnectedNode | undefined {
    return this.#connections.get(nodeId)?.node;
  }

  /** Running requests of a node and its latency; null before the first ping. */
  loadOf(nodeId: string): { readonly running: number; readonly latencyMs: number | null } {
    const connection = this.#connections.get(nodeId);
    return { running: connection?.running ?? 0, latencyMs: connection?.latencyMs ?? null };
  }

  /** Accepts a connection with a valid token. A second connection of the same node replaces the first. */
  accept(nodeId: string, address: string, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#server.handleUpgrade(request, socket, head, (ws) => {
      this.#connections.get(nodeId)?.end(CLOSE_CODES.replaced, "replaced by another connection of this node");
      const connection = new NodeConnection(ws, this.#rules, {
        onAnnounced: (announcement) => {
          const node = { nodeId, address, connectedAtMs: connection.connectedAtMs, announcement, instance: null };
          connection.node = node;
          this.#listeners.onAnnounced(node);
        },
        onClosed: () => {
          if (this.#connections.get(nodeId) !== connection) return;
          this.#connections.delete(nodeId);
          this.#listeners.onDisconnected(nodeId);
        },
      });
      this.#connections.set(nodeId, connection);
    });
  }

  /** Closes the connection because the node was removed or its token revoked. */
  disconnect(nodeId: string): void {
    this.#connections.get(nodeId)?.end(CLOSE_CODES.removed, "this node was removed or its token revoked");
  }

  send(request: UpstreamRequest, handler: UpstreamResponseHandler): UpstreamCall {
    if (this.#closed) return failStopped(handler);
    const { hostname, pathname, search } = new URL(request.url);
    const connection = this.#connections.get(hostname);
    if (connection === undefined || connection.session.destroyed || connection.session.closed)
      return failUnreachable(handler);
    return connection.send(`${pathname}${search}`, request, handler);
  }

  /** Opens a request of another instance; undefined if the node is not connected here. */
  open(nodeId: string, headers: IncomingHttpHeaders): ClientHttp2Stream | undefined {
    const connection = this.#connections.get(nodeId);
    return connection === undefined || connection.session.destroyed || connection.session.closed
      ? undefined
      : connection.open(headers);
  }

  /** Asks all nodes to connect to another instance; running requests finish here. Old agents ignore it. */
  requestReconnect(): void {
    for (const connection of this.#connections.values()) connection.askToMove();
  }

  /** Closes all connections; agents reconnect to any other instance. */
  close(): void {
    this.#closed = true;
    for (const connection of [...this.#connections.values()])
      connection.end(CLOSE_CODES.stopping, "the gateway is stopping");
    this.#server.close();
  }
}

type NodeConnectionRules = TunnelHubRules & { readonly calls: NodeCallRules };
type NodeConnectionListeners = { onAnnounced(announcement: Announcement): void; onClosed(): void };

/** One connection of one node. */
class NodeConnection {
  readonly session: ClientHttp2Session;
  readonly connectedAtMs: number;
  node: ConnectedNode | undefined;
  latencyMs: number | null = null;
  running = 0;
  readonly #ws: WebSocket;
  readonly #rules: NodeConnectionRules;
  readonly #listeners: NodeConnectionListeners;
  #lastAnnouncement = "";
  #timer: Timer | undefined;

  constructor(ws: WebSocket, rules: NodeConnectionRules, listeners: NodeConnectionListeners) {
    this.#ws = ws;
    this.#rules = rules;
    this.#listeners = listeners;
    this.connectedAtMs = rules.clock.nowMs();
    const carrier = createWebSocketStream(ws);
    carrier.on("error", () => ws.terminate());
    this.session = openNodeSession(carrier, rules, {
      onPong: (latencyMs) => {
        this.latencyMs = latencyMs;
      },
      onTimeout: () => this.end(CLOSE_CODES.unresponsive, "the node did not respond"),
    });
    this.session.on("error", () => ws.terminate());
    this.session.once("close", () => ws.terminate());
    ws.once("close", () => this.#onClosed());
    this.#requestAnnouncement();
  }

  send(path: string, request: UpstreamRequest, handler: UpstreamResponseHandler): UpstreamCall {
    this.running += 1;
    return new NodeCall(this.session, path, request, handler, this.#rules.calls, () => {
      this.running -= 1;
    });
  }

  open(headers: IncomingHttpHeaders): ClientHttp2Stream {
    this.running += 1;
    const stream = this.session.request(headers);
    stream.once("close", () => {
      this.running -= 1;
    });
    return stream;
  }

  askToMove(): void {
    const ignore: UpstreamResponseHandler = {
      onHeaders: () => ({ onData: () => "more", onEnd() {}, onFailure() {} }),
      onFailure() {},
    };
    new NodeCall(this.session, MOVE_PATH, GET, ignore, this.#rules.calls);
  }

  end(code: number, why: string): void {
    cancelTimer(this.#timer);
    this.#ws.close(code, why);
    this.session.destroy();
    // A dead node does not complete the closing handshake.
    this.#rules.timers.after(1_000, () => this.#ws.terminate());
    this.#onClosed();
  }

  #onClosed(): void {
    cancelTimer(this.#timer);
    if (!this.session.destroyed) this.session.destroy();
    this.#listeners.onClosed();
  }

  /** Requests the announcement now and periodically. */
  #requestAnnouncement(): void {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const handler: UpstreamResponseHandler = {
      onHeaders: (status) => ({
        onData: (chunk) => {
          bytes += chunk.length;
          if (bytes <= ANNOUNCEMENT_BYTES_MAX) chunks.push(chunk);
          return "more";
        },
        onEnd: () =>
          this.#onAnnouncement(status, bytes <= ANNOUNCEMENT_BYTES_MAX ? Buffer.concat(chunks).toString() : ""),
        onFailure: () => this.#scheduleAnnouncement(),
      }),
      onFailure: () => this.#scheduleAnnouncement(),
    };
    new NodeCall(this.session, ANNOUNCE_PATH, GET, handler, this.#rules.calls);
  }

  #scheduleAnnouncement(): void {
    if (this.session.destroyed) return;
    this.#timer = this.#rules.timers.after(this.#rules.announceEveryMs, () => this.#requestAnnouncement());
  }

  #onAnnouncement(status: number, text: string): void {
    const announcement = status === 200 ? Announcement.safeParse(tryParseDocument(text)).data : undefined;
    if (announcement === undefined) {
      this.end(CLOSE_CODES.unreadable, "the announcement of the node is invalid: update the node or the gateway");
      return;
    }
    if (text !== this.#lastAnnouncement) {
      this.#lastAnnouncement = text;
      this.#listeners.onAnnounced(announcement);
    }
    this.#scheduleAnnouncement();
  }
}
