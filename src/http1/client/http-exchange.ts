import type { IncomingHttpHeaders } from "node:http";
import type {
  UpstreamBody,
  UpstreamBodyHandler,
  UpstreamCall,
  UpstreamFailure,
  UpstreamResponseHandler,
} from "../../io/upstream/transport.ts";
import { HttpFault } from "./http-fault.ts";
import type { SerializedHead } from "./request-head.ts";

/** Where a call is: in the queue of an origin, or on a connection. */
export type ExchangeOwner = {
  /** The call is over: nothing more is done for it here. */
  drop(call: HttpExchange): void;
  resume(): void;
};

/** The gateway itself ends. */
export const CLIENT_CLOSED = new Error("the gateway stops");
const ABORTED = new Error("aborted by the gateway");

/** One request and its answer, wherever it is. Whoever asked hears of exactly one end. */
export class HttpExchange implements UpstreamCall {
  readonly head: SerializedHead;
  readonly body: UpstreamBody | undefined;
  readonly #listener: UpstreamResponseHandler;
  #owner: ExchangeOwner | undefined;
  #reader: UpstreamBodyHandler | undefined;
  #isSent = false;
  #isDone = false;

  constructor(head: SerializedHead, body: UpstreamBody | undefined, listener: UpstreamResponseHandler) {
    this.head = head;
    this.body = body;
    this.#listener = listener;
  }

  assignTo(place: ExchangeOwner): void {
    this.#owner = place;
  }

  /** From here on the provider may have heard of it. */
  markSent(): void {
    this.#isSent = true;
  }

  /** Heard at once, also by a call that still waits for a connection: nobody waits for its turn to end it. */
  abort(): void {
    if (this.#isDone) return;
    // First, because whoever hears of it may ask for something else at once, which must not move this one on.
    this.#owner?.drop(this);
    this.#fail("aborted", ABORTED);
  }

  /** Its connection may carry another call by now. */
  resume(): void {
    if (!this.#isDone) this.#owner?.resume();
  }

  /** Whether its answer has begun. */
  get hasResponse(): boolean {
    return this.#reader !== undefined;
  }

  onHead(status: number, headers: IncomingHttpHeaders): void {
    if (!this.#isDone) this.#reader = this.#listener.onHeaders(status, headers);
  }

  onData(bytes: Buffer): "more" | "pause" {
    return this.#isDone || this.#reader === undefined ? "more" : this.#reader.onData(bytes);
  }

  onEnd(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    try {
      this.#reader?.onEnd();
    } catch (error) {
      // A reader that chokes on an answer has not said how it ended: its request must not wait for ever.
      this.#reader?.onFailure({ kind: "broken", sent: true, why: errorCodeOf(error) });
    }
  }

  onFailure(error: unknown): void {
    this.#fail(failureKindOf(error, this.#isSent), error);
  }

  #fail(kind: UpstreamFailure["kind"], error: unknown): void {
    if (this.#isDone) return;
    this.#isDone = true;
    const failure: UpstreamFailure = { kind, sent: this.#isSent, why: errorCodeOf(error) };
    if (this.#reader === undefined) this.#listener.onFailure(failure);
    else this.#reader.onFailure(failure);
  }
}

function failureKindOf(error: unknown, sent: boolean): UpstreamFailure["kind"] {
  if (error === CLIENT_CLOSED) return "stopped";
  const code = error instanceof HttpFault ? error.code : undefined;
  if (code === "HTTP_CONNECT_TIMEOUT" || code === "HTTP_FIRST_BYTE_TIMEOUT" || code === "HTTP_IDLE_TIMEOUT")
    return "timeout";
  return sent ? "broken" : "connect";
}

/** Codes and class names only: messages of the network stack can carry addresses and headers. */
export function errorCodeOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown fault";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
