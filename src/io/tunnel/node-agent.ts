import type { IncomingMessage } from "node:http";
import { performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { Agent as HttpsAgent } from "node:https";
import { createWebSocketStream, WebSocket } from "ws";
import { z } from "zod";
import { exponentialBackoffMs } from "../../kit/backoff.ts";
import { tryParseJson } from "../../kit/json.ts";
import { cancelTimer, type Timer, type Timers } from "../../kit/timers.ts";
import { ConnectProxyAgent, httpProxyFor } from "./connect-proxy.ts";
import { type LocalServer, listLocalModels } from "./local-server.ts";
import {
  type Announcement,
  CLOSE_CODES,
  type NodeModel,
  PROTOCOL_VERSION,
  SUBPROTOCOL,
  TUNNEL_PATH,
} from "./protocol.ts";
import { type NodeServingContext, serveStream } from "./serve-stream.ts";

export type AgentOptions = {
  /** Where the gateway is. */
  readonly gateway: URL;
  readonly token: string;
  readonly local: LocalServer;
  readonly capacity: number;
  /** Models that are announced; empty: all that the server has. */
  readonly chosen: readonly string[];
  readonly version: string;
  /** How long requests under way may take to finish when it is told to stop. */
  readonly finishMs: number;
  /** For proxies on the way out: HTTP_PROXY, HTTPS_PROXY, NO_PROXY. */
  readonly env: NodeJS.ProcessEnv;
  readonly timers: Timers;
  /** From 0 up to 1. */
  readonly random: () => number;
  report(status: AgentStatus): void;
};

/** What the status line shows. */
export type AgentStatus = {
  readonly state: "connecting" | "connected" | "waiting" | "finishing" | "over";
  readonly models: number;
  readonly running: number;
  readonly served: number;
  /** What is wrong, if something is. */
  readonly problem: string | null;
  /** While waiting: how long until the next try. */
  readonly againInMs: number | null;
};

const HANDSHAKE_MS = 15_000;
const WAIT_FIRST_MS = 500;
const WAIT_MAX_MS = 30_000;
/** The gateway pings far more often: when it has been quiet for so long, nobody is there. */
const QUIET_MAX_MS = 60_000;
const GOODBYE_MS = 500;
const LOOK_EVERY_MS = 15_000;
/** The longest wait while an older connection still serves: it ends soon, and then there should be another. */
const WAIT_MOVING_MAX_MS = 4_000;
const HEARD_MS = 1_000;

/** Why a connection ended, or is to be left for another; `final`: trying again is of no use. */
type Ended = { readonly why: string; readonly final: boolean; readonly wasOpen: boolean };

/** Connects out, and serves whatever comes back through that connection; again and again until it is stopped. */
export class NodeAgent {
  readonly #options: AgentOptions;
  readonly #running = new Set<ServerHttp2Stream>();
  #models: readonly NodeModel[] = [];
  #server = "";
  #served = 0;
  /** Why it is not connected, and what is wrong with the server beside it. */
  #problem: string | null = null;
  #localProblem: string | null = null;
  #state: AgentStatus["state"] = "connecting";
  #againInMs: number | null = null;
  #looking: Timer | undefined;
  /** Connections that are to be left for another: how to leave each, once that one is there. */
  readonly #older = new Map<WebSocket, () => void>();

  constructor(options: AgentOptions) {
    this.#options = options;
  }

  /** Resolves when it was stopped, or with the reason why it is of no use to go on. */
  async run(signal: AbortSignal): Promise<string | undefined> {
    await this.#look();
    for (let failures = 0; !signal.aborted; ) {
      this.#show("connecting", null);
      const ended = await this.#connectOnce(signal);
      if (signal.aborted) break;
      this.#problem = ended.why;
      if (ended.final) {
        this.#show("over", null);
        await this.#leaveOlder();
        cancelTimer(this.#looking);
        return ended.why;
      }
      failures = ended.wasOpen ? 0 : failures + 1;
      const waitMs = this.#waitMs(failures);
      this.#show("waiting", waitMs);
      await this.#sleep(waitMs, signal);
    }
    await this.#leaveOlder();
    cancelTimer(this.#looking);
    return undefined;
  }

  /** Not before all instances of the gateway have heard of the new connection. */
  #leaveOlderSoon(): void {
    if (this.#older.size > 0) this.#options.timers.after(HEARD_MS, () => void this.#leaveOlder());
  }

  /** Resolves when what runs on older connections is finished, and they are closed. */
  async #leaveOlder(): Promise<void> {
    await Promise.all(
      [...this.#older].map(([ws, leave]) => {
        leave();
        return ws.readyState === WebSocket.CLOSED ? undefined : new Promise((resolve) => ws.once("close", resolve));
      }),
    );
  }

  /** Twice as long each time, and never all nodes at once. */
  #waitMs(failures: number): number {
    const longest = this.#older.size > 0 ? WAIT_MOVING_MAX_MS : WAIT_MAX_MS;
    const most = exponentialBackoffMs(failures, WAIT_FIRST_MS, longest);
    return Math.round(most * (0.5 + this.#options.random() / 2));
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

  #connectOnce(signal: AbortSignal): Promise<Ended> {
    const { gateway, token, env } = this.#options;
    const url = new URL(TUNNEL_PATH, gateway);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    return new Promise((resolve) => {
      let wasOpen = false;
      let refused: Ended | undefined;
      const ws = new WebSocket(url, SUBPROTOCOL, {
        headers: { authorization: `Bearer ${token}` },
        perMessageDeflate: false,
        handshakeTimeout: HANDSHAKE_MS,
        ...wayTo(url, env),
      });
      let leave = () => ws.terminate();
      const left = () => leave();
      signal.addEventListener("abort", left);
      ws.once("unexpected-response", (_request, response) => {
        readRefusal(response, (said) => {
          refused = refusalOf(response.statusCode ?? 0, said);
          ws.terminate();
        });
      });
      ws.once("open", () => {
        wasOpen = true;
        this.#problem = null;
        const session = this.#serve(ws, () => {
          this.#older.set(ws, left);
          resolve({ why: "the gateway asked to connect anew", final: false, wasOpen });
        });
        leave = () => this.#leave(ws, session);
        this.#show("connected", null);
      });
      ws.once("error", (error) => {
        refused ??= { why: `the gateway cannot be reached (${codeOf(error)})`, final: false, wasOpen };
      });
      ws.once("close", (code, reason) => {
        signal.removeEventListener("abort", left);
        this.#older.delete(ws);
        const why = reason.toString() || "the connection to the gateway broke";
        resolve(refused ?? { why, final: FINAL.includes(code), wasOpen });
      });
    });
  }

  /** Takes nothing new, finishes what it has, and goes. */
  #leave(ws: WebSocket, session: ServerHttp2Session): void {
    const { timers, finishMs } = this.#options;
    const goodbye = () => {
      ws.close(1000, "the node stops");
      // Who is not there does not say goodbye either.
      timers.after(GOODBYE_MS, () => ws.terminate());
    };
    if (![...this.#running].some((stream) => stream.session === session)) {
      goodbye();
      return;
    }
    if (!this.#older.has(ws)) this.#show("finishing", null);
    const latest = timers.after(finishMs, goodbye);
    ws.once("close", () => cancelTimer(latest));
    session.once("close", goodbye);
    // The gateway hears it and sends no more; streams that are open go on.
    session.close();
  }

  #serve(ws: WebSocket, reconnect: () => void): ServerHttp2Session {
    const carrier = createWebSocketStream(ws);
    carrier.on("error", () => ws.terminate());
    const session: ServerHttp2Session = performServerHandshake(carrier);
    const { local, capacity, timers } = this.#options;
    let isAnnounced = false;
    const serving: NodeServingContext = {
      local,
      capacity,
      inFlight: this.#running,
      announcement: () => {
        if (!isAnnounced) this.#leaveOlderSoon();
        isAnnounced = true;
        return this.#announcement();
      },
      onDone: () => {
        this.#served += 1;
        this.#show(this.#state, this.#againInMs);
      },
      reconnect,
    };
    const quiet = timers.after(QUIET_MAX_MS, () => ws.terminate());
    session.on("ping", () => quiet.refresh());
    session.on("error", () => ws.terminate());
    session.on("stream", (stream, headers) => serveStream(serving, stream, headers));
    ws.once("close", () => {
      cancelTimer(quiet);
      session.destroy();
    });
    return session;
  }

  #announcement(): Announcement {
    const { version, capacity } = this.#options;
    return { protocol: PROTOCOL_VERSION, agent: version, server: this.#server, capacity, models: [...this.#models] };
  }

  /** Asks the local server for its models, now and from time to time: they come and go. */
  async #look(): Promise<void> {
    const { local, chosen, timers } = this.#options;
    const found = await listLocalModels(local, chosen);
    if ("problem" in found) {
      this.#models = [];
      this.#localProblem = found.problem;
    } else {
      this.#models = found.models;
      this.#server = found.server;
      this.#localProblem = found.leftOut;
    }
    this.#show(this.#state, this.#againInMs);
    this.#looking = timers.after(LOOK_EVERY_MS, () => void this.#look());
  }

  #show(state: AgentStatus["state"], againInMs: number | null): void {
    this.#state = state;
    this.#againInMs = againInMs;
    this.#options.report({
      state,
      againInMs,
      models: this.#models.length,
      running: this.#running.size,
      served: this.#served,
      problem: this.#problem ?? this.#localProblem,
    });
  }
}

