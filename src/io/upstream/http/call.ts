import type { IncomingHttpHeaders } from "node:http";
import type { BodyReader, UpstreamBody, UpstreamCall, UpstreamFailure, UpstreamListener } from "../transport.ts";
import { HttpFault } from "./fault.ts";
import type { HeadText } from "./request-head.ts";

/** Where a call is: in the queue of an origin, or on a connection. */
export type Place = {
  /** The call is over: nothing more is done for it here. */
  leave(call: HttpCall): void;
  resume(): void;
};

/** The gateway itself ends. */
export const STOPPED = new Error("the gateway stops");
const ABORTED = new Error("aborted by the gateway");

/** One request and its answer, wherever it is. Whoever asked hears of exactly one end. */
export class HttpCall implements UpstreamCall {
  readonly head: HeadText;
  readonly body: UpstreamBody | undefined;
  readonly #listener: UpstreamListener;
  #place: Place | undefined;
  #reader: BodyReader | undefined;
  #sent = false;
  #over = false;

  constructor(head: HeadText, body: UpstreamBody | undefined, listener: UpstreamListener) {
    this.head = head;
    this.body = body;
    this.#listener = listener;
  }

  movedTo(place: Place): void {
    this.#place = place;
  }

  /** From here on the provider may have heard of it. */
  goes(): void {
    this.#sent = true;
  }

  /** Heard at once, also by a call that still waits for a connection: nobody waits for its turn to end it. */
  abort(): void {
    if (this.#over) return;
    // First, because whoever hears of it may ask for something else at once, which must not move this one on.
    this.#place?.leave(this);
    this.#fail("aborted", ABORTED);
  }

  /** Its connection may carry another call by now. */
  resume(): void {
    if (!this.#over) this.#place?.resume();
  }

  /** Whether its answer has begun. */
  get isAnswered(): boolean {
    return this.#reader !== undefined;
  }

  answered(status: number, headers: IncomingHttpHeaders): void {
    if (!this.#over) this.#reader = this.#listener.answered(status, headers);
  }

  piece(bytes: Buffer): "more" | "pause" {
    return this.#over || this.#reader === undefined ? "more" : this.#reader.data(bytes);
  }

  ended(): void {
    if (this.#over) return;
    this.#over = true;
    try {
      this.#reader?.end();
    } catch (error) {
      // A reader that chokes on an answer has not said how it ended: its request must not wait for ever.
      this.#reader?.failed({ kind: "broken", sent: true, why: whyOf(error) });
    }
  }

  broke(error: unknown): void {
    this.#fail(kindOf(error, this.#sent), error);
  }

  #fail(kind: UpstreamFailure["kind"], error: unknown): void {
    if (this.#over) return;
    this.#over = true;
    const failure: UpstreamFailure = { kind, sent: this.#sent, why: whyOf(error) };
    if (this.#reader === undefined) this.#listener.failed(failure);
    else this.#reader.failed(failure);
  }
}

function kindOf(error: unknown, sent: boolean): UpstreamFailure["kind"] {
  if (error === STOPPED) return "stopped";
  const code = error instanceof HttpFault ? error.code : undefined;
  if (code === "HTTP_CONNECT_TIMEOUT" || code === "HTTP_FIRST_BYTE_TIMEOUT" || code === "HTTP_IDLE_TIMEOUT")
    return "timeout";
  return sent ? "broken" : "connect";
}

/** Codes and class names only: messages of the network stack can carry addresses and headers. */
export function whyOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown fault";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
