import { INVALID_HEADER_VALUE_CHAR, parseHeaderName } from "../../kit/header-name.ts";
import { ClientConnection, type ConnectionOwner, type ExchangeOwner, HttpExchange } from "./client-connection.ts";
import type {
  ConnectionSharing,
  HttpBody,
  HttpClient,
  HttpClientLimits,
  HttpRequest,
  NewPool,
  OriginPoolLimits,
  OriginPoolsOptions,
  RequestFailure,
  RequestHandle,
  RequestHeadFields,
  RequestTarget,
  ResponseHandler,
  SerializedHead,
} from "./contract.ts";
import { type DialTarget, dialTargetOf } from "./dial.ts";
import { CLIENT_CLOSED, errorCodeOf, HttpFault } from "./http-fault.ts";
import { IdleWatchdog } from "./idle-watchdog.ts";
import { SHARED, WorkspacePools } from "./workspace-pools.ts";

const HEADER_BYTES_MAX = 64 * 1024;

/**
 * An HTTP/1.1 client with one pool per origin and owner, and where `sharing` demands it, per workspace. It follows no redirects
 * and decompresses nothing.
 */
export function createHttpClient(limits: HttpClientLimits, sharing: ConnectionSharing = SHARED): HttpClient {
  const { connectTimeoutMs, firstByteTimeoutMs, idleTimeoutMs } = limits;
  const watchdog = new IdleWatchdog(Math.min(connectTimeoutMs, firstByteTimeoutMs, idleTimeoutMs));
  const poolLimits = { ...limits, headBytesMax: HEADER_BYTES_MAX };
  const onUnsolicitedBytes = (origin: string, pool: NewPool["use"]) => {
    const isIsolated = platform.has(origin);
    if (isIsolated) platform.isolate(origin);
    sharing.onUnsolicitedBytes({ origin, pool, isIsolated });
  };
  const openPool = ({ url, use }: NewPool) =>
    new OriginPool(dialTargetOf(url), poolLimits, watchdog, () => onUnsolicitedBytes(url.origin, use));
  const platform = new OriginPools(openPool, { ...sharing, use: "shared" });
  const byOwner = new Map<string, OriginPools>();
  const draining = new Set<OriginPools>();
  let isClosed = false;
  const poolsOf = (owner: string | undefined): OriginPools => {
    if (owner === undefined) return platform;
    const known = byOwner.get(owner);
    if (known !== undefined) return known;
    const pools = new OriginPools(openPool, { ...SHARED, use: "own_key" });
    byOwner.set(owner, pools);
    return pools;
  };
  return {
    send(request, handler) {
      // "stopped" prevents a retry at another provider by a process that is exiting.
      if (isClosed) return failUnsent(handler, { kind: "stopped", sent: false, why: "not sent" });
      const { owner, workspace, url } = request;
      const target = poolsOf(owner).targetOf(url);
      const { common, workspaces } = target.origin;
      const isCommon = workspaces === undefined || workspace === undefined;
      return sendOnPool(isCommon ? common : workspaces.poolOf(workspace), target, request, handler);
    },
    release(owner) {
      const pools = byOwner.get(owner);
      if (pools === undefined) return;
      byOwner.delete(owner);
      pools.drain();
      draining.add(pools);
      for (const drained of draining) if (drained.isEmpty) draining.delete(drained);
    },
    isolate: (origin) => platform.isolate(origin),
    async close() {
      isClosed = true;
      for (const pools of [platform, ...byOwner.values(), ...draining]) pools.abort();
    },
  };
}

/** `workspaces`: the origin is isolated; `common` carries only requests without a workspace then. */
type Origin = { readonly url: URL; common: OriginPool; workspaces: WorkspacePools<OriginPool> | undefined };
type OriginTarget = RequestTarget & { readonly origin: Origin };

/** The pools of all origins. Origins and URLs come from the catalogue and the operator's settings, so there are few. */
class OriginPools {
  readonly #openPool: (pool: NewPool) => OriginPool;
  readonly #options: OriginPoolsOptions;
  readonly #origins = new Map<string, Origin>();
  readonly #targets = new Map<string, OriginTarget>();
  readonly #isolated = new Set<string>();

  constructor(openPool: (pool: NewPool) => OriginPool, options: OriginPoolsOptions) {
    this.#openPool = openPool;
    this.#options = options;
  }

