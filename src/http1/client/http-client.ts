import type {
  Transport,
  UpstreamBody,
  UpstreamCall,
  UpstreamFailure,
  UpstreamRequest,
  UpstreamResponseHandler,
} from "../../io/upstream/transport.ts";
import type { DialTarget } from "./client-connection.ts";
import { errorCodeOf, HttpExchange } from "./http-exchange.ts";
import { IdleWatchdog } from "./idle-watchdog.ts";
import { OriginPool } from "./origin-pool.ts";
import { serializeRequestHead } from "./request-head.ts";

export type HttpClientLimits = {
  readonly connections: number;
  readonly connectTimeoutMs: number;
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
};

const HEADER_BYTES_MAX = 64 * 1024;

/** The one place that opens connections to providers. Redirects are never followed, answers never decompressed. */
export function createHttpClient(limits: HttpClientLimits): Transport {
  const { connectTimeoutMs, firstByteTimeoutMs, idleTimeoutMs } = limits;
  const silence = new IdleWatchdog(Math.min(connectTimeoutMs, firstByteTimeoutMs, idleTimeoutMs));
  const originLimits = { ...limits, headBytesMax: HEADER_BYTES_MAX };
  const open = (url: URL) => new OriginPool(dialTargetOf(url), originLimits, silence);
  const platform = new OriginPools(open);
  const owned = new Map<string, OriginPools>();
  const ending = new Set<OriginPools>();
  let door: "open" | "closed" = "open";
  const originsOf = (owner: string | undefined): OriginPools => {
    if (owner === undefined) return platform;
    const known = owned.get(owner);
    if (known !== undefined) return known;
    const origins = new OriginPools(open);
    owned.set(owner, origins);
    return origins;
  };
  return {
    send(request, listener) {
      // A request that was cut would else be asked of the next provider, by a gateway that is no longer there to hear.
      if (door === "closed") return failUnsent(listener, { kind: "stopped", sent: false, why: "not sent" });
      return sendOnPool(originsOf(request.owner).targetOf(request.url), request, listener);
    },
    release(owner) {
      const origins = owned.get(owner);
      if (origins === undefined) return;
      owned.delete(owner);
      origins.end();
      ending.add(origins);
      for (const one of ending) if (one.isOver) ending.delete(one);
    },
    async close() {
      door = "closed";
      for (const origins of [platform, ...owned.values(), ...ending]) origins.cut();
    },
  };
}

/** One for each address; they come from the catalogue and the operator's settings, so there are few. */
class OriginPools {
  readonly #open: (url: URL) => OriginPool;
  readonly #origins = new Map<string, OriginPool>();
  readonly #targets = new Map<string, RequestTarget>();

  constructor(open: (url: URL) => OriginPool) {
    this.#open = open;
  }

  targetOf(text: string): RequestTarget {
    const known = this.#targets.get(text);
    if (known !== undefined) return known;
    const url = new URL(text);
    const origin = this.#origins.get(url.origin) ?? this.#open(url);
    this.#origins.set(url.origin, origin);
    const target = { origin, host: url.host, path: `${url.pathname}${url.search}` };
    this.#targets.set(text, target);
    return target;
  }

  get isOver(): boolean {
    return [...this.#origins.values()].every((origin) => origin.isEmpty);
  }

  /** Lets what runs finish. */
  end(): void {
    for (const origin of this.#origins.values()) origin.drain();
  }

  cut(): void {
    for (const origin of this.#origins.values()) origin.abort();
  }
}

type RequestTarget = { readonly pool: OriginPool; readonly host: string; readonly path: string };

/** Where a connection to an address leads. */
export function dialTargetOf({ protocol, hostname, port }: URL): DialTarget {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  if (protocol === "https:") return { protocol, host, port: port === "" ? 443 : Number(port) };
  return { protocol: "http:", host, port: port === "" ? 80 : Number(port) };
}

/** One request on connections that are the caller's to open and to end. */
export function sendOnPool(
  target: RequestTarget,
  request: UpstreamRequest,
  listener: UpstreamResponseHandler,
): UpstreamCall {
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
    const call = new HttpExchange(head, body, listener);
    pool.send(call);
    return call;
  } catch (error) {
    return failUnsent(listener, { kind: "connect", sent: false, why: errorCodeOf(error) });
  }
}

function byteLengthOf(body: UpstreamBody): number {
  return typeof body === "string" ? Buffer.byteLength(body) : body.bytes;
}

function failUnsent(listener: UpstreamResponseHandler, failure: UpstreamFailure): UpstreamCall {
  // Not at once: who sends holds the call before it hears of it.
  queueMicrotask(() => listener.onFailure(failure));
  return { abort() {}, resume() {} };
}
