import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Exchange, Handler } from "../app/exchange.ts";
import { Fault, fault } from "../contract/faults.ts";
import type { Route } from "../contract/route.ts";
import type { SharedState } from "../domain/admission/admission.ts";
import type { Directory } from "../domain/tenancy/directory.ts";
import type { Principal } from "../domain/tenancy/key.ts";
import type { AddressList } from "../kit/cidr.ts";
import type { Clock } from "../kit/clock.ts";
import type { Ids } from "../kit/ids.ts";
import { redacted } from "../kit/secret.ts";
import { clientAddress } from "./address.ts";
import { authenticateKey, authenticateOperator, scopeFault } from "./authenticate.ts";
import { awaitsContinue, type BodyLimits, readBody } from "./body.ts";
import { answerByHand, HEADER_BYTES_MAX, malformedFault, noTunnel } from "./by-hand.ts";
import { type CorsPolicy, corsHeaders, isPreflight } from "./cors.ts";
import type { IpLimit } from "./ip-limit.ts";
import { internalFault, noHost, starting, tooManyFromAddress, unknownPath, wrongMethod } from "./refusals.ts";
import { sendFault, sendReply } from "./respond.ts";
import { type Match, Router } from "./router.ts";
import { ResponseSink } from "./sink.ts";

export type EdgeDeps = {
  readonly routes: readonly Route[];
  readonly directory: Directory;
  readonly state: SharedState;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ipLimit: IpLimit;
  readonly trustedProxies: AddressList | undefined;
  readonly adminToken: string;
  /** Credentials of the platform at providers: no refusal leaves with one in it, whoever wrote its message. */
  readonly credentials: readonly string[];
  readonly bodyLimits: BodyLimits;
  readonly cors: CorsPolicy;
  /** How long a client may take to send its headers and its whole request; looked at every `checkEveryMs`. */
  readonly patience: {
    readonly headersMs: number;
    readonly requestMs: number;
    readonly checkEveryMs: number;
    /** How long a client may take nothing of an answer that waits for it. */
    readonly stallMs: number;
  };
  readonly rpmDefaults: { readonly live: number; readonly test: number };
  /** Told of faults that are the gateway's own, with their private detail. */
  readonly alarmed: (problem: Fault, requestId: string) => void;
  readonly answered: (routeId: string, status: number, durationMs: number) => void;
};

const KEEP_ALIVE_MS = 65_000;

/** HTTP in: id, address, route, key, limits; then the handler of the route. */
export class Edge {
  readonly server: Server;
  readonly #deps: EdgeDeps;
  readonly #router: Router;
  /** The answers each connection still owes: more than one when requests are pipelined. */
  // Lists, not sets: a set that is filled and emptied for every request leaves a chain of dead tables behind, which
  // keeps each answer alive until the next full collection.
  readonly #answers = new WeakMap<Duplex, ServerResponse[]>();
  #handlers: Readonly<Record<string, Handler>> | undefined;
  #running = 0;
  #draining = false;

