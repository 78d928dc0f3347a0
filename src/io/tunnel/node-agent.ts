import type { IncomingMessage } from "node:http";
import http2, { type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { createWebSocketStream, WebSocket } from "ws";
import { z } from "zod";
import type { NodeSurface } from "../../domain/tenancy/node.ts";
import { exponentialBackoffMs } from "../../kit/backoff.ts";
import { tryParseJson } from "../../kit/json.ts";
import { cancelTimer, type Timer, type Timers } from "../../kit/timers.ts";
import { ConnectProxyAgent, proxyFor } from "./connect-proxy.ts";
import { errorCodeOf, type LocalServer, listLocalModels } from "./local-server.ts";
import {
  type Announcement,
  CLOSE_CODES,
  type NodeModel,
  PROTOCOL_VERSION,
  SUBPROTOCOL,
  TUNNEL_PATH,
} from "./protocol.ts";
import { type NodeServingContext, serveStream } from "./serve-stream.ts";
import { SurfaceProbe } from "./surface-probe.ts";

export type AgentOptions = {
  readonly gateway: URL;
  readonly token: string;
  readonly local: LocalServer;
  readonly capacity: number;
  /** Models to announce; empty: all that the server has. */
  readonly chosen: readonly string[];
  /** Surfaces that replace the ones found by probing, by model id. */
  readonly surfaces: Readonly<Record<string, readonly NodeSurface[]>>;
  readonly version: string;
  /** How long running requests may take to finish after a stop signal. */
  readonly finishMs: number;
  /** For HTTP_PROXY, HTTPS_PROXY and NO_PROXY. */
  readonly env: NodeJS.ProcessEnv;
  readonly timers: Timers;
  readonly monotonicMs: () => number;
  /** In [0, 1). */
  readonly random: () => number;
  report(status: AgentStatus): void;
};

/** What the status line shows. */
export type AgentStatus = {
  readonly state: "connecting" | "connected" | "waiting" | "finishing" | "over";
  readonly models: number;
  readonly inFlight: number;
  readonly served: number;
  readonly problem: string | null;
  /** While waiting: time until the next connection attempt. */
  readonly retryInMs: number | null;
};

const HANDSHAKE_TIMEOUT_MS = 15_000;
const BACKOFF_INITIAL_MS = 500;
const BACKOFF_MAX_MS = 30_000;
/** The gateway pings far more often: after this long without a ping the connection is dead. */
const IDLE_TIMEOUT_MS = 60_000;
const CLOSE_GRACE_MS = 500;
const MODELS_REFRESH_MS = 15_000;
/** The backoff limit while an older connection still serves: it closes soon and needs a replacement. */
const BACKOFF_RECONNECT_MAX_MS = 4_000;
const PROPAGATION_MS = 1_000;

/** Why a connection ended or is to be replaced; `final`: a retry is of no use. */
type ConnectionEnd = { readonly why: string; readonly final: boolean; readonly wasOpen: boolean };

/** Connects to the gateway and serves the requests that arrive through that connection; reconnects until it is stopped. */
export class NodeAgent {
  readonly #options: AgentOptions;
  readonly #inFlight = new Set<ServerHttp2Stream>();
  readonly #probe: SurfaceProbe;
  #models: readonly NodeModel[] = [];
  #server = "";
  #served = 0;
  /** Problems of the gateway connection and of the local server. */
  #problem: string | null = null;
  #localProblem: string | null = null;
  #state: AgentStatus["state"] = "connecting";
  #againInMs: number | null = null;
  #refreshTimer: Timer | undefined;
  /** Connections to be closed once their replacement is announced, with the function that closes each. */
  readonly #olderConnections = new Map<WebSocket, () => void>();

  constructor(options: AgentOptions) {
    this.#options = options;
    const { local, surfaces, monotonicMs } = options;
    this.#probe = new SurfaceProbe({ local, chosen: surfaces, monotonicMs });
  }

  /** Resolves when stopped, or with the reason why a retry is of no use. */
  async run(signal: AbortSignal): Promise<string | undefined> {
    await this.#refreshModels();
    for (let failures = 0; !signal.aborted; ) {
      this.#report("connecting", null);
      const end = await this.#connectOnce(signal);
      if (signal.aborted) break;
      this.#problem = end.why;
      if (end.final) {
        this.#report("over", null);
        await this.#closeOlder();
        cancelTimer(this.#refreshTimer);
        return end.why;
      }
      failures = end.wasOpen ? 0 : failures + 1;
      const waitMs = this.#backoffMs(failures);
      this.#report("waiting", waitMs);
      await this.#sleep(waitMs, signal);
    }
    await this.#closeOlder();
    cancelTimer(this.#refreshTimer);
    return undefined;
  }

  /** Waits until all instances of the gateway know the new connection. */
  #scheduleCloseOlder(): void {
    if (this.#olderConnections.size > 0) this.#options.timers.after(PROPAGATION_MS, () => void this.#closeOlder());
  }

  /** Resolves when the requests on older connections are finished and the connections closed. */
  async #closeOlder(): Promise<void> {
    await Promise.all(
      [...this.#olderConnections].map(([ws, closeConnection]) => {
        closeConnection();
        return ws.readyState === WebSocket.CLOSED ? undefined : new Promise((resolve) => ws.once("close", resolve));
      }),
    );
  }

  /** Exponential backoff with jitter. */
  #backoffMs(failures: number): number {
    const longest = this.#olderConnections.size > 0 ? BACKOFF_RECONNECT_MAX_MS : BACKOFF_MAX_MS;
    const backoffMs = exponentialBackoffMs(failures, BACKOFF_INITIAL_MS, longest);
    return Math.round(backoffMs * (0.5 + this.#options.random() / 2));
  }

  #sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#options.timers.after(ms, done);
      function done() {
        cancelTimer(timer);
        signal.removeEventListener("abort", done);
        resolve();
      }
      signal.addEventListener("abort", done);
    });
  }

  #connectOnce(signal: AbortSignal): Promise<ConnectionEnd> {
    const { gateway, token, env } = this.#options;
    const url = new URL(TUNNEL_PATH, gateway);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    return new Promise((resolve) => {
      let wasOpen = false;
      let rejection: ConnectionEnd | undefined;
      const ws = new WebSocket(url, SUBPROTOCOL, {
        headers: { authorization: `Bearer ${token}` },
        perMessageDeflate: false,
        handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
        ...proxyOptions(url, env),
      });
      let closeConnection = () => ws.terminate();
      const onAbort = () => closeConnection();
      signal.addEventListener("abort", onAbort);
      ws.once("unexpected-response", (_request, response) => {
        readRejection(response, (message) => {
          rejection = rejectionOf(response.statusCode ?? 0, message);
          ws.terminate();
        });
      });
      ws.once("open", () => {
        wasOpen = true;
        this.#problem = null;
        const session = this.#serve(ws, () => {
          this.#olderConnections.set(ws, onAbort);
          resolve({ why: "the gateway requested a new connection", final: false, wasOpen });
        });
        closeConnection = () => this.#closeGracefully(ws, session);
        this.#report("connected", null);
      });
      ws.once("error", (error) => {
        rejection ??= { why: `the gateway is unreachable (${errorCodeOf(error)})`, final: false, wasOpen };
      });
      ws.once("close", (code, reason) => {
        signal.removeEventListener("abort", onAbort);
        this.#olderConnections.delete(ws);
        const why = reason.toString() || "the connection to the gateway was lost";
        resolve(rejection ?? { why, final: FINAL_CLOSE_CODES.includes(code), wasOpen });
      });
    });
  }

  /** Accepts no new requests, finishes the running ones, then closes. */
  #closeGracefully(ws: WebSocket, session: ServerHttp2Session): void {
    const { timers, finishMs } = this.#options;
    const close = () => {
      ws.close(1000, "the node is stopping");
      // A dead peer does not complete the closing handshake.
      timers.after(CLOSE_GRACE_MS, () => ws.terminate());
    };
    if (![...this.#inFlight].some((stream) => stream.session === session)) {
      close();
      return;
    }
    if (!this.#olderConnections.has(ws)) this.#report("finishing", null);
    const latest = timers.after(finishMs, close);
    ws.once("close", () => cancelTimer(latest));
    session.once("close", close);
    // Sends GOAWAY: the gateway opens no new streams, open ones continue.
    session.close();
  }

  #serve(ws: WebSocket, reconnect: () => void): ServerHttp2Session {
    const carrier = createWebSocketStream(ws);
    carrier.on("error", () => ws.terminate());
    const session: ServerHttp2Session = http2.performServerHandshake(carrier);
    const { local, capacity, timers } = this.#options;
    let isAnnounced = false;
    const context: NodeServingContext = {
      local,
      capacity,
      inFlight: this.#inFlight,
      announcement: () => {
        if (!isAnnounced) this.#scheduleCloseOlder();
        isAnnounced = true;
        return this.#announcement();
      },
      onDone: () => {
        this.#served += 1;
        this.#report(this.#state, this.#againInMs);
      },
      reconnect,
    };
    const idleTimer = timers.after(IDLE_TIMEOUT_MS, () => ws.terminate());
    session.on("ping", () => idleTimer.refresh());
    session.on("error", () => ws.terminate());
    session.on("stream", (stream, headers) => serveStream(context, stream, headers));
    ws.once("close", () => {
      cancelTimer(idleTimer);
      session.destroy();
    });
    return session;
  }

  #announcement(): Announcement {
    const { version, capacity } = this.#options;
    return { protocol: PROTOCOL_VERSION, agent: version, server: this.#server, capacity, models: [...this.#models] };
  }

  /** Reads the model list of the local server now and periodically, because models come and go. */
  async #refreshModels(): Promise<void> {
    const { local, chosen, timers } = this.#options;
    const models = await listLocalModels(local, chosen, this.#probe);
    if ("problem" in models) {
      this.#models = [];
      this.#localProblem = models.problem;
    } else {
      this.#models = models.models;
      this.#server = models.server;
      this.#localProblem = models.leftOut;
    }
    this.#report(this.#state, this.#againInMs);
    this.#refreshTimer = timers.after(MODELS_REFRESH_MS, () => void this.#refreshModels());
  }

  #report(state: AgentStatus["state"], retryInMs: number | null): void {
    this.#state = state;
    this.#againInMs = retryInMs;
    this.#options.report({
      state,
      retryInMs,
      models: this.#models.length,
      inFlight: this.#inFlight.size,
      served: this.#served,
      problem: this.#problem ?? this.#localProblem,
    });
  }
}

