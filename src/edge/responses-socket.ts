import type { IncomingHttpHeaders } from "node:http";
import type { WebSocket } from "ws";
import { type Exchange, type Handler, rejectUpload } from "../app/exchange.ts";
import { BODY_LIMITS, parseJson } from "../app/request-input.ts";
import {
  type ConversationMemory,
  SocketConversation,
  type SocketCreate,
} from "../app/responses/socket-conversation.ts";
import { toFault } from "../app/to-fault.ts";
import { envelopeOf } from "../contract/error-envelope.ts";
import { type Fault, fault, invalidValue } from "../contract/faults.ts";
import type { Route } from "../contract/route.ts";
import type { ParsedBody } from "../kit/json.ts";
import type { JsonInTurns } from "../kit/json-in-turns.ts";
import { cancelTimer, type Timer, type Timers } from "../kit/timers.ts";
import type { KeyAuthenticator, KeyCheck } from "./authenticate.ts";
import type { EdgeDeps, KnownSecrets } from "./edge-deps.ts";
import { addressRateLimitFault, stoppingFault } from "./edge-faults.ts";
import { recheckIfStale } from "./recheck-if-stale.ts";
import { redactFault } from "./send-response.ts";
import { bodyOf, SocketResponseSink, serviceValues } from "./socket-response-sink.ts";

export type ResponsesSocketRules = {
  /** A connection without a request for this long is closed. */
  readonly idleMs: number;
  /** Older connections are closed between responses. */
  readonly ageMsMax: number;
  readonly pingEveryMs: number;
};

export type ResponsesSocketDeps = Pick<
  EdgeDeps,
  "clock" | "ids" | "addressLimit" | "fleet" | "metrics" | "onServerFault" | "timeouts"
> & {
  readonly timers: Timers;
  readonly rules: ResponsesSocketRules;
  readonly memory: ConversationMemory;
  readonly authenticator: KeyAuthenticator;
  readonly route: Route;
  readonly handler: Handler;
  readonly secretsOf: KnownSecrets;
  readonly json: JsonInTurns;
  /** Counts requests in flight, which a drain waits for. */
  readonly listener: { inFlight: number };
};

type Handshake = {
  readonly headers: IncomingHttpHeaders;
  readonly clientAddress: string;
  readonly workspaceId: string;
};
type Create = { readonly event: ParsedBody; readonly streamId: string | undefined };
/** Creates of one `stream_id` are answered in order. */
type Lane = { isRunning: boolean; waiting: Create | undefined };

const LANES_MAX = 8;
const STREAM_ID = /^[A-Za-z0-9_.-]{1,256}$/;
const CLOSE = { goingAway: 1001, unsupportedData: 1003, policyViolation: 1008, internalError: 1011 } as const;
/** A key with one of these cannot send another request. */
const KEY_FAULTS: ReadonlySet<string> = new Set(["invalid_api_key", "expired_api_key", "ip_not_allowed"]);

/** One connection of a client: every `response.create` is a request of its own. */
export class ResponsesSocket {
  readonly #ws: WebSocket;
  readonly #handshake: Handshake;
  readonly #deps: ResponsesSocketDeps;
  readonly #conversation: SocketConversation;
  readonly #lanes = new Map<string, Lane>();
  readonly #sinks = new Set<SocketResponseSink>();
  readonly #idle: Timer;
  readonly #age: Timer;
  #ping: Timer;
  #isAlive = true;
  #workspaceId: string | undefined;
  /** Set once no further request is accepted. */
  #closing: string | undefined;

