import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import type { Dispatcher, Pool as PoolOf } from "undici";
import Pool from "undici/lib/dispatcher/pool.js";

/** How an upstream call ended before or inside its answer. */
export type UpstreamFailure = {
  /**
   * `stopped`: the gateway itself ends; `leaving`: another instance of it, on the way to a node. Nothing is to be
   * concluded of the provider from either. `busy`: a node takes no more requests, and did nothing with this one.
   */
  readonly kind: "connect" | "timeout" | "broken" | "aborted" | "stopped" | "leaving" | "busy";
  /** Whether any byte of the request may have reached the provider. */
  readonly sent: boolean;
  /** For the log: names the fault, never content. */
  readonly why: string;
};

/** Takes the body of an answer piece by piece. Returning "pause" holds the provider back until `resume`. */
export type BodyReader = {
  data(chunk: Buffer): "more" | "pause";
  end(): void;
  failed(failure: UpstreamFailure): void;
};

/** A body that is too large to be held: opened anew for every attempt. */
export type Upload = { readonly bytes: number; open(): Readable };

export type UpstreamBody = string | Upload;

export type UpstreamRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: UpstreamBody;
  readonly method?: "GET" | "POST";
  /** Whose credential it carries, where that is not the operator's: connections are not shared between owners. */
  readonly owner?: string | undefined;
};

export type UpstreamListener = {
  /** Chooses the reader by status and headers; nothing of the body is lost. */
  answered(status: number, headers: IncomingHttpHeaders): BodyReader;
  /** No answer began. */
  failed(failure: UpstreamFailure): void;
};

export type UpstreamCall = { abort(): void; resume(): void };

export type Transport = {
  send(request: UpstreamRequest, listener: UpstreamListener): UpstreamCall;
  /** An owner's credentials changed: its connections end with what runs on them, and new ones are made when needed. */
  release(owner: string): void;
  close(): Promise<void>;
};

export type TransportLimits = {
  readonly connections: number;
  readonly connectTimeoutMs: number;
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
};

const HEADER_BYTES_MAX = 64 * 1024;

/** The one place that opens connections to providers. Redirects are never followed, answers never decompressed. */
export function httpTransport(limits: TransportLimits): Transport {
  const options: PoolOf.Options = {
    connections: limits.connections,
    pipelining: 1,
    headersTimeout: limits.firstByteTimeoutMs,
    bodyTimeout: limits.idleTimeoutMs,
    maxHeaderSize: HEADER_BYTES_MAX,
    keepAliveTimeout: 30_000,
    connect: { timeout: limits.connectTimeoutMs },
  };
  const platform = new Pools(options);
  const owned = new Map<string, Pools>();
  const ending = new Set<Pools>();
  let door: "open" | "closed" = "open";
  const poolsOf = (owner: string | undefined): Pools => {
    if (owner === undefined) return platform;
    const known = owned.get(owner);
    if (known !== undefined) return known;
    const pools = new Pools(options);
    owned.set(owner, pools);
    return pools;
  };
  return {
    send(request, listener) {
      // A request that was cut would else be asked of the next provider, by a gateway that is no longer there to hear.
      if (door === "closed") return unsent(listener);
      return new HttpCall(poolsOf(request.owner).targetOf(request.url), request, listener);
    },
    release(owner) {
      const pools = owned.get(owner);
      if (pools === undefined) return;
      owned.delete(owner);
      ending.add(pools);
      void pools.end().finally(() => ending.delete(pools));
    },
    async close() {
      door = "closed";
      await Promise.all([platform, ...owned.values(), ...ending].map((pools) => pools.cut()));
    },
  };
}

/** One pool per origin; origins come from the catalogue and the operator's settings, so there are few. */
class Pools {
  readonly #options: PoolOf.Options;
  readonly #pools = new Map<string, PoolOf>();
  readonly #targets = new Map<string, Target>();

  constructor(options: PoolOf.Options) {
    this.#options = options;
  }

