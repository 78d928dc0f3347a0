import type { Exchange } from "../app/exchange.ts";
import type { Route } from "../contract/route.ts";
import type { InboundHttpRequest } from "../http1/server/fast-path-connection.ts";
import type { OutboundHttpResponse } from "../http1/server/outbound-response.ts";
import { chain, type MaybePromise } from "../kit/maybe-promise.ts";
import { KeyAuthenticator } from "./authenticate.ts";
import { ManagerAuthenticator } from "./authenticate-manager.ts";
import { createListener } from "./create-listener.ts";
import type { EdgeDeps, EdgeRoutes } from "./edge-deps.ts";
import type { Authentication, EdgeExchange } from "./edge-exchange.ts";
import { startingFault, stoppingFault } from "./edge-faults.ts";
import { EdgeResponseSink } from "./edge-response-sink.ts";
import type { Listener } from "./listener.ts";
import { upgradeToTunnel } from "./node-upgrade.ts";
import { recheckIfStale } from "./recheck-if-stale.ts";
import { readRequestBody } from "./request-body.ts";
import { isManagementPath, RequestRouter } from "./request-router.ts";
import { isResponsesUpgrade, ResponsesSockets } from "./responses-sockets.ts";
import type { RouteMatch } from "./route-table.ts";
import { refuse, sendResponse } from "./send-response.ts";
import { awaitsContinue } from "./streamed-body.ts";
import { openUpload } from "./upload-body.ts";

/** Reported when the client disconnected before the response head was sent. */
const CLIENT_CLOSED_REQUEST = 499;
/** Shared: handlers only read it. */
const NO_QUERY = new URLSearchParams();

/** HTTP in: request id, client address, route, authentication and limits; then the route's handler. */
export class EdgeServer {
  readonly listener: Listener;
  readonly #deps: EdgeDeps;
  readonly #router: RequestRouter;
  readonly #authenticator: KeyAuthenticator;
  #managers: ManagerAuthenticator | undefined;
  #routes: EdgeRoutes | undefined;

