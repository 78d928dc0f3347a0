import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex, Readable } from "node:stream";
import type { Exchange, Handler } from "../app/exchange.ts";
import { toFault } from "../app/to-fault.ts";
import type { Fault } from "../contract/faults.ts";
import type { Route } from "../contract/route.ts";
import { type Actor, isOperatorActor } from "../domain/tenancy/actor.ts";
import type { Principal } from "../domain/tenancy/key.ts";
import { FastPath } from "../http1/server/fast-path.ts";
import type { InboundHttpRequest, OutboundHttpResponse } from "../http1/server/server-message.ts";
import { TUNNEL_PATH } from "../io/tunnel/protocol.ts";
import type { AddressList } from "../kit/cidr.ts";
import type { Clock } from "../kit/clock.ts";
import type { IdGenerator } from "../kit/id-generator.ts";
import { chain, type MaybePromise } from "../kit/maybe-promise.ts";
import { createServer, ServerResponse } from "../kit/node-http.ts";
import { redactSecrets } from "../kit/secret.ts";
import { dropRateHeaders, KeyAuthenticator, type KeyAuthenticatorDeps } from "./authenticate.ts";
import { authenticateManager, type ManagerAuth } from "./authenticate-manager.ts";
import { clientAddress, peerAddress } from "./client-address.ts";
import { type CorsPolicy, corsHeaders, EXPOSED_HEADERS, isPreflight } from "./cors.ts";
import {
  addressRateLimitFault,
  changedRightsFault,
  errorShapeAt,
  managerRateLimitFault,
  missingHostFault,
  noWebSocketFault,
  startingFault,
  stoppingFault,
  unknownPathFault,
  wrongMethodFault,
} from "./edge-faults.ts";
import { EdgeResponseSink } from "./edge-response-sink.ts";
import { type ClientConnectionState, Listener } from "./listener.ts";
import { acceptNode, type NodeAcceptor } from "./node-upgrade.ts";
import type { AddressRateLimiter, RateLimiter } from "./rate-limiter.ts";
import { connectFault, HEADER_BYTES_MAX, malformedFault, writeRawResponse } from "./raw-response.ts";
import { awaitsContinue, type BodySender, openUpload, readRequestBody } from "./request-body.ts";
import { type RouteMatch, RouteTable } from "./route-table.ts";
import { sendFault, sendResponse } from "./send-response.ts";
import { transferredBytes, watchWriteStalls } from "./write-stall.ts";

/** Credentials of the platform and of a workspace at providers; they are redacted from every error message. */
export type KnownSecrets = (workspaceId: string | undefined) => readonly string[];

export type EdgeDeps = KeyAuthenticatorDeps & {
  readonly routes: readonly Route[];
  readonly clock: Clock;
  readonly ids: IdGenerator;
  readonly addressLimit: AddressRateLimiter;
  readonly trustedProxies: AddressList | undefined;
  readonly managerAuth: Omit<ManagerAuth, "personOf">;
  /** Per person or management token. */
  readonly managerLimit: RateLimiter;
  readonly bodyLimits: { readonly jsonMaxBytes: number; readonly uploadMaxBytes: number };
  readonly cors: CorsPolicy;
  readonly timeouts: {
    readonly headersMs: number;
    readonly requestMs: number;
    /** Interval at which the two above are checked. */
    readonly checkEveryMs: number;
    /** Maximum time without progress of a response that the client does not read. */
    readonly stallMs: number;
    /** Keep-alive timeout, as announced to clients. */
    readonly idleMs: number;
  };
  /** Called with faults of status 500 and above, including their private detail. */
  readonly onServerFault: (problem: Fault, requestId: string) => void;
  readonly onResponse: (routeId: string, status: number, durationMs: number) => void;
};