  constructor(ws: WebSocket, handshake: Handshake, deps: ResponsesSocketDeps) {
    const { timers, rules } = deps;
    this.#ws = ws;
    this.#handshake = handshake;
    this.#deps = deps;
    this.#conversation = new SocketConversation(deps.memory);
    this.#idle = timers.after(rules.idleMs, () => {
      if (this.#lanes.size === 0) this.drain("idle");
    });
    this.#age = timers.after(rules.ageMsMax, () => this.drain("connections are closed after an hour"));
    this.#ping = timers.after(rules.pingEveryMs, () => this.#checkAlive());
    ws.on("message", (data, isBinary) => this.#receive(data, isBinary));
    ws.on("pong", () => {
      this.#isAlive = true;
    });
    // The close event follows.
    ws.on("error", () => undefined);
    ws.on("close", () => this.#end());
  }

  /** Closes the connection after the responses that are running. */
  drain(reason: string): void {
    this.#closing ??= reason;
    if (this.#lanes.size === 0) this.#ws.close(CLOSE.goingAway, this.#closing);
  }

  terminate(): void {
    this.#ws.terminate();
  }

  #end(): void {
    for (const timer of [this.#idle, this.#age, this.#ping]) cancelTimer(timer);
    for (const lane of this.#lanes.values()) lane.waiting = undefined;
    for (const sink of this.#sinks) sink.handleClose();
    this.#conversation.forget();
  }

  #checkAlive(): void {
    if (!this.#isAlive) {
      this.#ws.terminate();
      return;
    }
    this.#isAlive = false;
    this.#ws.ping();
    this.#ping = this.#deps.timers.after(this.#deps.rules.pingEveryMs, () => this.#checkAlive());
  }

  #receive(data: unknown, isBinary: boolean): void {
    this.#isAlive = true;
    this.#idle.refresh();
    if (isBinary || !Buffer.isBuffer(data)) {
      this.#ws.close(CLOSE.unsupportedData, "frames must be text");
      return;
    }
    let streamId: string | undefined;
    try {
      const event = parseJson(data, BODY_LIMITS);
      streamId = streamIdOf(event);
      if (event.value["type"] !== "response.create")
        throw invalidValue("type", 'must be "response.create": other events are not supported');
      this.#enqueue({ event, streamId });
    } catch (error) {
      this.#sendFault(toFault(error), this.#deps.ids.next("resp_"), streamId);
    }
  }

  /** One response at a time in each lane, and one that waits for it. */
  #enqueue(create: Create): void {
    if (this.#closing !== undefined) throw stoppingFault();
    const name = create.streamId ?? "";
    const lane = this.#lanes.get(name);
    if (lane?.waiting !== undefined)
      throw invalidValue(
        "type",
        "is a third response.create, while one is running and one is waiting. Wait for a response to end",
      );
    if (lane !== undefined) {
      lane.waiting = create;
      return;
    }
    if (this.#lanes.size >= LANES_MAX)
      throw invalidValue("stream_id", `is one too many: ${LANES_MAX} responses are running on this connection`);
    this.#lanes.set(name, { isRunning: true, waiting: undefined });
    void this.#runLane(name, create);
  }

  async #runLane(name: string, first: Create): Promise<void> {
    let next: Create | undefined = first;
    while (next !== undefined) {
      await this.#run(next);
      const lane = this.#lanes.get(name);
      next = lane?.waiting;
      if (lane !== undefined) lane.waiting = undefined;
    }
    this.#lanes.delete(name);
    this.#idle.refresh();
    if (this.#closing !== undefined) this.drain(this.#closing);
  }

  async #run({ event, streamId }: Create): Promise<void> {
    const { clock, ids, listener, metrics, timers, timeouts, route, json } = this.#deps;
    const requestId = ids.next("resp_");
    const startedMs = clock.monotonicMs();
    let create: SocketCreate | undefined;
    let status = 200;
    const sink = new SocketResponseSink(this.#ws, {
      streamId,
      timers,
      json,
      workspaceId: this.#handshake.workspaceId,
      stallMs: timeouts.stallMs,
      onEvent: (written) => {
        if (create === undefined || !FINISHED.has(written.event ?? "")) return;
        const body = bodyOf(written);
        if (body !== undefined) this.#conversation.remember(create, body);
      },
    });
    this.#sinks.add(sink);
    listener.inFlight += 1;
    try {
      create = this.#conversation.read(event);
      await this.#serve(create, requestId, startedMs, sink);
      // The next response of the lane follows the last event of this one.
      await sink.writing;
    } catch (error) {
      const problem = toFault(error);
      status = problem.status;
      if (sink.started) this.#ws.close(CLOSE.internalError, "the response is incomplete");
      else this.#sendFault(problem, requestId, streamId);
    } finally {
      listener.inFlight -= 1;
      this.#sinks.delete(sink);
      metrics.recordHttpResponse(route.id, status, clock.monotonicMs() - startedMs);
    }
  }

  async #serve(create: SocketCreate, requestId: string, startedMs: number, sink: SocketResponseSink): Promise<void> {
    const { clock, addressLimit, route, handler } = this.#deps;
    const { headers, clientAddress } = this.#handshake;
    const waitSeconds = addressLimit.consume(clientAddress);
    if (waitSeconds !== undefined) throw addressRateLimitFault(waitSeconds);
    const baseHeaders: Record<string, string> = {
      "x-svc-request-id": requestId,
      "x-request-id": requestId,
      "request-id": requestId,
    };
    const receivedAtMs = clock.nowMs();
    const { principal, refusal } = await this.#authenticate({
      request: { headers },
      baseHeaders,
      clientAddress,
      receivedAtMs,
      errorShape: route.errors,
    });
    if (create.isWarmUp) {
      if (refusal !== undefined) throw refusal;
      const head = { id: requestId, nowMs: receivedAtMs, svc: serviceValues(baseHeaders) };
      for (const event of this.#conversation.warmUp(create, head)) sink.sendEvent(event);
      return;
    }
    const exchange: Exchange = {
      requestId,
      route,
      params: {},
      query: NO_QUERY,
      headers,
      clientAddress,
      receivedAtMs,
      startedMs,
      principal,
      baseHeaders,
      // Thrown to the handler, so that the pipeline records the refusal.
      body: () => (refusal === undefined ? Promise.resolve(create.body) : Promise.reject(refusal)),
      upload: rejectUpload,
    };
    if (handler.kind !== "streamed") throw new Error(`${route.id} is not streamed`);
    await handler.handle(exchange, sink);
  }