  constructor(deps: EdgeDeps) {
    this.#deps = deps;
    this.#authenticator = new KeyAuthenticator(deps);
    const nodes = () => {
      if (this.listener.isDraining) return stoppingFault();
      return this.#routes === undefined ? startingFault() : this.#routes.nodes;
    };
    const sockets = new ResponsesSockets(deps, this.#authenticator);
    this.listener = createListener(deps, this, (upgrade) =>
      isResponsesUpgrade(upgrade.request)
        ? sockets.upgrade(upgrade, this.listener, this.#routes)
        : upgradeToTunnel(upgrade, deps, nodes),
    );
    this.listener.sockets = sockets;
    this.#router = new RequestRouter(deps, this.listener);
  }

  /** Starts to serve requests; until then every request gets a 503. */
  open(routes: EdgeRoutes): void {
    const missing = this.#deps.routes.filter(({ id }) => routes.handlers[id] === undefined).map(({ id }) => id);
    if (missing.length > 0) throw new Error(`routes without a handler: ${missing.join(", ")}`);
    this.#managers = new ManagerAuthenticator({ ...this.#deps.managerAuth, personOf: routes.personOf }, this.#deps);
    this.#routes = routes;
  }

  async receive(request: InboundHttpRequest, response: OutboundHttpResponse): Promise<void> {
    const { listener } = this;
    listener.inFlight += 1;
    const startedMs = this.#deps.clock.monotonicMs();
    const connection = listener.connections.get(request.socket) ?? listener.track(request.socket);
    const exchange: EdgeExchange = {
      request,
      response,
      connection,
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
      this.#deps.metrics.recordHttpResponse(exchange.routeId, status, this.#deps.clock.monotonicMs() - startedMs);
    });
    try {
      await this.#serve(exchange);
    } catch (error) {
      refuse(exchange, error, this.#deps.onServerFault, this.#routes?.secretsOf(exchange.workspaceId) ?? []);
    } finally {
      this.#endPart(exchange);
    }
  }

  #endPart(exchange: EdgeExchange): void {
    exchange.openParts -= 1;
    if (exchange.openParts === 0) this.listener.inFlight -= 1;
  }

  #serve(exchange: EdgeExchange): MaybePromise<void> {
    const match = this.#router.route(exchange);
    if (match === "preflight") return sendResponse(exchange, { status: 204 });
    if (this.#routes === undefined) throw startingFault();
    exchange.receivedAtMs = this.#deps.clock.nowMs();
    const { fleet } = this.#deps;
    if (fleet.isSingleInstance || !needsFreshState(match.route)) return this.#authenticate(exchange, match);
    return fleet.catchUp().then(() => this.#authenticate(exchange, match));
  }

  #authenticate(exchange: EdgeExchange, match: RouteMatch): MaybePromise<void> {
    switch (match.route.access.by) {
      case "key":
        return this.#authenticateKey(exchange, match);
      case "manager":
        return this.#managersOrFault()
          .authenticateWithinLimit(exchange)
          .then((actor) => this.#dispatch(exchange, match, { actor, principal: undefined, refusal: undefined }));
      default:
        return this.#dispatch(exchange, match, { actor: undefined, principal: undefined, refusal: undefined });
    }
  }

  #managersOrFault(): ManagerAuthenticator {
    if (this.#managers === undefined) throw startingFault();
    return this.#managers;
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
        .then((found) => recheckIfStale(this.#authenticator, this.#deps.fleet, exchange, route, found))
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
    if (route.intake !== "json" || route.storesUpload || awaitsContinue(exchange.request)) return undefined;
    const body = this.#readBody(exchange, route);
    // A refused request never awaits it.
    body.catch(() => undefined);
    return body;
  }

  #dispatch(exchange: EdgeExchange, { route, params }: RouteMatch, authentication: Authentication): Promise<void> {
    const { query } = exchange;
    const { actor, principal, refusal } = authentication;
    // A route without a body never calls `body()`, which is where a refusal is thrown otherwise.
    if (refusal !== undefined && route.intake === "none") throw refusal;
    const handler = this.#routes?.handlers[route.id];
    if (handler === undefined) throw startingFault();
    const handled: Exchange = {
      requestId: exchange.requestId,
      route,
      params,
      query: query === "" ? NO_QUERY : new URLSearchParams(query),
      headers: exchange.request.headers,
      clientAddress: exchange.clientAddress,
      receivedAtMs: exchange.receivedAtMs,
      startedMs: exchange.startedMs,
      principal,
      ...(actor === undefined ? {} : { actor }),
      baseHeaders: exchange.baseHeaders,
      body: () => this.#handlerBody(exchange, route, authentication),
      upload: async () => {
        if (refusal !== undefined) throw refusal;
        const { uploadMaxBytes, fileMaxBytes } = this.#deps.bodyLimits;
        return openUpload(exchange, route.storesUpload === true ? fileMaxBytes : uploadMaxBytes, route.intake);
      },
    };
    if (handler.kind === "streamed") {
      exchange.sink = new EdgeResponseSink(exchange.response);
      return handler.handle(handled, exchange.sink);
    }
    return handler.handle(handled).then((reply) => sendResponse(exchange, reply));
  }

  /** A refusal is thrown to the handler, so that the pipeline records it. */
  #handlerBody(exchange: EdgeExchange, route: Route, { actor, refusal, body }: Authentication): Promise<Buffer> {
    if (refusal !== undefined) return Promise.reject(refusal);
    const bytes = body ?? this.#readBody(exchange, route);
    if (actor === undefined || actor.is === "operator") return bytes;
    return bytes.then(async (read) => {
      await this.#managersOrFault().reauthenticate(exchange, actor);
      return read;
    });
  }

  #readBody(exchange: EdgeExchange, { intake, bodyMaxBytes }: Route): Promise<Buffer> {
    const { jsonMaxBytes } = this.#deps.bodyLimits;
    // A route can only lower the configured limit.
    return readRequestBody(exchange, intake, Math.min(bodyMaxBytes ?? jsonMaxBytes, jsonMaxBytes));
  }
}

/** Routes that must see what any instance has committed before the request. */
function needsFreshState({ path }: Route): boolean {
  return isManagementPath(path) || path.startsWith("/payments/");
}