/** What the server gets once all components have started. */
export type EdgeRoutes = {
  readonly nodes: NodeAcceptor;
  readonly secretsOf: KnownSecrets;
  readonly personOf: ManagerAuth["personOf"];
  /** By route id. */
  readonly handlers: Readonly<Record<string, Handler>>;
};

/** Carries the code of Node's own error for a request timeout. */
class RequestTimeoutError extends Error {
  readonly code = "ERR_HTTP_REQUEST_TIMEOUT";
}

/** Response headers without meaning for the connection: the fast path copies them as they are. */
const END_TO_END_HEADERS: ReadonlySet<string> = new Set([
  ...EXPOSED_HEADERS.split(", "),
  "content-type",
  "cache-control",
]);
const SWITCHING_PROTOCOLS = 101;
/** Reported when the client disconnected before the response head was sent. */
const CLIENT_CLOSED_REQUEST = 499;

/** HTTP in: request id, client address, route, authentication and limits; then the route's handler. */
export class EdgeServer {
  readonly listener: Listener;
  readonly #deps: EdgeDeps;
  readonly #routeTable: RouteTable;
  readonly #authenticator: KeyAuthenticator;
  readonly #connections = new WeakMap<Duplex, ClientConnectionState>();
  #routes: EdgeRoutes | undefined;