const FINAL_CLOSE_CODES: readonly number[] = [CLOSE_CODES.removed, CLOSE_CODES.replaced, CLOSE_CODES.unreadable];

function proxyOptions(url: URL, env: NodeJS.ProcessEnv) {
  const proxy = proxyFor(url, env);
  return proxy === undefined ? {} : { agent: new ConnectProxyAgent(proxy, url) };
}

const REJECTION_CHARS_MAX = 8_192;

function readRejection(response: IncomingMessage, then: (message: string | undefined) => void): void {
  let text = "";
  response.setEncoding("utf8");
  response.on("data", (chunk: string) => {
    if (text.length < REJECTION_CHARS_MAX) text += chunk;
  });
  response.once("error", () => {});
  response.once("close", () => then(messageIn(text)));
}

const RejectionBody = z.object({ error: z.object({ message: z.string().max(1000) }) });

function messageIn(text: string): string | undefined {
  return RejectionBody.safeParse(tryParseJson(text)).data?.error.message.replace(/\p{Cc}/gu, " ");
}

/** Statuses after which a retry with the same options is of no use. */
const REJECTIONS: ReadonlyMap<number, string> = new Map([
  [401, "the gateway rejected the token: create a new one with `gateway node rotate`"],
  [403, "the gateway rejected this node"],
  [404, "there is no gateway with nodes at this URL"],
  [426, "the gateway uses another protocol version: update the node or the gateway"],
]);

function rejectionOf(status: number, message: string | undefined): ConnectionEnd {
  const known = REJECTIONS.get(status);
  // A 404 body comes from another server, so its message is not shown.
  const why = (status === 404 ? undefined : message) ?? known ?? `the gateway responded with ${status}`;
  return { why, final: known !== undefined, wasOpen: false };
}
