import { type ClientHttp2Session, connect } from "node:http2";
import { cancelTimer } from "../../kit/timers.ts";
import type { UpstreamCall, UpstreamRequest, UpstreamResponseHandler } from "../upstream/transport.ts";
import { failStopped, failUnreachable, NodeCall, type NodeCallLimits, type NodeCallRules } from "./node-call.ts";
import { type PingRules, startPinging } from "./node-session.ts";
import {
  PEER_NODE_HEADER,
  PEER_SESSION_MEMORY_MB,
  PEER_TLS,
  PEER_WORKSPACE_HEADER,
  type PeerKeys,
} from "./peer-keys.ts";

export type PeerClientRules = PingRules & {
  readonly calls: NodeCallLimits;
  readonly connectTimeoutMs: number;
};

/** The address of another instance, and the ids of its peer keys. */
export type PeerAddress = { readonly url: string; readonly keys: readonly string[] };

/** A node that is connected to another instance. */
export type RemoteNodeTarget = { readonly nodeId: string; readonly workspaceId: string; readonly at: PeerAddress };

/** One HTTP/2 session per peer, opened on demand and shared by all requests. */
export class PeerClient {
  readonly #rules: PeerClientRules;
  readonly #calls: NodeCallRules;
  readonly #keys: PeerKeys;
  readonly #onUnreachable: (url: string) => void;
  readonly #sessions = new Map<string, ClientHttp2Session>();
  #closed = false;

  /** `onUnreachable` is called when a peer does not accept a connection. */
  constructor(rules: PeerClientRules, keys: PeerKeys, onUnreachable: (url: string) => void = () => {}) {
    this.#rules = rules;
    this.#calls = { ...rules.calls, isStopped: () => this.#closed };
    this.#keys = keys;
    this.#onUnreachable = onUnreachable;
  }

  send(
    { nodeId, workspaceId, at }: RemoteNodeTarget,
    request: UpstreamRequest,
    handler: UpstreamResponseHandler,
  ): UpstreamCall {
    if (this.#closed) return failStopped(handler);
    const session = this.#sessionTo(at);
    if (session === undefined)
      return failUnreachable(handler, "the gateway instance that the node is connected to is unreachable");
    const { pathname, search } = new URL(request.url);
    const headers = { ...request.headers, [PEER_NODE_HEADER]: nodeId, [PEER_WORKSPACE_HEADER]: workspaceId };
    return new NodeCall(session, `${pathname}${search}`, { ...request, headers }, handler, this.#calls);
  }

  close(): void {
    this.#closed = true;
    for (const session of this.#sessions.values()) session.destroy();
  }

  #sessionTo({ url, keys }: PeerAddress): ClientHttp2Session | undefined {
    const known = this.#sessions.get(url);
    if (known !== undefined && !known.destroyed && !known.closed) return known;
    const id = this.#keys.ids().find((keyId) => keys.includes(keyId));
    const key = id === undefined ? undefined : this.#keys.find(id);
    if (id === undefined || key === undefined) return undefined;
    const session = connect(url, {
      ...PEER_TLS,
      pskCallback: () => ({ psk: key, identity: id }),
      // The pre-shared key authenticates the peer; there is no certificate to check.
      checkServerIdentity: () => undefined,
      settings: { initialWindowSize: 256 * 1024, enablePush: false },
      maxSessionMemory: PEER_SESSION_MEMORY_MB,
    });
    this.#sessions.set(url, session);
    this.#watch(url, session);
    return session;
  }

  #watch(url: string, session: ClientHttp2Session): void {
    const { timers, connectTimeoutMs } = this.#rules;
    const connectTimeout = timers.after(connectTimeoutMs, () => session.destroy());
    let isConnected = false;
    session.once("connect", () => {
      isConnected = true;
      cancelTimer(connectTimeout);
    });
    session.on("error", () => {});
    // The peer is stopping: running requests continue, new ones use another session.
    session.once("goaway", () => this.#removeSession(url, session));
    session.once("close", () => {
      cancelTimer(connectTimeout);
      this.#removeSession(url, session);
      if (!isConnected && !this.#closed) this.#onUnreachable(url);
    });
    startPinging(session, this.#rules, { onPong() {}, onTimeout: () => session.destroy() });
  }

  #removeSession(url: string, session: ClientHttp2Session): void {
    if (this.#sessions.get(url) === session) this.#sessions.delete(url);
  }
}