const FINAL: readonly number[] = [CLOSE_CODES.removed, CLOSE_CODES.replaced, CLOSE_CODES.unreadable];

/** Through the proxy that the environment names, if it names one. */
function wayTo(url: URL, env: NodeJS.ProcessEnv) {
  if (url.protocol === "wss:") return { agent: new HttpsAgent({ proxyEnv: env }) };
  const proxy = httpProxyFor(url, env);
  return proxy === undefined ? {} : { agent: new ConnectProxyAgent(proxy, url) };
}

const REFUSAL_CHARS_MAX = 8_192;

/** What the gateway says beside the status, as far as it can be read. */
function readRefusal(response: IncomingMessage, then: (said: string | undefined) => void): void {
  let text = "";
  response.setEncoding("utf8");
  response.on("data", (chunk: string) => {
    if (text.length < REFUSAL_CHARS_MAX) text += chunk;
  });
  response.once("error", () => {});
  response.once("close", () => then(saidIn(text)));
}

const Refusal = z.object({ error: z.object({ message: z.string().max(1000) }) });

function saidIn(text: string): string | undefined {
  return Refusal.safeParse(tryParseJson(text)).data?.error.message.replace(/\p{Cc}/gu, " ");
}

/** Statuses after which it is of no use to try again as it is. */
const REFUSED: ReadonlyMap<number, string> = new Map([
  [401, "the gateway does not know this token: create a new one for the node"],
  [403, "the gateway does not let this node in"],
  [404, "there is no gateway with nodes at this address"],
  [426, "the gateway speaks another version of the protocol: update the node, or the gateway"],
]);

function refusalOf(status: number, said: string | undefined): Ended {
  const known = REFUSED.get(status);
  // What stands where no gateway is says nothing of nodes.
  const why = (status === 404 ? undefined : said) ?? known ?? `the gateway answered ${status}`;
  return { why, final: known !== undefined, wasOpen: false };
}

function codeOf(error: Error): string {
  return "code" in error && typeof error.code === "string" ? error.code : "no connection";
}
