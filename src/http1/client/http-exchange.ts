import type { IncomingHttpHeaders } from "node:http";
import type { HttpBody, RequestFailure, RequestHandle, ResponseBodyHandler, ResponseHandler } from "./contract.ts";
import { HttpFault } from "./http-fault.ts";
import type { SerializedHead } from "./request-head.ts";

/** The queue or the connection that an exchange currently belongs to. */
export type ExchangeOwner = {
  /** The exchange ended: release everything held for it. */
  drop(exchange: HttpExchange): void;
  resume(): void;
};

/** The client itself was closed. */
export const CLIENT_CLOSED = new Error("the gateway stops");
const ABORTED = new Error("aborted by the gateway");

/** One request and its response, queued or on a connection. Its handler is notified of exactly one end. */
export class HttpExchange implements RequestHandle {
  readonly head: SerializedHead;
  readonly body: HttpBody | undefined;
  readonly #handler: ResponseHandler;
  #owner: ExchangeOwner | undefined;
  #bodyHandler: ResponseBodyHandler | undefined;
  #isSent = false;
  #isDone = false;

  constructor(head: SerializedHead, body: HttpBody | undefined, handler: ResponseHandler) {
    this.head = head;
    this.body = body;
    this.#handler = handler;
  }

  assignTo(owner: ExchangeOwner): void {
    this.#owner = owner;
  }

  /** From here on the server may have received the request. */
  markSent(): void {
    this.#isSent = true;
  }

  /** Ends the exchange synchronously, also while it is queued. */
  abort(): void {
    if (this.#isDone) return;
    // Leaves its owner first: the handler may send another request, which must not start this one.
    this.#owner?.drop(this);
    this.#fail("aborted", ABORTED);
  }

  /** Ignored after the end: the connection may carry another exchange by then. */
  resume(): void {
    if (!this.#isDone) this.#owner?.resume();
  }

  get hasResponse(): boolean {
    return this.#bodyHandler !== undefined;
  }

  onHead(status: number, headers: IncomingHttpHeaders): void {
    if (!this.#isDone) this.#bodyHandler = this.#handler.onHeaders(status, headers);
  }

  onData(bytes: Buffer): "more" | "pause" {
    return this.#isDone || this.#bodyHandler === undefined ? "more" : this.#bodyHandler.onData(bytes);
  }

  onEnd(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    try {
      this.#bodyHandler?.onEnd();
    } catch (error) {
      // A handler that throws has not ended its request, which would otherwise wait forever.
      this.#bodyHandler?.onFailure({ kind: "broken", sent: true, why: errorCodeOf(error) });
    }
  }

  onFailure(error: unknown): void {
    this.#fail(failureKindOf(error, this.#isSent), error);
  }

  #fail(kind: RequestFailure["kind"], error: unknown): void {
    if (this.#isDone) return;
    this.#isDone = true;
    const failure: RequestFailure = { kind, sent: this.#isSent, why: errorCodeOf(error) };
    if (this.#bodyHandler === undefined) this.#handler.onFailure(failure);
    else this.#bodyHandler.onFailure(failure);
  }
}

function failureKindOf(error: unknown, isSent: boolean): RequestFailure["kind"] {
  if (error === CLIENT_CLOSED) return "stopped";
  const code = error instanceof HttpFault ? error.code : undefined;
  if (code === "HTTP_CONNECT_TIMEOUT" || code === "HTTP_FIRST_BYTE_TIMEOUT" || code === "HTTP_IDLE_TIMEOUT")
    return "timeout";
  return isSent ? "broken" : "connect";
}

/** Codes and class names only: messages of the network stack can contain addresses and headers. */
export function errorCodeOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown fault";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
