import type { IncomingMessage } from "node:http";
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";
import type { Duplex } from "node:stream";
import { createWebSocketStream, type WebSocket, WebSocketServer } from "ws";
import type { Clock } from "../../kit/clock.ts";
import { tryParseJson } from "../../kit/json.ts";
import { cancelTimer, type Timer } from "../../kit/timers.ts";
import type { UpstreamCall, UpstreamRequest, UpstreamResponseHandler } from "../upstream/transport.ts";
import { failStopped, failUnreachable, NodeCall, type NodeCallLimits, type NodeCallRules } from "./node-call.ts";
import { openNodeSession, type PingRules } from "./node-session.ts";
import { ANNOUNCE_PATH, Announcement, CLOSE_CODES, MOVE_PATH, SUBPROTOCOL } from "./protocol.ts";

/** Scheme of an endpoint's address that leads to a node: `tunnel://<node id>/v1`. */
export const TUNNEL_SCHEME = "tunnel:";

export type TunnelHubRules = PingRules & {
  readonly clock: Pick<Clock, "nowMs">;
  readonly calls: NodeCallLimits;
  /** How often a node is asked what it serves now. */
  readonly announceEveryMs: number;
};

/** A node that is connected and has said what it serves. */
export type ConnectedNode = {
  readonly nodeId: string;
  readonly connectedAtMs: number;
  readonly address: string;
  readonly announcement: Announcement;
  /** The instance that holds its connection; null: this one. */
  readonly instance: string | null;
};

type TunnelHubListeners = {
  /** It is there, or serves something else than before. */
  onAnnounced(node: ConnectedNode): void;
  /** It is not there any more. */
  onDisconnected(nodeId: string): void;
};

const GET: UpstreamRequest = { url: "", method: "GET", headers: {}, body: "" };
const FRAME_BYTES_MAX = 4 * 1024 * 1024;
const ANNOUNCEMENT_BYTES_MAX = 512 * 1024;

/** The gateway's side of all tunnels: which nodes are there, and the way to each. */
export class TunnelHub {
  readonly #rules: NodeConnectionRules;
  readonly #listeners: TunnelHubListeners;
  readonly #connections = new Map<string, NodeConnection>();
  #closed = false;
  // No compression: answers are secrets beside attacker-chosen text, and every frame would cost a buffer of its own.
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

  /** The gateway stops: nobody is asked any more. */
  get closed(): boolean {
    return this.#closed;
  }

  get size(): number {
    return this.#connections.size;
  }

