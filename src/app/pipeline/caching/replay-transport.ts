import type { ProviderExchange } from "../../../domain/response-cache/cached-reply.ts";
import type {
  Transport,
  UpstreamBodyHandler,
  UpstreamRequest,
  UpstreamResponseHandler,
} from "../../../io/upstream/transport.ts";
import { exchangeDigest } from "./recording-transport.ts";

/** As much as one read from a socket returns. */
const SLICE_BYTES = 64 * 1024;

/** Replies from a record. A request that the record does not have fails, as if nothing had been sent. */
export class ReplayTransport implements Transport {
  readonly isReplay = true;
  readonly #exchanges: readonly ProviderExchange[];

  constructor(exchanges: readonly ProviderExchange[]) {
    this.#exchanges = exchanges;
  }

  send(request: UpstreamRequest, handler: UpstreamResponseHandler): ReturnType<Transport["send"]> {
    const digest = exchangeDigest(request);
    const exchange = this.#exchanges.find((one) => one.digest === digest);
    const delivery = new Delivery(exchange, handler);
    // Callers expect their call before its reply.
    queueMicrotask(() => delivery.start());
    return delivery;
  }

  release(): void {}

  async close(): Promise<void> {}
}

class Delivery {
  readonly #exchange: ProviderExchange | undefined;
  readonly #handler: UpstreamResponseHandler;
  #reader: UpstreamBodyHandler | undefined;
  #body: Buffer = Buffer.alloc(0);
  #at = 0;
  #isOver = false;

  constructor(exchange: ProviderExchange | undefined, handler: UpstreamResponseHandler) {
    this.#exchange = exchange;
    this.#handler = handler;
  }

  start(): void {
    if (this.#isOver) return;
    if (this.#exchange === undefined) {
      this.#isOver = true;
      this.#handler.onFailure({ kind: "connect", sent: false, why: "not in the response cache" });
      return;
    }
    const { headers, body, encoding } = this.#exchange;
    this.#body = Buffer.from(body, encoding);
    this.#reader = this.#handler.onHeaders(200, headers);
    this.resume();
  }

  resume(): void {
    while (!this.#isOver && this.#at < this.#body.length) {
      const slice = this.#body.subarray(this.#at, this.#at + SLICE_BYTES);
      this.#at += slice.length;
      if (this.#reader?.onData(slice) === "pause") return;
    }
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reader?.onEnd();
  }

  abort(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reader?.onFailure({ kind: "aborted", sent: false, why: "aborted" });
  }
}