  constructor(deps: EdgeDeps) {
    this.#deps = deps;
    this.#routeTable = new RouteTable(deps.routes);
    this.#authenticator = new KeyAuthenticator(deps);
    const server = createServer(
      {
        maxHeaderSize: HEADER_BYTES_MAX,
        headersTimeout: deps.timeouts.headersMs,
        requestTimeout: deps.timeouts.requestMs,
        connectionsCheckingInterval: deps.timeouts.checkEveryMs,
        keepAliveTimeout: deps.timeouts.idleMs,
        // Node would answer a missing Host with an empty 400; the gateway sends its error envelope instead.
        requireHostHeader: false,
        // On every other path the Upgrade header is ignored, as HTTP allows, and the request is served.
        shouldUpgradeCallback: ({ method, url }) => method === "GET" && pathOf(url) === TUNNEL_PATH,
      },
      (request, response) => void this.receive(request, response),
    );
    // "100 Continue" is sent when the body is read, so that a refusal saves the upload. Other expectations are ignored.
    server.on("checkContinue", (request, response) => void this.receive(request, response));
    server.on("checkExpectation", (request, response) => void this.receive(request, response));
    server.on("connect", (_request, socket) => writeRawResponse(socket, connectFault(), this.#deps.ids.next("req_")));
    server.on("upgrade", (request, socket, head) => this.#upgrade(request, socket, head));
    const fastPath = new FastPath(server, {
      clock: deps.clock,
      timeouts: deps.timeouts,
      endToEndHeaders: END_TO_END_HEADERS,
      receiver: this,
      onHeadersTimeout: (socket) => this.#rejectMalformed(new RequestTimeoutError(), socket),
      onSocketTimeout: (socket) => this.#closeIfStalled(socket),
      onRequestQueued: () => this.listener.requestStarted(),
      onRequestDequeued: () => this.listener.requestEnded(),
    });
    watchWriteStalls(server, deps.timeouts.stallMs);
    server.on("timeout", (socket) => this.#closeIfStalled(socket));
    server.on("clientError", (error, socket) => this.#rejectMalformed(error, socket));
    this.listener = new Listener(server, fastPath, deps.timeouts, deps.clock);
  }

  /** Starts to serve requests; until then every request gets a 503. */
  open(routes: EdgeRoutes): void {
    const missing = this.#deps.routes.filter(({ id }) => routes.handlers[id] === undefined).map(({ id }) => id);
    if (missing.length > 0) throw new Error(`routes without a handler: ${missing.join(", ")}`);
    this.#routes = routes;
  }

  async receive(request: InboundHttpRequest, response: OutboundHttpResponse): Promise<void> {
    this.listener.requestStarted();
    const startedMs = this.#deps.clock.monotonicMs();
    const connection = this.#connectionOf(request.socket);
    const exchange: EdgeExchange = {
      request,
      response,
      startedMs,
      receivedAtMs: 0,
      clientAddress: "",
      requestId: "",
      baseHeaders: {},
      query: "",
      routeId: "unknown",
      errorShape: undefined,
      sink: undefined,
      workspaceId: undefined,
      openParts: 2,
    };
    connection.responses.push(response);
    response.on("close", () => {
      this.#endPart(exchange);
      connection.responses.splice(connection.responses.indexOf(response), 1);
      exchange.sink?.handleClose();
      // Without a sent head the default status 200 would count as a success.
      const status = response.headersSent ? response.statusCode : CLIENT_CLOSED_REQUEST;
      this.#deps.onResponse(exchange.routeId, status, this.#deps.clock.monotonicMs() - startedMs);
    });
    try {
      await this.#route(exchange, connection);
    } catch (error) {
      this.#refuse(exchange, error);
    } finally {
      this.#endPart(exchange);
    }
  }

  #endPart(exchange: EdgeExchange): void {
    exchange.openParts -= 1;
    if (exchange.openParts === 0) this.listener.requestEnded();
  }

  /** Closes an idle connection, or one whose client does not read. A connection that waits for a provider stays open. */
  #closeIfStalled(socket: Socket): void {
    const before = transferredBytes(socket);
    // After an event-loop stall, progress on the socket becomes visible only in the next tick.
    setImmediate(() => {
      if (transferredBytes(socket) !== before) return;
      const pending = this.#connections.get(socket)?.responses.length ?? 0;
      if (pending === 0 || socket.writableLength > 0) socket.destroy();
    });
  }

  /** Node hands over the bare socket, so refusals are written as raw responses. */
  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { clock, ids, addressLimit, trustedProxies, onResponse, fleet } = this.#deps;
    const startedMs = clock.monotonicMs();
    const address = clientAddress(request, peerAddress(request.socket), trustedProxies);
    const waitSeconds = addressLimit.consume(address);
    const end = (problem: Fault | undefined) => {
      if (problem !== undefined) writeRawResponse(socket, problem, ids.next("req_"));
      onResponse("connectNode", problem?.status ?? SWITCHING_PROTOCOLS, clock.monotonicMs() - startedMs);
    };
    const accept = () => {
      if (this.listener.isDraining) end(stoppingFault());
      else if (this.#routes === undefined) end(startingFault());
      else end(acceptNode(this.#routes.nodes, { request, socket, head, address }));
    };
    // Without a listener an error during the wait would crash the process.
    socket.on("error", () => socket.destroy());
    if (waitSeconds !== undefined) end(addressRateLimitFault(waitSeconds));
    else if (fleet.isSingleInstance) accept();
    // The node may have been created on another instance a moment ago.
    else fleet.catchUp().then(accept, (error: unknown) => end(toFault(error)));
  }

  #connectionOf(socket: Socket): ClientConnectionState {
    const known = this.#connections.get(socket);
    if (known !== undefined) return known;
    const connection = { peer: peerAddress(socket), responses: [], refusal: undefined };
    this.#connections.set(socket, connection);
    this.listener.track(connection, socket);
    return connection;
  }

  #route(exchange: EdgeExchange, { peer }: ClientConnectionState): MaybePromise<void> {
    const { request, response } = exchange;
    const url = originForm(request.url ?? "/");
    const mark = url.indexOf("?");
    const path = mark < 0 ? url : url.slice(0, mark);
    const lookup = this.#routeTable.find(request.method ?? "GET", path);
    this.#identify(exchange, lookup.is === "found" ? lookup.match.route : undefined, path);
    exchange.clientAddress = clientAddress(request, peer, this.#deps.trustedProxies);
    const isProbe = lookup.is === "found" && HEALTH_PROBES.has(lookup.match.route.id);
    const waitSeconds = isProbe ? undefined : this.#deps.addressLimit.consume(exchange.clientAddress);
    if (request.headers.host === undefined && request.httpVersion === "1.1") throw missingHostFault();
    if (lookup.is !== "unknown" && isPreflight(request)) {
      sendResponse(request, response, { status: 204 }, exchange.baseHeaders);
      return;
    }
    if (lookup.is === "unknown") throw unknownPathFault(request.method ?? "GET", path);
    if (lookup.is === "wrong_method") throw methodFault(request, path, lookup.allow);
    if (waitSeconds !== undefined) throw addressRateLimitFault(waitSeconds);
    if (this.#routes === undefined) throw startingFault();
    exchange.query = mark < 0 ? "" : url.slice(mark + 1);
    exchange.receivedAtMs = this.#deps.clock.nowMs();
    return this.#authenticate(exchange, lookup.match);
  }

  #identify(exchange: EdgeExchange, route: Route | undefined, path: string): void {
    exchange.requestId = this.#deps.ids.next(ID_PREFIXES[route?.id ?? ""] ?? "req_");
    exchange.routeId = route?.id ?? "unknown";
    exchange.errorShape = route === undefined ? errorShapeAt(path) : route.errors;
    const { baseHeaders, requestId } = exchange;
    baseHeaders["x-svc-request-id"] = requestId;
    baseHeaders["x-request-id"] = requestId;
    baseHeaders["request-id"] = requestId;
    if (this.listener.isDraining) baseHeaders["connection"] = "close";
    if (isManagementPath(path)) Object.assign(baseHeaders, PRIVATE_HEADERS);
    else if (exchange.request.headers.origin !== undefined)
      Object.assign(baseHeaders, corsHeaders(exchange.request, this.#deps.cors));
    // Shared caches do not know that `x-api-key` is a credential.
    if (route?.method === "GET" && route.access.by === "key") baseHeaders["cache-control"] = "no-store";
  }

  #authenticate(exchange: EdgeExchange, match: RouteMatch): MaybePromise<void> {
    const { fleet } = this.#deps;
    if (fleet.isSingleInstance || !needsFreshState(match.route)) return this.#authenticateBy(exchange, match);
    return fleet.catchUp().then(() => this.#authenticateBy(exchange, match));
  }

  #authenticateBy(exchange: EdgeExchange, match: RouteMatch): MaybePromise<void> {
    switch (match.route.access.by) {
      case "key":
        return this.#authenticateKey(exchange, match);
      case "manager":
        return this.#authenticateManager(exchange, exchange.receivedAtMs).then((actor) => {
          this.#limitManager(actor);
          return this.#dispatch(exchange, match, { actor, principal: undefined, refusal: undefined });
        });
      default:
        return this.#dispatch(exchange, match, { actor: undefined, principal: undefined, refusal: undefined });
    }
  }

  async #authenticateManager({ request }: EdgeExchange, nowMs: number): Promise<Actor> {
    if (this.#routes === undefined) throw startingFault();
    return authenticateManager(request, { ...this.#deps.managerAuth, personOf: this.#routes.personOf }, nowMs);
  }

  /** Protects the store from one busy caller; the operator's own token is not limited. */
  #limitManager(actor: Actor): void {
    if (actor.is === "operator") return;
    const { managerLimit } = this.#deps;
    const waitSeconds = managerLimit.consume(actor.is === "token" ? actor.token.id : actor.person.userId);
    if (waitSeconds !== undefined) throw managerRateLimitFault(managerLimit.perMinute, waitSeconds);
  }

  #authenticateKey(exchange: EdgeExchange, match: RouteMatch): MaybePromise<void> {
    const { route } = match;
    return chain(this.#authenticator.identify(exchange), (principal) => {
      exchange.workspaceId = principal.workspace.id;
      const check = this.#authenticator.check(exchange, route, principal);
      if (!(check instanceof Promise))
        return this.#dispatch(exchange, match, { actor: undefined, principal, refusal: check.refusal });
      const body = this.#readAhead(exchange, route);
      return check
        .then((found) => this.#authenticator.recheckIfStale(exchange, route, found))
        .then((found) =>
          this.#dispatch(exchange, match, {
            actor: undefined,
            principal: found.principal,
            refusal: found.refusal,
            body,
          }),
        );
    });
  }

  /** Reads the body while the shared state is queried, unless the client waits for "100 Continue". */
  #readAhead(exchange: EdgeExchange, route: Route): Promise<Buffer> | undefined {
    if (route.intake !== "json" || awaitsContinue(exchange.request)) return undefined;
    const body = this.#readBody(exchange, route);
    // A refused request never awaits it.
    body.catch(() => undefined);
    return body;
  }