  get connectedIds(): readonly string[] {
    return [...this.#connections.keys()];
  }

  live(nodeId: string): ConnectedNode | undefined {
    return this.#connections.get(nodeId)?.live;
  }

  /** Requests under way at a node, and how far away it is; null: it has not been asked yet. */
  loadOf(nodeId: string): { readonly running: number; readonly latencyMs: number | null } {
    const link = this.#connections.get(nodeId);
    return { running: link?.running ?? 0, latencyMs: link?.latencyMs ?? null };
  }

  /** Takes a connection whose token was found right. A second one of the same node ends the first. */
  accept(nodeId: string, address: string, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#server.handleUpgrade(request, socket, head, (ws) => {
      this.#connections.get(nodeId)?.end(CLOSE_CODES.replaced, "another connection of this node took over");
      const link = new NodeConnection(ws, this.#rules, {
        onAnnounced: (announcement) => {
          const live = { nodeId, address, connectedAtMs: link.connectedAtMs, announcement, instance: null };
          link.live = live;
          this.#listeners.onAnnounced(live);
        },
        onClosed: () => {
          if (this.#connections.get(nodeId) !== link) return;
          this.#connections.delete(nodeId);
          this.#listeners.onDisconnected(nodeId);
        },
      });
      this.#connections.set(nodeId, link);
    });
  }

  /** The token was revoked, or the node removed: nothing goes there from now on. */
  disconnect(nodeId: string): void {
    this.#connections.get(nodeId)?.end(CLOSE_CODES.removed, "this node was removed or its token revoked");
  }

  send(request: UpstreamRequest, listener: UpstreamResponseHandler): UpstreamCall {
    if (this.#closed) return failStopped(listener);
    const { hostname, pathname, search } = new URL(request.url);
    const link = this.#connections.get(hostname);
    if (link === undefined || link.session.destroyed || link.session.closed) return failUnreachable(listener);
    return link.carry(`${pathname}${search}`, request, listener);
  }

  /** A request that another instance has for a node; undefined when the node is not connected here. */
  open(nodeId: string, headers: IncomingHttpHeaders): ClientHttp2Stream | undefined {
    const link = this.#connections.get(nodeId);
    return link === undefined || link.session.destroyed || link.session.closed ? undefined : link.open(headers);
  }

  /** Asks all to connect to another instance; what runs is finished here. Agents that do not know the question stay. */
  requestReconnect(): void {
    for (const link of this.#connections.values()) link.askToMove();
  }

  /** Says goodbye to all: they come back to whoever is there then. */
  close(): void {
    this.#closed = true;
    for (const link of [...this.#connections.values()]) link.end(CLOSE_CODES.stopping, "the gateway stops");
    this.#server.close();
  }
}

type NodeConnectionRules = TunnelHubRules & { readonly calls: NodeCallRules };
type NodeConnectionListeners = { onAnnounced(announcement: Announcement): void; onClosed(): void };

/** One connection of one node. */
class NodeConnection {
  readonly session: ClientHttp2Session;
  readonly connectedAtMs: number;
  live: ConnectedNode | undefined;
  latencyMs: number | null = null;
  running = 0;
  readonly #ws: WebSocket;
  readonly #rules: NodeConnectionRules;
  readonly #listeners: NodeConnectionListeners;
  #known = "";
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
      onTimeout: () => this.end(CLOSE_CODES.unresponsive, "the node did not answer"),
    });
    this.session.on("error", () => ws.terminate());
    this.session.once("close", () => ws.terminate());
    ws.once("close", () => this.#over());
    this.#ask();
  }

  carry(path: string, request: UpstreamRequest, listener: UpstreamResponseHandler): UpstreamCall {
    this.running += 1;
    return new NodeCall(this.session, path, request, listener, this.#rules.calls, () => {
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
    const nobody: UpstreamResponseHandler = {
      onHeaders: () => ({ onData: () => "more", onEnd() {}, onFailure() {} }),
      onFailure() {},
    };
    new NodeCall(this.session, MOVE_PATH, GET, nobody, this.#rules.calls);
  }

  end(code: number, why: string): void {
    cancelTimer(this.#timer);
    this.#ws.close(code, why);
    this.session.destroy();
    // A node that is silent does not close either.
    this.#rules.timers.after(1_000, () => this.#ws.terminate());
    this.#over();
  }

  #over(): void {
    cancelTimer(this.#timer);
    if (!this.session.destroyed) this.session.destroy();
    this.#listeners.onClosed();
  }

  /** Asks what the node serves, now and from time to time. */
  #ask(): void {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const listener: UpstreamResponseHandler = {
      onHeaders: (status) => ({
        onData: (chunk) => {
          bytes += chunk.length;
          if (bytes <= ANNOUNCEMENT_BYTES_MAX) chunks.push(chunk);
          return "more";
        },
        onEnd: () => this.#told(status, bytes <= ANNOUNCEMENT_BYTES_MAX ? Buffer.concat(chunks).toString() : ""),
        onFailure: () => this.#askLater(),
      }),
      onFailure: () => this.#askLater(),
    };
    new NodeCall(this.session, ANNOUNCE_PATH, GET, listener, this.#rules.calls);
  }

  #askLater(): void {
    if (this.session.destroyed) return;
    this.#timer = this.#rules.timers.after(this.#rules.announceEveryMs, () => this.#ask());
  }

  #told(status: number, text: string): void {
    const announcement = status === 200 ? Announcement.safeParse(tryParseJson(text)).data : undefined;
    if (announcement === undefined) {
      this.end(CLOSE_CODES.unreadable, "what the node announced cannot be read: update the node, or the gateway");
      return;
    }
    if (text !== this.#known) {
      this.#known = text;
      this.#listeners.onAnnounced(announcement);
    }
    this.#askLater();
  }
}
