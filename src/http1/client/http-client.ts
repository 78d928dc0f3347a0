import type { DialTarget } from "./client-connection.ts";
import type { HttpBody, HttpClient, HttpRequest, RequestFailure, RequestHandle, ResponseHandler } from "./contract.ts";
import { errorCodeOf, HttpExchange } from "./http-exchange.ts";
import { IdleWatchdog } from "./idle-watchdog.ts";
import { OriginPool } from "./origin-pool.ts";
import { serializeRequestHead } from "./request-head.ts";

export type HttpClientLimits = {
  /** Per origin and owner. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
};

const HEADER_BYTES_MAX = 64 * 1024;

/** An HTTP/1.1 client with one pool per origin and owner. It follows no redirects and decompresses nothing. */
export function createHttpClient(limits: HttpClientLimits): HttpClient {
  const { connectTimeoutMs, firstByteTimeoutMs, idleTimeoutMs } = limits;
  const watchdog = new IdleWatchdog(Math.min(connectTimeoutMs, firstByteTimeoutMs, idleTimeoutMs));
  const poolLimits = { ...limits, headBytesMax: HEADER_BYTES_MAX };
  const openPool = (url: URL) => new OriginPool(dialTargetOf(url), poolLimits, watchdog);
  const platform = new OriginPools(openPool);
  const byOwner = new Map<string, OriginPools>();
  const draining = new Set<OriginPools>();
  let isClosed = false;
  const poolsOf = (owner: string | undefined): OriginPools => {
    if (owner === undefined) return platform;
    const known = byOwner.get(owner);
    if (known !== undefined) return known;
    const pools = new OriginPools(openPool);
    byOwner.set(owner, pools);
    return pools;
  };
  return {
    send(request, handler) {
      // "stopped" prevents a retry at another provider by a process that is exiting.
      if (isClosed) return failUnsent(handler, { kind: "stopped", sent: false, why: "not sent" });
      return sendOnPool(poolsOf(request.owner).targetOf(request.url), request, handler);
    },
    release(owner) {
      const pools = byOwner.get(owner);
      if (pools === undefined) return;
      byOwner.delete(owner);
      pools.drain();
      draining.add(pools);
      for (const drained of draining) if (drained.isEmpty) draining.delete(drained);
    },
    async close() {
      isClosed = true;
      for (const pools of [platform, ...byOwner.values(), ...draining]) pools.abort();
    },
  };
}

/** One pool per origin. Unbounded: origins and URLs come from the catalogue and the operator's settings, so there are few. */
class OriginPools {
  readonly #openPool: (url: URL) => OriginPool;
  readonly #pools = new Map<string, OriginPool>();
  readonly #targets = new Map<string, RequestTarget>();

  constructor(openPool: (url: URL) => OriginPool) {
    this.#openPool = openPool;
  }

  targetOf(text: string): RequestTarget {
    const known = this.#targets.get(text);
    if (known !== undefined) return known;
    const url = new URL(text);
    const pool = this.#pools.get(url.origin) ?? this.#openPool(url);
    this.#pools.set(url.origin, pool);
    const target = { pool, host: url.host, path: `${url.pathname}${url.search}` };
    this.#targets.set(text, target);
    return target;
  }

  get isEmpty(): boolean {
    return [...this.#pools.values()].every((pool) => pool.isEmpty);
  }

  drain(): void {
    for (const pool of this.#pools.values()) pool.drain();
  }

  abort(): void {
    for (const pool of this.#pools.values()) pool.abort();
  }
}

type RequestTarget = { readonly pool: OriginPool; readonly host: string; readonly path: string };

export function dialTargetOf({ protocol, hostname, port }: URL): DialTarget {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  if (protocol === "https:") return { protocol, host, port: port === "" ? 443 : Number(port) };
  return { protocol: "http:", host, port: port === "" ? 80 : Number(port) };
}

/** Sends one request on a pool that the caller opens and closes. */
export function sendOnPool(target: RequestTarget, request: HttpRequest, handler: ResponseHandler): RequestHandle {
  const { method = "POST", headers } = request;
  const { pool, host, path } = target;
  const body = method === "GET" ? undefined : request.body;
  try {
    const head = serializeRequestHead({
      method,
      path,
      host,
      headers,
      bodyBytes: body === undefined ? undefined : byteLengthOf(body),
    });
    const exchange = new HttpExchange(head, body, handler);
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