  targetOf(url: string): Target {
    const known = this.#targets.get(url);
    if (known !== undefined) return known;
    const { origin, pathname, search } = new URL(url);
    const pool = this.#pools.get(origin) ?? new Pool(origin, this.#options);
    this.#pools.set(origin, pool);
    const target = { pool, origin, path: `${pathname}${search}` };
    this.#targets.set(url, target);
    return target;
  }

  /** Lets what runs finish. */
  async end(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.close().catch(() => undefined)));
  }

  async cut(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy(STOPPED)));
  }
}

const ABORTED = new Error("aborted by the gateway");
const STOPPED = new Error("the gateway stops");

function unsent(listener: UpstreamListener): UpstreamCall {
  // Not at once: who sends holds the call before it hears of it.
  queueMicrotask(() => listener.failed({ kind: "stopped", sent: false, why: "not sent" }));
  return { abort() {}, resume() {} };
}

type Target = { readonly pool: Pick<Dispatcher, "dispatch">; readonly origin: string; readonly path: string };

/** One request on connections that are the caller's to open and to end. */
export function callOn(pool: Target["pool"], request: UpstreamRequest, listener: UpstreamListener): UpstreamCall {
  const { origin, pathname, search } = new URL(request.url);
  return new HttpCall({ pool, origin, path: `${pathname}${search}` }, request, listener);
}

class HttpCall implements UpstreamCall, Dispatcher.DispatchHandler {
  readonly #listener: UpstreamListener;
  #reader: BodyReader | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #sent = false;
  #over = false;
  #aborted = false;

  constructor(
    { pool, origin, path }: Target,
    { method = "POST", headers, body }: UpstreamRequest,
    listener: UpstreamListener,
  ) {
    this.#listener = listener;
    try {
      pool.dispatch({ origin, path, method, headers, body: method === "GET" ? null : opened(body) }, this);
    } catch (error) {
      this.#fail("connect", error);
    }
  }

  /** Heard at once, also by a call that still waits for a connection: nobody waits for its turn to end it. */
  abort(): void {
    this.#aborted = true;
    if (this.#controller === undefined) this.#fail("aborted", ABORTED);
    else this.#controller.abort(ABORTED);
  }

  resume(): void {
    this.#controller?.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#aborted) {
      controller.abort(ABORTED);
      return;
    }
    this.#sent = true;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#reader = this.#listener.answered(status, headers);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over || this.#reader === undefined) return;
    if (this.#reader.data(chunk) === "pause") controller.pause();
  }

  onResponseEnd(): void {
    if (this.#over) return;
    this.#over = true;
    try {
      this.#reader?.end();
    } catch (error) {
      // A reader that chokes on an answer has not said how it ended: its request must not wait for ever.
      this.#reader?.failed({ kind: "broken", sent: true, why: whyOf(error) });
    }
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(kindOf(error, this.#sent, this.#aborted), error);
  }

  #fail(kind: UpstreamFailure["kind"], error: unknown): void {
    if (this.#over) return;
    this.#over = true;
    const failure: UpstreamFailure = { kind, sent: this.#sent, why: whyOf(error) };
    if (this.#reader === undefined) this.#listener.failed(failure);
    else this.#reader.failed(failure);
  }
}

function opened(body: UpstreamBody): string | Readable {
  return typeof body === "string" ? body : body.open();
}

function kindOf(error: Error, sent: boolean, aborted: boolean): UpstreamFailure["kind"] {
  if (aborted) return "aborted";
  if (error === STOPPED) return "stopped";
  const code = codeOf(error);
  if (code === "UND_ERR_HEADERS_TIMEOUT" || code === "UND_ERR_BODY_TIMEOUT" || code === "UND_ERR_CONNECT_TIMEOUT")
    return "timeout";
  return sent ? "broken" : "connect";
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** Codes and class names only: messages of the network stack can carry addresses and headers. */
function whyOf(error: unknown): string {
  return codeOf(error) ?? (error instanceof Error ? error.name : "unknown fault");
}
