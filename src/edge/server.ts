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
import type { Incoming, Outgoing } from "../http1/server/server-message.ts";
import { TUNNEL_PATH } from "../io/tunnel/protocol.ts";
import type { AddressList } from "../kit/cidr.ts";
import type { Clock } from "../kit/clock.ts";
import type { IdGenerator } from "../kit/id-generator.ts";
import { chain, type MaybePromise } from "../kit/maybe-promise.ts";
import { createServer, ServerResponse } from "../kit/node-http.ts";
import { redactSecrets } from "../kit/secret.ts";
import type { IpLimit } from "./address-limit.ts";
import { authenticateActor, type Managers } from "./authenticate-manager.ts";
import { Callers, type CallersDeps } from "./callers.ts";
import { clientAddress, peerAddress } from "./client-address.ts";
import { type CorsPolicy, corsHeaders, EXPOSED, isPreflight } from "./cors.ts";
import {
  errorsAt,
  noHost,
  noWebSocket,
  otherRights,
  starting,
  stopping,
  tooManyCalls,
  tooManyFromAddress,
  unknownPath,
  wrongMethod,
} from "./edge-faults.ts";
import { EdgeResponseSink } from "./edge-response-sink.ts";
import { type Connection, Door } from "./listener.ts";
import { admit, type NodeDoor } from "./node-upgrade.ts";
import { dropRateHeaders } from "./rate-limit-headers.ts";
import type { MinuteLimit } from "./rate-limiter.ts";
import { answerByHand, HEADER_BYTES_MAX, malformedFault, noTunnel } from "./raw-response.ts";
import { awaitsContinue, openUpload, readBody, type Sender } from "./request-body.ts";
import { type Match, Router } from "./router.ts";
import { sendFault, sendReply } from "./send-response.ts";
import { movedOn, timeStalls } from "./write-stall.ts";

/** Credentials at providers, the platform's and those of the workspace: no refusal leaves with one in it, whoever wrote its message. */
export type KnownSecrets = (workspaceId: string | undefined) => readonly string[];

export type EdgeDeps = CallersDeps & {
  readonly routes: readonly Route[];
  readonly clock: Clock;
  readonly ids: IdGenerator;
  readonly ipLimit: IpLimit;
  readonly trustedProxies: AddressList | undefined;
  readonly managers: Managers;
  /** What one person, or one management token, may ask of the management API. */
  readonly manageLimit: MinuteLimit;
  readonly bodyLimits: { readonly jsonMaxBytes: number; readonly uploadMaxBytes: number };
  readonly cors: CorsPolicy;
  /** How long a client may take to send its headers and its whole request; looked at every `checkEveryMs`. */
  readonly patience: {
    readonly headersMs: number;
    readonly requestMs: number;
    readonly checkEveryMs: number;
    /** How long a client may take nothing of an answer that waits for it. */
    readonly stallMs: number;
    /** How long a connection stays open for the next request, as its client is told. */
    readonly idleMs: number;
  };
  /** Told of faults that are the gateway's own, with their private detail. */
  readonly alarmed: (problem: Fault, requestId: string) => void;
  readonly answered: (routeId: string, status: number, durationMs: number) => void;
};

/** By the code that Node gives it. */
class LateRequest extends Error {
  readonly code = "ERR_HTTP_REQUEST_TIMEOUT";
}

/** Response headers without meaning for the connection: the fast path copies them as they are. */
const END_TO_END_HEADERS: ReadonlySet<string> = new Set([...EXPOSED.split(", "), "content-type", "cache-control"]);
/** The status of a connection that becomes a WebSocket. */
const SWITCHING = 101;
/** The client closed the connection before it was sent a status. */
const CLIENT_LEFT = 499;

/** HTTP in: id, address, route, key, limits; then the handler of the route. */
export class Edge {
  readonly door: Door;
  readonly #deps: EdgeDeps;
  readonly #router: Router;
  readonly #callers: Callers;
  readonly #connections = new WeakMap<Duplex, Connection>();
  #handlers: Readonly<Record<string, Handler>> | undefined;
  #nodes: NodeDoor | undefined;
  /** Until it is open nothing is refused in words of others. */
  #secretsOf: KnownSecrets = () => [];