  constructor(deps: EdgeDeps) {
    this.#deps = deps;
    this.#router = new Router(deps.routes);
    this.server = createServer(
      {
        maxHeaderSize: HEADER_BYTES_MAX,
        headersTimeout: deps.patience.headersMs,
        requestTimeout: deps.patience.requestMs,
        connectionsCheckingInterval: deps.patience.checkEveryMs,
        keepAliveTimeout: KEEP_ALIVE_MS,
        // Node would answer a missing Host with an empty 400; ours says what is wrong.
        requireHostHeader: false,
      },
      (request, response) => void this.#take(request, response),
    );
    // "100 Continue" is sent when the body is wanted, so that a refusal saves the upload. Other expectations are ignored.
    this.server.on("checkContinue", (request, response) => void this.#take(request, response));
    this.server.on("checkExpectation", (request, response) => void this.#take(request, response));
    this.server.on("connect", (_request, socket) => answerByHand(socket, noTunnel(), this.#deps.ids.next("req_")));
    // One timer per connection, kept alive by whatever moves on it: a connection that is merely waiting for a provider
    // is left alone, one whose client takes nothing of what was sent is closed.
    this.server.setTimeout(deps.patience.stallMs, (socket) => {
      if (socket.writableLength > 0) socket.destroy();
    });
    this.server.on("clientError", (error, socket) => this.#malformed(error, socket));
  }

  /** Requests that are not yet answered. */
  get running(): number {
    return this.#running;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Takes the port. Until `open` every call is told to come back. */
  listen(host: string, port: number): Promise<string> {
    return new Promise((resolve, reject) => {
      this.server.once("error", reject);
      this.server.listen(port, host, () => {
        this.server.off("error", reject);
        const address = this.server.address();
        const bound = typeof address === "object" && address !== null ? address.port : port;
        resolve(`http://${host.includes(":") ? `[${host}]` : host}:${bound}`);
      });
    });
  }

  open(handlers: Readonly<Record<string, Handler>>): void {
    const missing = this.#deps.routes.filter(({ id }) => handlers[id] === undefined).map(({ id }) => id);
    if (missing.length > 0) throw new Error(`routes without a handler: ${missing.join(", ")}`);
    this.#handlers = handlers;
  }

  /** Stops taking connections, lets running requests finish, then cuts what is left. */
  async drain(timeoutMs: number): Promise<void> {
    this.#draining = true;
    this.server.close();
    const deadline = this.#deps.clock.elapsedMs() + timeoutMs;
    while (this.#running > 0 && this.#deps.clock.elapsedMs() < deadline) {
      this.server.closeIdleConnections();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    this.server.closeAllConnections();
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#running += 1;
    const startedMs = this.#deps.clock.elapsedMs();
    const call: Call = { request, response, startedMs, requestId: "", baseHeaders: {}, routeId: "unknown" };
    const answers = this.#answers.get(request.socket) ?? [];
    if (answers.push(response) === 1) this.#answers.set(request.socket, answers);
    response.once("close", () => {
      this.#running -= 1;
      answers.splice(answers.indexOf(response), 1);
      this.#deps.answered(call.routeId, response.statusCode, this.#deps.clock.elapsedMs() - startedMs);
    });
    try {
      await this.#answer(call);
    } catch (error) {
      this.#refuse(call, error);
    }
  }

  async #answer(call: Call): Promise<void> {
    const { request, response } = call;
    const url = originForm(request.url ?? "/");
    const mark = url.indexOf("?");
    const path = mark < 0 ? url : url.slice(0, mark);
    const lookup = this.#router.find(request.method ?? "GET", path);
    this.#identify(call, lookup.is === "found" ? lookup.match.route : undefined);
    const address = clientAddress(request, this.#deps.trustedProxies);
    const waitSeconds = this.#deps.ipLimit.take(address);
    if (request.headers.host === undefined && request.httpVersion === "1.1") throw noHost();
    if (lookup.is !== "unknown" && isPreflight(request)) {
      sendReply(request, response, { status: 204 }, call.baseHeaders);
      return;
    }
    if (lookup.is === "unknown") throw unknownPath(request.method ?? "GET", path);
    if (lookup.is === "wrong_method") throw wrongMethod(request.method ?? "", lookup.allow);
    if (waitSeconds !== undefined) throw tooManyFromAddress(waitSeconds);
    await this.#handle(call, lookup.match, mark < 0 ? "" : url.slice(mark + 1), address);
  }

  #identify(call: Call, route: Route | undefined): void {
    call.requestId = this.#deps.ids.next(ID_PREFIXES[route?.id ?? ""] ?? "req_");
    call.routeId = route?.id ?? "unknown";
    const { baseHeaders, requestId } = call;
    baseHeaders["x-svc-request-id"] = requestId;
    baseHeaders["x-request-id"] = requestId;
    baseHeaders["request-id"] = requestId;
    if (this.#draining) baseHeaders["connection"] = "close";
    Object.assign(baseHeaders, corsHeaders(call.request, this.#deps.cors));
  }

  async #handle(call: Call, { route, params }: Match, query: string, address: string): Promise<void> {
    if (this.#handlers === undefined) throw starting();
    const { request, response } = call;
    const receivedAtMs = this.#deps.clock.nowMs();
    const principal = this.#authenticate(request, route, address, receivedAtMs);
    const within = principal === undefined ? undefined : this.#window(call, principal, route);
    // Refused by the window or not: whoever reads the body hears of it first.
    within?.catch(() => undefined);
    const outside = principal === undefined ? undefined : scopeFault(principal, route);
    if (outside !== undefined) {
      // A refused call counts like any other; the scope answers first, whatever the window says.
      await within?.catch(() => undefined);
      throw outside;
    }
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
      baseHeaders: call.baseHeaders,
      body: async () => {
        if (awaitsContinue(request)) await within;
        const reading = readBody(request, route.intake, this.#deps.bodyLimits, () => {
          if (awaitsContinue(request)) response.writeContinue();
        });
        reading.catch(() => undefined);
        await within;
        return reading;
      },
    };
    if (route.intake === "none") await within;
    const handler = this.#handlers?.[route.id];
    if (handler === undefined) throw starting();
    if (handler.kind === "streamed") await handler.handle(exchange, new ResponseSink(response));
    else sendReply(request, response, await handler.handle(exchange), call.baseHeaders);
  }

  #authenticate(request: IncomingMessage, route: Route, address: string, nowMs: number): Principal | undefined {
    const { access } = route;
    if (access.by === "key") return authenticateKey(request.headers, address, this.#deps.directory, nowMs);
    if (access.by === "operator") authenticateOperator(request.headers, this.#deps.adminToken);
    return undefined;
  }

  /** Counts the call where its route counts; says in any case how the window stands. */
  async #window(call: Call, { key }: Principal, { counted }: Route): Promise<void> {
    const limit = key.rpm ?? this.#deps.rpmDefaults[key.environment];
    const { state } = this.#deps;
    const verdict = await (counted ? state.window(key.id, limit) : state.look(key.id, limit));
    const headers = {
      "x-ratelimit-limit": String(verdict.limit),
      "x-ratelimit-remaining": String(verdict.remaining),
      "x-ratelimit-reset": String(Math.ceil(verdict.resetAtMs / 1000)),
    };
    Object.assign(call.baseHeaders, headers);
    if (verdict.allowed || !counted) return;
    const waitSeconds = Math.max(1, Math.ceil((verdict.resetAtMs - this.#deps.clock.nowMs()) / 1000));
    throw fault("rate_limit_exceeded", {
      message: `This key is over its limit of ${verdict.limit} requests a minute. Try again in ${waitSeconds} s.`,
      headers: { ...headers, "retry-after": String(waitSeconds) },
    });
  }

  #refuse(call: Call, error: unknown): void {
    const { request, response, requestId, baseHeaders } = call;
    const problem = this.#discreet(error instanceof Fault ? error : internalFault(error));
    // By these headers a caller tells the limit of its key from every other 429, which comes without them.
    if (problem.status === 429) for (const name of RATE_HEADERS) delete baseHeaders[name];
    if (problem.status >= 500) this.#deps.alarmed(problem, requestId);
    if (response.headersSent) response.destroy();
    else sendFault(request, response, problem, requestId, baseHeaders);
  }

  #discreet(problem: Fault): Fault {
    const message = redacted(problem.message, this.#deps.credentials);
    if (message === problem.message) return problem;
    const { code, status, param, headers, detail } = problem;
    return fault(code, {
      message,
      status,
      ...(param === undefined ? {} : { param }),
      ...(headers === undefined ? {} : { headers }),
      ...(detail === undefined ? {} : { detail }),
    });
  }

  /** Not even HTTP: answered by hand on the socket, unless another answer is already on its way there. */
  #malformed(error: Error & { code?: string }, socket: Duplex): void {
    const begun = (this.#answers.get(socket) ?? []).some((response) => response.headersSent);
    if (error.code === "ECONNRESET" || begun) socket.destroy();
    else answerByHand(socket, malformedFault(error.code), this.#deps.ids.next("req_"));
  }
}

type Call = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly startedMs: number;
  readonly baseHeaders: Record<string, string>;
  requestId: string;
  routeId: string;
};

/** Handlers only read it. */
const NO_QUERY = new URLSearchParams();

const RATE_HEADERS = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"] as const;

/** The id of an answer is the id of its request, in the form the dialect expects. */
const ID_PREFIXES: Readonly<Record<string, string>> = { createChatCompletion: "chatcmpl-" };

/** A proxy may send the whole address; only path and query say what is asked. */
function originForm(url: string): string {
  return url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?#]*/i, "") || "/";
}