  targetOf(text: string): OriginTarget {
    const known = this.#targets.get(text);
    if (known !== undefined) return known;
    const url = new URL(text);
    const origin = this.#origins.get(url.origin) ?? this.#openOrigin(url);
    const target = { origin, host: url.host, path: `${url.pathname}${url.search}` };
    this.#targets.set(text, target);
    return target;
  }

  #openOrigin(url: URL): Origin {
    const { use, isolation } = this.#options;
    const origin: Origin = { url, common: this.#openPool({ url, use }), workspaces: undefined };
    this.#origins.set(url.origin, origin);
    if (isolation === "workspace" || this.#isolated.has(url.origin)) this.isolate(url.origin);
    return origin;
  }

  has(origin: string): boolean {
    return this.#origins.has(origin);
  }

  isolate(name: string): void {
    this.#isolated.add(name);
    const origin = this.#origins.get(name);
    if (origin === undefined || origin.workspaces !== undefined) return;
    const { url, common } = origin;
    const open = (use: NewPool["use"]) => this.#openPool({ url, use });
    origin.workspaces = new WorkspacePools(() => open("workspace"), this.#options.workspacePoolsMax, common);
    origin.common = open("shared");
  }

  get #pools() {
    return [...this.#origins.values()].flatMap(({ common, workspaces }) => [
      common,
      ...(workspaces ? [workspaces] : []),
    ]);
  }

  get isEmpty(): boolean {
    return this.#pools.every((pool) => pool.isEmpty);
  }

  drain(): void {
    for (const pool of this.#pools) pool.drain();
  }

  abort(): void {
    for (const pool of this.#pools) pool.abort();
  }
}

/** Sends one request on a pool that the caller opens and closes. */
export function sendOnPool(
  pool: OriginPool,
  { host, path }: RequestTarget,
  request: HttpRequest,
  handler: ResponseHandler,
): RequestHandle {
  const { method = "POST", headers, timeouts } = request;
  const body = method === "GET" ? undefined : request.body;
  try {
    const head = serializeRequestHead({
      method,
      path,
      host,
      headers,
      bodyBytes: body === undefined ? undefined : byteLengthOf(body),
    });
    const exchange = new HttpExchange(head, body, handler, timeouts);
    pool.send(exchange);
    return exchange;
  } catch (error) {
    return failUnsent(handler, { kind: "connect", sent: false, why: errorCodeOf(error) });
  }
}

function byteLengthOf(body: HttpBody): number {
  return typeof body === "string" ? Buffer.byteLength(body) : body.bytes;
}

function failUnsent(handler: ResponseHandler, failure: RequestFailure): RequestHandle {
  // Deferred, so that the sender has the handle before its handler is called.
  queueMicrotask(() => handler.onFailure(failure));
  return { abort() {}, resume() {} };
}

const NOT_ASCII = /[^\t\x20-\x7e]/;

/** Headers that only the connection may set: they decide where a message ends. */
const CONNECTION_OWNED_HEADERS: ReadonlySet<string> = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "expect",
  "upgrade",
  "keep-alive",
]);