  #dispatch(exchange: EdgeExchange, { route, params }: RouteMatch, authenticated: Authenticated): Promise<void> {
    const { request, response, query } = exchange;
    const { actor, principal, refusal } = authenticated;
    // A route without a body never calls `body()`, which is where a refusal is thrown otherwise.
    if (refusal !== undefined && route.intake === "none") throw refusal;
    const handler = this.#routes?.handlers[route.id];
    if (handler === undefined) throw startingFault();
    const handled: Exchange = {
      requestId: exchange.requestId,
      route,
      params,
      query: query === "" ? NO_QUERY : new URLSearchParams(query),
      headers: request.headers,
      clientAddress: exchange.clientAddress,
      receivedAtMs: exchange.receivedAtMs,
      startedMs: exchange.startedMs,
      principal,
      ...(actor === undefined ? {} : { actor }),
      baseHeaders: exchange.baseHeaders,
      body: () => this.#handlerBody(exchange, route, authenticated),
      upload: () => this.#upload(exchange, refusal),
    };
    if (handler.kind === "streamed") {
      exchange.sink = new EdgeResponseSink(response);
      return handler.handle(handled, exchange.sink);
    }
    return handler.handle(handled).then((reply) => sendResponse(request, response, reply, exchange.baseHeaders));
  }

  /** A refusal is thrown to the handler, so that the pipeline records it. */
  #handlerBody(exchange: EdgeExchange, route: Route, { actor, refusal, body }: Authenticated): Promise<Buffer> {
    if (refusal !== undefined) return Promise.reject(refusal);
    const bytes = body ?? this.#readBody(exchange, route);
    if (actor === undefined || actor.is === "operator") return bytes;
    return bytes.then((read) => this.#reauthenticateManager(exchange, actor, read));
  }

  #readBody(exchange: EdgeExchange, { intake, bodyMaxBytes }: Route): Promise<Buffer> {
    const { jsonMaxBytes } = this.#deps.bodyLimits;
    // A route can only lower the configured limit.
    const maxBytes = Math.min(bodyMaxBytes ?? jsonMaxBytes, jsonMaxBytes);
    return readRequestBody(exchange.request, intake, maxBytes, this.#senderOf(exchange));
  }

  #senderOf({ request, response }: EdgeExchange): BodySender {
    return {
      requestBody() {
        if (awaitsContinue(request) && response instanceof ServerResponse) response.writeContinue();
      },
      refusal: () => this.#connections.get(request.socket)?.refusal,
    };
  }

  /** A slow upload can outlive the session, the token or the operator role that it started with. */
  async #reauthenticateManager(exchange: EdgeExchange, before: Actor, bytes: Buffer): Promise<Buffer> {
    const now = await this.#authenticateManager(exchange, this.#deps.clock.nowMs());
    if (isOperatorActor(now) !== isOperatorActor(before)) throw changedRightsFault();
    return bytes;
  }

  async #upload(exchange: EdgeExchange, refusal: Fault | undefined): Promise<Readable> {
    if (refusal !== undefined) throw refusal;
    return openUpload(exchange.request, this.#deps.bodyLimits.uploadMaxBytes, this.#senderOf(exchange));
  }

  #refuse(exchange: EdgeExchange, error: unknown): void {
    const { request, response, requestId, baseHeaders } = exchange;
    const problem = this.#redact(toFault(error), exchange.workspaceId);
    if (problem.status === 429) dropRateHeaders(baseHeaders);
    if (problem.status >= 500) this.#deps.onServerFault(problem, requestId);
    if (response.headersSent) response.destroy();
    else sendFault(request, response, problem, requestId, baseHeaders, exchange.errorShape);
  }

  #redact(problem: Fault, workspaceId: string | undefined): Fault {
    const message = redactSecrets(problem.message, this.#routes?.secretsOf(workspaceId) ?? []);
    return message === problem.message ? problem : problem.reworded({ message });
  }

  /** Answers bytes that are not HTTP, unless another response has begun on the connection. */
  #rejectMalformed(error: Error & { code?: string }, socket: Duplex): void {
    const connection = this.#connections.get(socket);
    const hasBegun = (connection?.responses ?? []).some((response) => response.headersSent);
    if (error.code === "ECONNRESET" || hasBegun) return void socket.destroy();
    const problem = malformedFault(error.code);
    // A half-closed connection in the middle of a body counts as a disconnect; the response is sent in case it is not.
    if (connection !== undefined && error.code !== "HPE_INVALID_EOF_STATE") connection.refusal = problem;
    writeRawResponse(socket, problem, this.#deps.ids.next("req_"));
  }
}

