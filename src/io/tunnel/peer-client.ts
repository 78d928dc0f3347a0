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

/** Where another instance is, and which keys it knows. */
export type PeerAddress = { readonly url: string; readonly keys: readonly string[] };

/** A node at another instance. */
export type RemoteNodeTarget = { readonly nodeId: string; readonly workspaceId: string; readonly at: PeerAddress };

/** Connections to other instances: one to each that is needed, and all requests to it beside each other on that. */
export class PeerClient {
  readonly #rules: PeerClientRules;
  readonly #calls: NodeCallRules;
  readonly #keys: PeerKeys;
  readonly #unreached: (url: string) => void;
  readonly #sessions = new Map<string, ClientHttp2Session>();
  #closed = false;

  /** `unreached` is told of an address where nobody answered. */
  constructor(rules: PeerClientRules, keys: PeerKeys, unreached: (url: string) => void = () => {}) {
    this.#rules = rules;
    this.#calls = { ...rules.calls, isStopped: () => this.#closed };
    this.#keys = keys;
    this.#unreached = unreached;
  }

  send(
    { nodeId, workspaceId, at }: RemoteNodeTarget,
    request: UpstreamRequest,
    listener: UpstreamResponseHandler,
  ): UpstreamCall {
    if (this.#closed) return failStopped(listener);
    const session = this.#sessionTo(at);
    if (session === undefined)
      return failUnreachable(listener, "the instance that the node is connected to cannot be reached");
    const { pathname, search } = new URL(request.url);
    const headers = { ...request.headers, [PEER_NODE_HEADER]: nodeId, [PEER_WORKSPACE_HEADER]: workspaceId };
    return new NodeCall(session, `${pathname}${search}`, { ...request, headers }, listener, this.#calls);
  }

  /** This instance stops. */
  close(): void {
    this.#closed = true;
    for (const session of this.#sessions.values()) session.destroy();
  }

  #sessionTo({ url, keys }: PeerAddress): ClientHttp2Session | undefined {
    const known = this.#sessions.get(url);
    if (known !== undefined && !known.destroyed && !known.closed) return known;
    const id = this.#keys.ids().find((one) => keys.includes(one));
    const key = id === undefined ? undefined : this.#keys.find(id);
    if (id === undefined || key === undefined) return undefined;
    const session = connect(url, {
      ...PEER_TLS,
      pskCallback: () => ({ psk: key, identity: id }),
      // Who it is was shown by the key; there are no certificates, and so no names in them.
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
    const late = timers.after(connectTimeoutMs, () => session.destroy());
    let isReached = false;
    session.once("connect", () => {
      isReached = true;
      cancelTimer(late);
    });
    session.on("error", () => {});
    // It stops: what runs goes on, and what comes next finds another way.
    session.once("goaway", () => this.#forget(url, session));
    session.once("close", () => {
      cancelTimer(late);
      this.#forget(url, session);
      if (!isReached && !this.#closed) this.#unreached(url);
    });
    startPinging(session, this.#rules, { onPong() {}, onTimeout: () => session.destroy() });
  }

  #forget(url: string, session: ClientHttp2Session): void {
    if (this.#sessions.get(url) === session) this.#sessions.delete(url);
  }
}