/** Throws on a header that could be parsed as more than one header, or as the start of another request. */
export function serializeRequestHead({ method, path, host, headers, bodyBytes }: RequestHeadFields): SerializedHead {
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`;
  let isAscii = true;
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined) continue;
    const lowerName = parseHeaderName(name);
    if (lowerName === undefined || CONNECTION_OWNED_HEADERS.has(lowerName)) throw new HttpFault("HTTP_BAD_HEADER");
    if (NOT_ASCII.test(value)) {
      if (INVALID_HEADER_VALUE_CHAR.test(value)) throw new HttpFault("HTTP_BAD_HEADER");
      isAscii = false;
    }
    text += `${name}: ${value}\r\n`;
  }
  return { text: bodyBytes === undefined ? `${text}\r\n` : `${text}content-length: ${bodyBytes}\r\n\r\n`, isAscii };
}

/**
 * The connections to one origin, and the exchanges queued for one.
 *
 * A used connection cools down for one event-loop tick, in which all pending bytes are read, before it is used again:
 * a server may close it right after its response or send unsolicited bytes, and neither may affect the next exchange.
 */
export class OriginPool implements ConnectionOwner, ExchangeOwner {
  readonly dialTarget: DialTarget;
  readonly limits: OriginPoolLimits;
  readonly watchdog: IdleWatchdog;
  tlsSession: Buffer | undefined;
  readonly #connections = new Set<ClientConnection>();
  /** Last in, first out: connections that the load does not need become idle long enough to be closed. */
  readonly #idle: ClientConnection[] = [];
  /** Connections whose response completed in this tick. */
  readonly #cooling: ClientConnection[] = [];
  readonly #queue: HttpExchange[] = [];
  readonly #reportUnsolicited: () => void;
  #isReuseScheduled = false;
  #stage: "open" | "draining" | "retired" | "aborted" = "open";

  constructor(
    dialTarget: DialTarget,
    limits: OriginPoolLimits,
    watchdog: IdleWatchdog,
    onUnsolicitedBytes: () => void = () => undefined,
  ) {
    this.#reportUnsolicited = onUnsolicitedBytes;
    this.dialTarget = dialTarget;
    this.limits = limits;
    this.watchdog = watchdog;
  }

  send(exchange: HttpExchange): void {
    exchange.assignTo(this);
    this.#queue.push(exchange);
    this.#dispatch();
  }

  /** Opens connections for exchanges that no idle or cooling connection will take, up to the limit. */
  #dispatch(): void {
    const free = this.#idle.length + this.#cooling.length;
    while (this.#queue.length > free && this.#connections.size < this.limits.connections) {
      const exchange = this.#queue.shift();
      if (exchange !== undefined) this.#connections.add(new ClientConnection(this, exchange));
    }
    if (free > 0 && this.#queue.length > 0) this.#scheduleReuse();
  }

  #scheduleReuse(): void {
    if (this.#isReuseScheduled) return;
    this.#isReuseScheduled = true;
    setImmediate(reuseIdleOf, this);
  }

  reuseIdle(): void {
    this.#isReuseScheduled = false;
    while (this.#queue.length > 0 && this.#idle.length > 0) {
      const exchange = this.#queue.shift();
      if (exchange !== undefined) this.#idle.pop()?.start(exchange);
    }
    for (const connection of this.#cooling) this.#idle.push(connection);
    this.#cooling.length = 0;
    if (this.#queue.length > 0) this.#dispatch();
    else if (this.#stage === "draining") this.#closeIdle();
  }

  onIdle(connection: ClientConnection): void {
    if (this.#stage === "retired") connection.abort(CLIENT_CLOSED);
    else {
      this.#cooling.push(connection);
      this.#scheduleReuse();
    }
  }

  onUnsolicitedBytes(): void {
    this.#reportUnsolicited();
  }

  onClosed(connection: ClientConnection): void {
    this.#connections.delete(connection);
    removeFrom(this.#idle, connection);
    removeFrom(this.#cooling, connection);
    if (this.#stage !== "aborted") this.#dispatch();
  }

  drop(exchange: HttpExchange): void {
    removeFrom(this.#queue, exchange);
  }

  /** A queued exchange has nothing to resume. */
  resume(): void {}

  get isEmpty(): boolean {
    return this.#connections.size === 0;
  }

  /** Lets running and queued exchanges finish, then closes the connections. */
  drain(): void {
    this.#stage = "draining";
    if (this.#queue.length === 0) this.#closeIdle();
  }

  #closeIdle(): void {
    for (const connection of this.#idle.splice(0)) connection.abort(CLIENT_CLOSED);
  }

  /** No connection is used again, because its server may be about to send unsolicited bytes: a queued exchange gets a new one. */
  retire(): void {
    this.#stage = "retired";
    const unused = [...this.#idle.splice(0), ...this.#cooling.splice(0)];
    for (const connection of unused) connection.abort(CLIENT_CLOSED);
  }

  abort(): void {
    this.#stage = "aborted";
    const queued = this.#queue.splice(0);
    for (const connection of [...this.#connections]) connection.abort(CLIENT_CLOSED);
    for (const exchange of queued) exchange.onFailure(CLIENT_CLOSED);
  }
}

/** A function of its own, so that scheduling allocates no closure. */
function reuseIdleOf(pool: OriginPool): void {
  pool.reuseIdle();
}

function removeFrom<T>(list: T[], item: T): void {
  const index = list.indexOf(item);
  if (index >= 0) list.splice(index, 1);
}
