import type { IncomingMessage } from "node:http";
import { WebSocketServer } from "ws";
import { ConversationMemory } from "../app/responses/socket-conversation.ts";
import { toFault } from "../app/to-fault.ts";
import { type Fault, fault } from "../contract/faults.ts";
import type { Route } from "../contract/route.ts";
import { systemTimers } from "../kit/timers.ts";
import { type KeyAuthenticator, keyFault } from "./authenticate.ts";
import { clientAddress, peerAddress } from "./client-address.ts";
import type { EdgeDeps, EdgeRoutes } from "./edge-deps.ts";
import { addressRateLimitFault, startingFault, stoppingFault } from "./edge-faults.ts";
import type { UpgradeRequest } from "./node-upgrade.ts";
import { writeRawResponse } from "./raw-response.ts";
import { originForm } from "./request-router.ts";
import { ResponsesSocket, tooManyConnectionsFault } from "./responses-socket.ts";

const ROUTE_ID = "createResponse";
const METRIC_ID = "connectResponses";
const PATHS: ReadonlySet<string> = new Set(["/v1/responses", "/responses"]);
const SWITCHING_PROTOCOLS = 101;
const PING_EVERY_MS = 30_000;
const AGE_MS_MAX = 60 * 60_000;
/** Of all connections together. */
const MEMORY_CHARS_MAX = 256 * 1024 * 1024;

/** A WebSocket handshake on the path of responses; without it the path is served over HTTP. */
export function isResponsesUpgrade({ method, url, headers }: IncomingMessage): boolean {
  return (
    method === "GET" &&
    headers.upgrade?.toLowerCase() === "websocket" &&
    PATHS.has(originForm(url ?? "/").replace(/\?.*$/s, ""))
  );
}

type Server = { inFlight: number; readonly isDraining: boolean };

/** The WebSocket connections of clients of the responses API. */
export class ResponsesSockets {
  readonly #deps: EdgeDeps;
  readonly #authenticator: KeyAuthenticator;
  readonly #route: Route | undefined;
  readonly #memory = new ConversationMemory(MEMORY_CHARS_MAX);
  readonly #server: WebSocketServer;
  readonly #open = new Set<ResponsesSocket>();
  readonly #openByKey = new Map<string, number>();

  constructor(deps: EdgeDeps, authenticator: KeyAuthenticator) {
    this.#deps = deps;
    this.#authenticator = authenticator;
    this.#route = deps.routes.find(({ id }) => id === ROUTE_ID);
    this.#server = new WebSocketServer({
      noServer: true,
      // No compression: responses mix secrets with attacker-chosen text (CRIME), and every frame would need its own buffer.
      perMessageDeflate: false,
      maxPayload: deps.bodyLimits.jsonMaxBytes,
    });
  }

  /** Node's server hands over the bare socket, so refusals are written as raw responses. */
  upgrade(upgrade: UpgradeRequest, server: Server, routes: EdgeRoutes | undefined): void {
    const { clock, ids, metrics } = this.#deps;
    const { socket } = upgrade;
    const startedMs = clock.monotonicMs();
    const end = (problem: Fault | undefined) => {
      if (problem !== undefined) writeRawResponse(socket, problem, ids.next("req_"));
      const status = problem?.status ?? SWITCHING_PROTOCOLS;
      metrics.recordHttpResponse(METRIC_ID, status, clock.monotonicMs() - startedMs);
    };
    // Without a listener an error during the wait would crash the process.
    socket.on("error", () => socket.destroy());
    this.#accept(upgrade, server, routes).then(
      () => end(undefined),
      (error: unknown) => end(toFault(error)),
    );
  }

  /** Closes each connection between its responses. */
  drain(): void {
    for (const connection of this.#open) connection.drain("the gateway is stopping");
  }

  close(): void {
    for (const connection of this.#open) connection.terminate();
    this.#server.close();
  }

  async #accept(
    { request, socket, head }: UpgradeRequest,
    server: Server,
    routes: EdgeRoutes | undefined,
  ): Promise<void> {
    const { addressLimit, webSockets, clock } = this.#deps;
    const route = this.#route;
    const handler = routes?.handlers[ROUTE_ID];
    const address = clientAddress(request, peerAddress(request.socket), this.#deps);
    const waitSeconds = addressLimit.consume(address);
    if (waitSeconds !== undefined) throw addressRateLimitFault(waitSeconds);
    if (server.isDraining) throw stoppingFault();
    if (routes === undefined || handler === undefined || route === undefined) throw startingFault();
    if (webSockets.perKeyMax === 0) throw disabledFault();
    if (
      request.headers["sec-websocket-version"] !== "13" ||
      !HANDSHAKE_KEY.test(request.headers["sec-websocket-key"] ?? "")
    )
      throw fault("invalid_request", {
        message: "The request is not a WebSocket version 13 handshake. A proxy may have modified it.",
      });
    const { keyId, workspaceId } = await this.#authenticate(request, address, route, clock.nowMs());
    // A socket that closed meanwhile emits no further event that would release the connection.
    if (socket.destroyed) return;
    const count = (this.#openByKey.get(keyId) ?? 0) + 1;
    if (count > webSockets.perKeyMax) throw tooManyConnectionsFault(webSockets.perKeyMax);
    this.#openByKey.set(keyId, count);
    socket.once("close", () => this.#release(keyId));
    // A retry key belongs to one request, and a connection has many.
    const { "idempotency-key": _, ...headers } = request.headers;
    this.#server.handleUpgrade(request, socket, head, (ws) => {
      const connection = new ResponsesSocket(
        ws,
        { headers, clientAddress: address, workspaceId },
        {
          ...this.#deps,
          timers: systemTimers,
          rules: { idleMs: webSockets.idleMs, ageMsMax: AGE_MS_MAX, pingEveryMs: PING_EVERY_MS },
          memory: this.#memory,
          authenticator: this.#authenticator,
          route,
          handler,
          secretsOf: routes.secretsOf,
          json: routes.json,
          listener: server,
        },
      );
      this.#open.add(connection);
      ws.once("close", () => this.#open.delete(connection));
    });
  }

  /** The handshake needs a key that may send requests; only the requests themselves are counted. */
  async #authenticate(
    request: IncomingMessage,
    clientAddress: string,
    route: Route,
    nowMs: number,
  ): Promise<{ readonly keyId: string; readonly workspaceId: string }> {
    const exchange = { request, baseHeaders: {}, clientAddress, receivedAtMs: nowMs, errorShape: route.errors };
    const principal = await this.#authenticator.identify(exchange);
    const refusal = keyFault(principal, clientAddress, nowMs) ?? this.#authenticator.routeFault(principal, route);
    if (refusal !== undefined) throw refusal;
    return { keyId: principal.key.id, workspaceId: principal.workspace.id };
  }

  #release(keyId: string): void {
    const count = (this.#openByKey.get(keyId) ?? 1) - 1;
    if (count === 0) this.#openByKey.delete(keyId);
    else this.#openByKey.set(keyId, count);
  }
}

const HANDSHAKE_KEY = /^[+/0-9A-Za-z]{22}==$/;

/** Codex goes on over HTTP after this status, at once and without a warning. */
function disabledFault(): Fault {
  return fault("responses_websocket_not_enabled", {
    message:
      "Responses over WebSocket are not enabled on this deployment. Use POST /v1/responses. The operator can set GATEWAY_WEBSOCKETS_PER_KEY.",
    headers: { connection: "close, upgrade", upgrade: "websocket" },
  });
}
