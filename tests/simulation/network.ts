import type {
  Transport,
  UpstreamBodyHandler,
  UpstreamFailure,
  UpstreamRequest,
  UpstreamResponseHandler,
} from "../../src/io/upstream/transport.ts";
import type { ClientRequest } from "./client-request.ts";
import { type Answer, drawAnswer, LIES } from "./replies.ts";
import { mayRetrySameEndpoint, type Patience, type Step, scriptOf, type Trouble } from "./script.ts";
import type { World } from "./world.ts";

const PATIENCE: Patience = { connectMs: 700, firstByteMs: 2500, idleMs: 2000 };

/** One call as the network saw it. */
export type Call = {
  readonly endpointId: string;
  readonly provider: string;
  readonly trouble: Trouble | "well";
  readonly answer: Answer;
  readonly startedAtMs: number;
  /** Not its request's first. */
  readonly isFurther: boolean;
  state: "open" | "over";
};

/** The providers and the connections to them. Every byte that leaves a gateway passes here and is checked here. */
export class Network {
  readonly #world: World;
  readonly #open = new Set<Call>();

  constructor(world: World) {
    this.#world = world;
  }

  /** The connections of one process; they end with it. */
  transport(isAlive: () => boolean): Transport {
    return {
      send: (request, listener) => this.#send(request, listener, isAlive),
      release: () => undefined,
      close: async () => undefined,
    };
  }

  /** A crashed process reads nothing more. */
  cutAll(): void {
    for (const call of this.#open) call.state = "over";
    this.#open.clear();
  }

  openAt(endpointId: string): number {
    let count = 0;
    for (const call of this.#open) if (call.endpointId === endpointId) count += 1;
    return count;
  }

  /** Whether a request still has an open call. */
  isBusyFor(visit: ClientRequest): boolean {
    return visit.calls.some((call) => this.#open.has(call));
  }

  get furtherOpen(): number {
    let count = 0;
    for (const call of this.#open) if (call.isFurther) count += 1;
    return count;
  }

  #send({ url, headers, body: sent }: UpstreamRequest, listener: UpstreamResponseHandler, isAlive: () => boolean) {
    const world = this.#world;
    const body = typeof sent === "string" ? sent : "";
    const mark = /<c\d+>/.exec(body)?.[0] ?? "";
    const visit = world.visitBy(mark);
    const address = url.slice(0, url.lastIndexOf("/")).replace(/\/chat$/, "");
    const endpointId = world.endpointAt(address);
    if (visit === undefined || endpointId === undefined) {
      world.broken("network", `unknown: ${visit === undefined ? `the request ${mark}` : `the address ${address}`}`);
      return { abort() {}, resume() {} };
    }
    const call = this.#begin(visit, endpointId, body);
    world.checks.onUpstreamCall(visit, call, {
      address,
      authorization: headers["authorization"] ?? headers["x-api-key"],
      body,
    });
    visit.calls.push(call);
    this.#open.add(call);
    const steps = scriptOf(
      call.trouble,
      {
        dialect: url.endsWith("/messages") ? "D2" : "D1",
        streaming: visit.streaming,
        answer: call.answer,
        patience: PATIENCE,
        pauseMs: world.shape.isCalm ? 60 : 1900,
      },
      world.chance,
    );
    const connection = new Connection(world, visit, call, steps, listener, isAlive, () => this.#open.delete(call));
    connection.play();
    return connection;
  }

  #begin(visit: ClientRequest, endpointId: string, body: string): Call {
    const { chance, shape, scheduler } = this.#world;
    const provider = endpointId.split(":")[0] ?? "";
    const trouble = shape.troubleFor(provider, scheduler.monotonicMs());
    const figures = trouble === "lie" ? chance.pick(LIES) : "honest";
    if (!body.includes(visit.mark)) this.#world.broken("network", "the question was changed on its way");
    return {
      endpointId,
      provider,
      trouble,
      answer: drawAnswer(chance, visit.mark, visit.maxTokens, figures),
      startedAtMs: scheduler.monotonicMs(),
      isFurther: visit.calls.length > 0,
      state: "open",
    };
  }
}

/** Whether a request may retry an endpoint it called before. */
export function wasRejectedBy(visit: ClientRequest, endpointId: string): boolean {
  return visit.calls
    .filter((call) => call.endpointId === endpointId)
    .every(({ trouble }) => mayRetrySameEndpoint(trouble));
}

/** Plays a script to its listener, with backpressure and aborts. */
class Connection {
  readonly #world: World;
  readonly #visit: ClientRequest;
  readonly #call: Call;
  readonly #steps: readonly Step[];
  readonly #listener: UpstreamResponseHandler;
  readonly #isAlive: () => boolean;
  readonly #closed: () => void;
  #at = 0;
  #reader: UpstreamBodyHandler | undefined;
  #paused = false;
  #waits = false;
  #sent = false;

  constructor(
    world: World,
    visit: ClientRequest,
    call: Call,
    steps: readonly Step[],
    listener: UpstreamResponseHandler,
    isAlive: () => boolean,
    closed: () => void,
  ) {
    this.#world = world;
    this.#visit = visit;
    this.#call = call;
    this.#steps = steps;
    this.#listener = listener;
    this.#isAlive = isAlive;
    this.#closed = closed;
  }

  play(): void {
    const step = this.#steps[this.#at];
    this.#at += 1;
    if (step === undefined) this.#close();
    else this.#world.scheduler.after(step.afterMs, () => this.#arrive(step));
  }

  /** Delivered at once, or a little later, as on a real socket. */
  abort(): void {
    if (this.#call.state === "over") return;
    this.#closed();
    this.#world.circuits.unclear(this.#call.endpointId);
    const failure: UpstreamFailure = { kind: "aborted", sent: this.#sent, why: "aborted" };
    if (this.#world.chance.is(0.5)) this.#fail(failure);
    else this.#world.scheduler.after(this.#world.chance.between(0, 80), () => this.#fail(failure));
  }

  resume(): void {
    this.#paused = false;
    if (!this.#waits) return;
    this.#waits = false;
    this.play();
  }

  #arrive(step: Step): void {
    if (this.#call.state === "over" || !this.#isAlive()) return;
    switch (step.is) {
      case "fail":
        this.#sent ||= step.failure.sent;
        this.#fail(step.failure);
        return;
      case "head":
        this.#sent = true;
        this.#reader = this.#listener.onHeaders(step.status, step.headers);
        this.play();
        return;
      case "data": {
        if (step.isLast) this.#closed();
        if (this.#reader?.onData(Buffer.from(step.text)) === "pause") this.#paused = true;
        if (this.#paused) this.#waits = true;
        else this.play();
        return;
      }
      case "end":
        this.#close();
        this.#reader?.onEnd();
        return;
    }
  }

  #fail(failure: UpstreamFailure): void {
    if (this.#call.state === "over" || !this.#isAlive()) return;
    this.#close();
    if (this.#reader === undefined) this.#listener.onFailure(failure);
    else this.#reader.onFailure(failure);
  }

  #close(): void {
    const { circuits, scheduler } = this.#world;
    if (this.#visit.sink.disconnected) circuits.unclear(this.#call.endpointId);
    else circuits.ended(this.#call, scheduler.monotonicMs());
    this.#call.state = "over";
    this.#closed();
  }
}
