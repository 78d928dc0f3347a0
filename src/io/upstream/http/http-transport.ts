import type {
  Transport,
  UpstreamBody,
  UpstreamCall,
  UpstreamFailure,
  UpstreamListener,
  UpstreamRequest,
} from "../transport.ts";
import { HttpCall, whyOf } from "./call.ts";
import type { Dialling } from "./connection.ts";
import { Origin } from "./origin.ts";
import { requestHead } from "./request-head.ts";
import { Silence } from "./silence.ts";

export type TransportLimits = {
  readonly connections: number;
  readonly connectTimeoutMs: number;
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
};

const HEADER_BYTES_MAX = 64 * 1024;

/** The one place that opens connections to providers. Redirects are never followed, answers never decompressed. */
export function httpTransport(limits: TransportLimits): Transport {
  const { connectTimeoutMs, firstByteTimeoutMs, idleTimeoutMs } = limits;
  const silence = new Silence(Math.min(connectTimeoutMs, firstByteTimeoutMs, idleTimeoutMs));
  const originLimits = { ...limits, headBytesMax: HEADER_BYTES_MAX };
  const open = (url: URL) => new Origin(diallingOf(url), originLimits, silence);
  const platform = new Origins(open);
  const owned = new Map<string, Origins>();
  const ending = new Set<Origins>();
  let door: "open" | "closed" = "open";
  const originsOf = (owner: string | undefined): Origins => {
    if (owner === undefined) return platform;
    const known = owned.get(owner);
    if (known !== undefined) return known;
    const origins = new Origins(open);
    owned.set(owner, origins);
    return origins;
  };
  return {
    send(request, listener) {
      // A request that was cut would else be asked of the next provider, by a gateway that is no longer there to hear.
      if (door === "closed") return unsent(listener, { kind: "stopped", sent: false, why: "not sent" });
      return callOn(originsOf(request.owner).targetOf(request.url), request, listener);
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
class Origins {
  readonly #open: (url: URL) => Origin;
  readonly #origins = new Map<string, Origin>();
  readonly #targets = new Map<string, Target>();

  constructor(open: (url: URL) => Origin) {
    this.#open = open;
  }

  targetOf(text: string): Target {
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
    return [...this.#origins.values()].every((origin) => origin.isOver);
  }

  /** Lets what runs finish. */
  end(): void {
    for (const origin of this.#origins.values()) origin.end();
  }

  cut(): void {
    for (const origin of this.#origins.values()) origin.cut();
  }
}

type Target = { readonly origin: Origin; readonly host: string; readonly path: string };

/** Where a connection to an address leads. */
export function diallingOf({ protocol, hostname, port }: URL): Dialling {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  if (protocol === "https:") return { protocol, host, port: port === "" ? 443 : Number(port) };
  return { protocol: "http:", host, port: port === "" ? 80 : Number(port) };
}

/** One request on connections that are the caller's to open and to end. */
export function callOn(target: Target, request: UpstreamRequest, listener: UpstreamListener): UpstreamCall {
  const { method = "POST", headers } = request;
  const { origin, host, path } = target;
  const body = method === "GET" ? undefined : request.body;
  try {
    const head = requestHead({
      method,
      path,
      host,
      headers,
      bodyBytes: body === undefined ? undefined : bytesOf(body),
    });
    const call = new HttpCall(head, body, listener);
    origin.send(call);
    return call;
  } catch (error) {
    return unsent(listener, { kind: "connect", sent: false, why: whyOf(error) });
  }
}

function bytesOf(body: UpstreamBody): number {
  return typeof body === "string" ? Buffer.byteLength(body) : body.bytes;
}

function unsent(listener: UpstreamListener, failure: UpstreamFailure): UpstreamCall {
  // Not at once: who sends holds the call before it hears of it.
  queueMicrotask(() => listener.failed(failure));
  return { abort() {}, resume() {} };
}