  /** The key is checked and counted for each request, as over HTTP. */
  async #authenticate(exchange: Parameters<KeyAuthenticator["check"]>[0]): Promise<KeyCheck> {
    const { authenticator, fleet, route } = this.#deps;
    const principal = await authenticator.identify(exchange);
    this.#workspaceId = principal.workspace.id;
    const check = await authenticator.check(exchange, route, principal);
    return fleet.isSingleInstance ? check : recheckIfStale(authenticator, fleet, exchange, route, check);
  }

  #sendFault(problem: Fault, requestId: string, streamId: string | undefined): void {
    const { onServerFault, secretsOf } = this.#deps;
    const shown = redactFault(problem, secretsOf(this.#workspaceId));
    if (shown.status >= 500) onServerFault(shown, requestId);
    const { error } = envelopeOf(shown, requestId);
    const frame = {
      type: "error",
      status: shown.status,
      error,
      ...(shown.headers === undefined ? {} : { headers: shown.headers }),
      ...(streamId === undefined ? {} : { stream_id: streamId }),
    };
    this.#ws.send(JSON.stringify(frame));
    if (KEY_FAULTS.has(shown.code)) this.#ws.close(CLOSE.policyViolation, shown.code);
  }
}

/** Events after which a response can be continued. */
const FINISHED: ReadonlySet<string> = new Set(["response.completed", "response.incomplete"]);
const NO_QUERY = new URLSearchParams();

function streamIdOf({ value: { stream_id: id } }: ParsedBody): string | undefined {
  if (id === undefined || id === null) return undefined;
  if (typeof id === "string" && STREAM_ID.test(id)) return id;
  throw invalidValue("stream_id", "must have 1 to 256 letters, digits, '_', '.' or '-'");
}

export function tooManyConnectionsFault(limit: number): Fault {
  return fault("websocket_connection_limit_reached", {
    message: `This key has ${limit} open WebSocket connections, the most that it may have at this instance. Close one, or use POST /v1/responses.`,
    headers: { connection: "close, upgrade", upgrade: "websocket" },
  });
}