/** One HTTP request and its response, from the first byte to the end of both. */
type EdgeExchange = {
  readonly request: InboundHttpRequest;
  readonly response: OutboundHttpResponse;
  readonly startedMs: number;
  readonly baseHeaders: Record<string, string>;
  receivedAtMs: number;
  clientAddress: string;
  requestId: string;
  query: string;
  routeId: string;
  errorShape: Route["errors"];
  sink: EdgeResponseSink | undefined;
  workspaceId: string | undefined;
  /** Counts the response and its handler: a handler may settle after the client has disconnected. */
  openParts: number;
};

type Authenticated = {
  readonly actor: Actor | undefined;
  readonly principal: Principal | undefined;
  readonly refusal: Fault | undefined;
  /** The body, when it is being read already. */
  readonly body?: Promise<Buffer> | undefined;
};

function methodFault({ method = "", headers }: InboundHttpRequest, path: string, allow: readonly string[]): Fault {
  const wantsWebSocket = method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
  return wantsWebSocket && allow.includes("POST") ? noWebSocketFault(allow) : wrongMethodFault(method, path, allow);
}

/** Routes that must see what any instance has committed before the request. */
function needsFreshState({ path }: Route): boolean {
  return isManagementPath(path) || path.startsWith("/payments/");
}

const PRIVATE_HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;

/** Management responses never get CORS headers. */
function isManagementPath(path: string): boolean {
  return path === "/manage" || path.startsWith("/manage/");
}

/** Shared: handlers only read it. */
const NO_QUERY = new URLSearchParams();

/** Exempt from the address limit: a shared address would otherwise make the gateway look unhealthy. */
const HEALTH_PROBES: ReadonlySet<string> = new Set(["getHealth", "getReadiness"]);

/** The response id is the request id, with the prefix that the dialect uses. */
const ID_PREFIXES: Readonly<Record<string, string>> = {
  createChatCompletion: "chatcmpl-",
  createMessage: "msg_",
  createResponse: "resp_",
  createDecision: "dec_",
  createOpenaiDecision: "dec_",
};

/** Reduces the absolute form of a request target, which proxies send, to path and query. */
function originForm(url: string): string {
  return url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?#]*/i, "") || "/";
}

function pathOf(url: string | undefined): string {
  return originForm(url ?? "/").replace(/\?.*$/s, "");
}
