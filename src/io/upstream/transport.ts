import type { IncomingHttpHeaders } from "node:http";
import { type Dispatcher, Pool } from "undici";

/** How an upstream call ended before or inside its answer. */
export type UpstreamFailure = {
  readonly kind: "connect" | "timeout" | "broken" | "aborted";
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

export type UpstreamRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
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
  const options: Pool.Options = {
    connections: limits.connections,
    pipelining: 1,
    headersTimeout: limits.firstByteTimeoutMs,
    bodyTimeout: limits.idleTimeoutMs,
    maxHeaderSize: HEADER_BYTES_MAX,
    keepAliveTimeout: 30_000,
    connect: { timeout: limits.connectTimeoutMs },
  };
  // One pool per origin; origins come from the catalogue and the operator's settings, so there are few.
  const pools = new Map<string, Pool>();
  const targets = new Map<string, Target>();
  const targetOf = (url: string): Target => {
    const known = targets.get(url);
    if (known !== undefined) return known;
    const { origin, pathname, search } = new URL(url);
    const pool = pools.get(origin) ?? new Pool(origin, options);
    pools.set(origin, pool);
    const target = { pool, origin, path: `${pathname}${search}` };
    targets.set(url, target);
    return target;
  };
  return {
    send: (request, listener) => new HttpCall(targetOf(request.url), request, listener),
    close: async () => {
      await Promise.all([...pools.values()].map((pool) => pool.destroy()));
    },
  };
}

const ABORTED = new Error("aborted by the gateway");

type Target = { readonly pool: Pool; readonly origin: string; readonly path: string };

class HttpCall implements UpstreamCall, Dispatcher.DispatchHandler {
  readonly #listener: UpstreamListener;
  #reader: BodyReader | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #sent = false;
  #over = false;
  #aborted = false;

  constructor({ pool, origin, path }: Target, { headers, body }: UpstreamRequest, listener: UpstreamListener) {
    this.#listener = listener;
    try {
      pool.dispatch({ origin, path, method: "POST", headers, body }, this);
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

function kindOf(error: Error, sent: boolean, aborted: boolean): UpstreamFailure["kind"] {
  if (aborted) return "aborted";
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