  constructor(deps: EdgeDeps) {
    this.#deps = deps;
    this.#router = new Router(deps.routes);
    this.#callers = new Callers(deps);
    const server = createServer(
      {
        maxHeaderSize: HEADER_BYTES_MAX,
        headersTimeout: deps.patience.headersMs,
        requestTimeout: deps.patience.requestMs,
        connectionsCheckingInterval: deps.patience.checkEveryMs,
        keepAliveTimeout: deps.patience.idleMs,
        // Node would answer a missing Host with an empty 400; ours says what is wrong.
        requireHostHeader: false,
        // Everywhere else the wish to upgrade is passed over, as HTTP allows, and the request is answered.
        shouldUpgradeCallback: ({ method, url }) => method === "GET" && pathOf(url) === TUNNEL_PATH,
      },
      (request, response) => void this.#take(request, response),
    );
    // "100 Continue" is sent when the body is wanted, so that a refusal saves the upload. Other expectations are ignored.
    server.on("checkContinue", (request, response) => void this.#take(request, response));
    server.on("checkExpectation", (request, response) => void this.#take(request, response));
    server.on("connect", (_request, socket) => answerByHand(socket, noTunnel(), this.#deps.ids.next("req_")));
    server.on("upgrade", (request, socket, head) => this.#upgrade(request, socket, head));
    const lane = new FastPath(server, {
      clock: deps.clock,
      timeouts: deps.patience,
      endToEndHeaders: END_TO_END_HEADERS,
      onRequest: (request, answer) => void this.#take(request, answer),
      onHeadersTimeout: (socket) => this.#malformed(new LateRequest(), socket),
      onSocketTimeout: (socket) => this.#timedOut(socket),
      onRequestQueued: () => this.door.entered(),
      onRequestDequeued: () => this.door.left(),
    });
    timeStalls(server, deps.patience.stallMs);
    server.on("timeout", (socket) => this.#timedOut(socket));
    server.on("clientError", (error, socket) => this.#malformed(error, socket));
    this.door = new Door(server, lane, deps.patience, deps.clock);
  }

  /** `nodes`: the door that nodes connect at. */
  open(nodes: NodeDoor, secretsOf: KnownSecrets, handlers: Readonly<Record<string, Handler>>): void {
    const missing = this.#deps.routes.filter(({ id }) => handlers[id] === undefined).map(({ id }) => id);
    if (missing.length > 0) throw new Error(`routes without a handler: ${missing.join(", ")}`);
    this.#handlers = handlers;
    this.#nodes = nodes;
    this.#secretsOf = secretsOf;
  }

  async #take(request: Incoming, response: Outgoing): Promise<void> {
    this.door.entered();
    const startedMs = this.#deps.clock.monotonicMs();
    const call: Call = {
      request,
      response,
      startedMs,
      requestId: "",
      baseHeaders: {},
      routeId: "unknown",
      errors: undefined,
      sink: undefined,
      workspaceId: undefined,
      going: 2,
    };
    const connection = this.#connectionOf(request.socket);
    connection.answers.push(response);
    response.on("close", () => {
      this.#partOver(call);
      connection.answers.splice(connection.answers.indexOf(response), 1);
      call.sink?.closed();
      // A status that nobody was sent is none: it would be counted as a success.
      const status = response.headersSent ? response.statusCode : CLIENT_LEFT;
      this.#deps.answered(call.routeId, status, this.#deps.clock.monotonicMs() - startedMs);
    });
    try {
      await this.#answer(call, connection);
    } catch (error) {
      this.#refuse(call, error);
    } finally {
      this.#partOver(call);
    }
  }

  #partOver(call: Call): void {
    call.going -= 1;
    if (call.going === 0) this.door.left();
  }

  /** Nothing moved on a connection: it is idle, or its client takes nothing. One that waits for a provider is left alone. */
  #timedOut(socket: Socket): void {
    const before = movedOn(socket);
    // Where this process stood still, a request may have come, or the client taken whole pieces, which is seen only now.
    setImmediate(() => {
      if (movedOn(socket) !== before) return;
      const owed = this.#connections.get(socket)?.answers.length ?? 0;
      if (owed === 0 || socket.writableLength > 0) socket.destroy();
    });
  }

  /** From here on the socket is no HTTP any more: whoever is refused hears it by hand. */
  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { clock, ids, ipLimit, trustedProxies, answered, fleet } = this.#deps;
    const startedMs = clock.monotonicMs();
    const address = clientAddress(request, peerAddress(request.socket), trustedProxies);
    const waitSeconds = ipLimit.take(address);
    const end = (problem: Fault | undefined) => {
      if (problem !== undefined) answerByHand(socket, problem, ids.next("req_"));
      answered("connectNode", problem?.status ?? SWITCHING, clock.monotonicMs() - startedMs);
    };
    const enter = () => {
      if (this.door.draining) end(stopping());
      else if (this.#nodes === undefined) end(starting());
      else end(admit(this.#nodes, { request, socket, head, address }));
    };
    // Nobody else listens while it waits here.
    socket.on("error", () => socket.destroy());
    if (waitSeconds !== undefined) end(tooManyFromAddress(waitSeconds));
    else if (fleet.isSingleInstance) enter();
    // Whoever was made known elsewhere a moment ago is let in here.
    else fleet.catchUp().then(enter, (error: unknown) => end(toFault(error)));
  }

  #connectionOf(socket: Socket): Connection {
    const known = this.#connections.get(socket);
    if (known !== undefined) return known;
    const connection = { peer: peerAddress(socket), answers: [], refusal: undefined };
    this.#connections.set(socket, connection);
    this.door.connected(connection, socket);
    return connection;
  }

  #answer(call: Call, { peer }: Connection): MaybePromise<void> {
    const { request, response } = call;
    const url = originForm(request.url ?? "/");
    const mark = url.indexOf("?");
    const path = mark < 0 ? url : url.slice(0, mark);
    const lookup = this.#router.find(request.method ?? "GET", path);
    this.#identify(call, lookup.is === "found" ? lookup.match.route : undefined, path);
    const address = clientAddress(request, peer, this.#deps.trustedProxies);
    const isProbe = lookup.is === "found" && PROBES.has(lookup.match.route.id);
    const waitSeconds = isProbe ? undefined : this.#deps.ipLimit.take(address);
    if (request.headers.host === undefined && request.httpVersion === "1.1") throw noHost();
    if (lookup.is !== "unknown" && isPreflight(request)) {
      sendReply(request, response, { status: 204 }, call.baseHeaders);
      return;
    }
    if (lookup.is === "unknown") throw unknownPath(request.method ?? "GET", path);
    if (lookup.is === "wrong_method") throw wrongWay(request, path, lookup.allow);
    if (waitSeconds !== undefined) throw tooManyFromAddress(waitSeconds);
    return this.#handle(call, lookup.match, mark < 0 ? "" : url.slice(mark + 1), address);
  }

  #identify(call: Call, route: Route | undefined, path: string): void {
    call.requestId = this.#deps.ids.next(ID_PREFIXES[route?.id ?? ""] ?? "req_");
    call.routeId = route?.id ?? "unknown";
    call.errors = route === undefined ? errorsAt(path) : route.errors;
    const { baseHeaders, requestId } = call;
    baseHeaders["x-svc-request-id"] = requestId;
    baseHeaders["x-request-id"] = requestId;
    baseHeaders["request-id"] = requestId;
    if (this.door.draining) baseHeaders["connection"] = "close";
    if (isOfManagement(path)) Object.assign(baseHeaders, PRIVATE_HEADERS);
    else if (call.request.headers.origin !== undefined)
      Object.assign(baseHeaders, corsHeaders(call.request, this.#deps.cors));
    // A key may come in a header that caches on the way do not take for one.
    if (route?.method === "GET" && route.access.by === "key") baseHeaders["cache-control"] = "no-store";
  }

  #handle(call: Call, match: Match, query: string, address: string): MaybePromise<void> {
    if (this.#handlers === undefined) throw starting();
    const receivedAtMs = this.#deps.clock.nowMs();
    const arrived = { call, match, query, address, receivedAtMs };
    const { fleet } = this.#deps;
    if (fleet.isSingleInstance || !asksOfOthers(match.route)) return this.#enter(arrived);
    return fleet.catchUp().then(() => this.#enter(arrived));
  }

  #enter(arrived: Arrived): MaybePromise<void> {
    const { call, match, receivedAtMs } = arrived;
    if (match.route.access.by !== "manager") return this.#serve(arrived, undefined);
    return authenticateActor(call.request, this.#deps.managers, receivedAtMs).then((actor) => {
      this.#countManager(actor);
      return this.#serve(arrived, actor);
    });
  }

  /** So that nobody keeps the store from everybody else; the operator's own token is not counted. */
  #countManager(actor: Actor): void {
    if (actor.is === "operator") return;
    const { manageLimit } = this.#deps;
    const waitSeconds = manageLimit.take(actor.is === "token" ? actor.token.id : actor.person.userId);
    if (waitSeconds !== undefined) throw tooManyCalls(manageLimit.perMinute, waitSeconds);
  }

  #serve(arrived: Arrived, actor: Actor | undefined): MaybePromise<void> {
    const { call, match, address, receivedAtMs } = arrived;
    const { route } = match;
    if (route.access.by !== "key") return this.#begin(arrived, { actor, principal: undefined, refusal: undefined });
    const asking = { headers: call.request.headers, answer: call.baseHeaders, route, address, receivedAtMs };
    return chain(this.#callers.find(asking), (principal) => {
      call.workspaceId = principal.workspace.id;
      const standing = this.#callers.judge(asking, principal);
      if (!(standing instanceof Promise)) return this.#begin(arrived, { actor, principal, refusal: standing.refusal });
      const reading = this.#readAhead(call, route);
      return standing
        .then((found) => this.#callers.current(asking, found))
        .then((found) => this.#begin(arrived, { ...found, actor, reading }));
    });
  }

  /** The body is read while the shared state is asked, unless its sender waits to be told to send it. */
  #readAhead(call: Call, route: Route): Promise<Buffer> | undefined {
    if (route.intake !== "json" || awaitsContinue(call.request)) return undefined;
    const reading = this.#read(call, route);
    // Whoever is refused does not wait for it.
    reading.catch(() => undefined);
    return reading;
  }

  #begin({ call, match: { route, params }, query, address, receivedAtMs }: Arrived, checked: Checked): Promise<void> {
    const { request } = call;
    const { actor, principal, refusal, reading } = checked;
    // Nobody reads a body here: so nobody would hear of it.
    if (refusal !== undefined && route.intake === "none") throw refusal;
    // Whoever reads the body hears first of a refusal, so that it is in the log.
    const body = () => (refusal === undefined ? (reading ?? this.#read(call, route)) : Promise.reject(refusal));
    const exchange: Exchange = {
      requestId: call.requestId,
      route,
      params,
      query: query === "" ? NO_QUERY : new URLSearchParams(query),
      headers: request.headers,
      clientAddress: address,
      receivedAtMs,
      startedMs: call.startedMs,
      principal,
      ...(actor === undefined ? {} : { actor }),
      baseHeaders: call.baseHeaders,
      body: () =>
        actor === undefined || actor.is === "operator"
          ? body()
          : body().then((bytes) => this.#stillThere(call, actor, bytes)),
      upload: () => this.#upload(call, refusal),
    };
    return this.#dispatch(call, route, exchange);
  }

  #dispatch(call: Call, route: Route, exchange: Exchange): Promise<void> {
    const { request, response } = call;
    const handler = this.#handlers?.[route.id];
    if (handler === undefined) throw starting();
    if (handler.kind === "streamed") {
      call.sink = new EdgeResponseSink(response);
      return handler.handle(exchange, call.sink);
    }
    return handler.handle(exchange).then((reply) => sendReply(request, response, reply, call.baseHeaders));
  }

  #read(call: Call, { intake, bodyMaxBytes }: Route): Promise<Buffer> {
    const { jsonMaxBytes } = this.#deps.bodyLimits;
    // A route may take less than what the settings allow, never more.
    const maxBytes = Math.min(bodyMaxBytes ?? jsonMaxBytes, jsonMaxBytes);
    return readBody(call.request, intake, maxBytes, this.#senderOf(call));
  }

  #senderOf({ request, response }: Call): Sender {
    return {
      wanted() {
        if (awaitsContinue(request) && response instanceof ServerResponse) response.writeContinue();
      },
      refusal: () => this.#connections.get(request.socket)?.refusal,
    };
  }

  /**
   * A body takes as long as its sender likes: a session or a token that has ended meanwhile changes nothing any more, nor
   * does an operator who is none.
   */
  async #stillThere({ request }: Call, before: Actor, bytes: Buffer): Promise<Buffer> {
    const now = await authenticateActor(request, this.#deps.managers, this.#deps.clock.nowMs());
    if (isOperatorActor(now) !== isOperatorActor(before)) throw otherRights();
    return bytes;
  }

  /** Nothing of an upload is read before it is known that the caller may send it. */
  async #upload(call: Call, refusal: Fault | undefined): Promise<Readable> {
    if (refusal !== undefined) throw refusal;
    return openUpload(call.request, this.#deps.bodyLimits.uploadMaxBytes, this.#senderOf(call));
  }

  #refuse(call: Call, error: unknown): void {
    const { request, response, requestId, baseHeaders } = call;
    const problem = this.#discreet(toFault(error), call.workspaceId);
    if (problem.status === 429) dropRateHeaders(baseHeaders);
    if (problem.status >= 500) this.#deps.alarmed(problem, requestId);
    if (response.headersSent) response.destroy();
    else sendFault(request, response, problem, requestId, baseHeaders, call.errors);
  }

  #discreet(problem: Fault, workspaceId: string | undefined): Fault {
    const message = redactSecrets(problem.message, this.#secretsOf(workspaceId));
    return message === problem.message ? problem : problem.reworded({ message });
  }

  /** Not even HTTP: answered by hand on the socket, unless another answer is already on its way there. */
  #malformed(error: Error & { code?: string }, socket: Duplex): void {
    const connection = this.#connections.get(socket);
    const begun = (connection?.answers ?? []).some((response) => response.headersSent);
    if (error.code === "ECONNRESET" || begun) return void socket.destroy();
    const problem = malformedFault(error.code);
    // Who sends no more before the end of a body has left, as a rule: it hears of it in case it has not.
    if (connection !== undefined && error.code !== "HPE_INVALID_EOF_STATE") connection.refusal = problem;
    answerByHand(socket, problem, this.#deps.ids.next("req_"));
  }
}

type Call = {
  readonly request: Incoming;
  readonly response: Outgoing;
  readonly startedMs: number;
  readonly baseHeaders: Record<string, string>;
  requestId: string;
  routeId: string;
  errors: Route["errors"];
  sink: EdgeResponseSink | undefined;
  workspaceId: string | undefined;
  /** Of the answer and its handler: an answer that its client has left may still be heard, and is settled then. */
  going: number;
};

type Arrived = {
  readonly call: Call;
  readonly match: Match;
  readonly query: string;
  readonly address: string;
  readonly receivedAtMs: number;
};

type Checked = {
  readonly actor: Actor | undefined;
  readonly principal: Principal | undefined;
  readonly refusal: Fault | undefined;
  /** The body, where it is being read already. */
  readonly reading?: Promise<Buffer> | undefined;
};

function wrongWay({ method = "", headers }: Incoming, path: string, allow: readonly string[]): Fault {
  const wantsSocket = method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
  return wantsSocket && allow.includes("POST") ? noWebSocket(allow) : wrongMethod(method, path, allow);
}

/** What these answer depends on what was changed anywhere a moment ago. */
function asksOfOthers({ path }: Route): boolean {
  return isOfManagement(path) || path.startsWith("/payments/");
}

/** What the management API answers is for its caller alone, and is what it says it is. */
const PRIVATE_HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;

/** No page of another origin reads it, whatever CORS allows elsewhere. */
function isOfManagement(path: string): boolean {
  return path === "/manage" || path.startsWith("/manage/");
}

/** Handlers only read it. */
const NO_QUERY = new URLSearchParams();

/** Neither counted nor refused by the limit of an address: behind one that many share, either would end the gateway. */
const PROBES: ReadonlySet<string> = new Set(["getHealth", "getReadiness"]);

/** The id of an answer is the id of its request, in the form the dialect expects. */
const ID_PREFIXES: Readonly<Record<string, string>> = {
  createChatCompletion: "chatcmpl-",
  createMessage: "msg_",
  createResponse: "resp_",
  createDecision: "dec_",
  createOpenaiDecision: "dec_",
};

/** A proxy may send the whole address; only path and query say what is asked. */
function originForm(url: string): string {
  return url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?#]*/i, "") || "/";
}

function pathOf(url: string | undefined): string {
  return originForm(url ?? "/").replace(/\?.*$/s, "");
}
