import type { IncomingHttpHeaders } from "node:http";
import { ChunkedDecoder } from "./chunked-decoder.ts";
import { HttpFault } from "./http-fault.ts";
import { type BodyFraming, parseResponseHead, type ResponseHead } from "./response-head.ts";

/** Receives one response: the head once, data any number of times, the end once. One `parse` emits at most one of each. */
export type ResponseObserver = {
  onHead(status: number, headers: IncomingHttpHeaders): void;
  /** The observer owns the bytes from here on. */
  onData(bytes: Buffer): void;
  onEnd(reuse: ConnectionReuse): void;
};

/** Whether a connection can carry another request after a response. */
export type ConnectionReuse = "reusable" | "exhausted";

type BodyState =
  | { readonly is: "length"; remaining: number }
  | { readonly is: "chunked"; readonly decoder: ChunkedDecoder }
  | { readonly is: "until_close" };

/** Incremental parser for the response to the one request in flight. Throws an HttpFault on invalid or ambiguous input. */
export class ResponseParser {
  readonly #observer: ResponseObserver;
  readonly #headBytesMax: number;
  #partialHead: Buffer | undefined;
  #head: ResponseHead | undefined;
  #body: BodyState | undefined;
  #stage: "idle" | "head" | "body" = "idle";

  constructor(observer: ResponseObserver, headBytesMax: number) {
    this.#observer = observer;
    this.#headBytesMax = headBytesMax;
  }

  /** A request was sent: the next bytes are its response. */
  expectResponse(): void {
    this.#stage = "head";
    this.#partialHead = undefined;
    this.#head = undefined;
    this.#body = undefined;
  }

  parse(bytes: Buffer): void {
    // Unsolicited bytes must never become the response to the next request.
    if (this.#stage === "idle") throw new HttpFault("HTTP_BAD_ANSWER");
    if (this.#stage === "body") this.#parseBody(bytes, 0);
    else this.#parseHeads(bytes);
  }

  /** The server closed its side, which completes a close-delimited response and truncates any other. */
  onRemoteClose(): void {
    if (this.#stage === "idle") return;
    if (this.#body?.is !== "until_close") throw new HttpFault("HTTP_CUT_OFF");
    this.#finish("exhausted");
  }

  #parseHeads(segment: Buffer): void {
    const partial = this.#partialHead;
    const bytes = partial === undefined ? segment : Buffer.concat([partial, segment]);
    let at = 0;
    // Interim (1xx) responses are skipped.
    for (let searched = partial?.length ?? 0; ; searched = at) {
      const end = bytes.indexOf("\r\n\r\n", Math.max(at, searched - 3), "latin1");
      if ((end < 0 ? bytes.length : end) - at > this.#headBytesMax) throw new HttpFault("HTTP_HEAD_TOO_LARGE");
      if (end < 0) {
        this.#partialHead = bytes.subarray(at);
        return;
      }
      const head = parseResponseHead(bytes.toString("latin1", at, end));
      at = end + 4;
      if (head.status === 101) throw new HttpFault("HTTP_BAD_ANSWER");
      if (head.status >= 200) {
        this.#startBody(head, bytes, at);
        return;
      }
    }
  }

  #startBody(head: ResponseHead, bytes: Buffer, at: number): void {
    this.#partialHead = undefined;
    this.#head = head;
    this.#stage = "body";
    this.#observer.onHead(head.status, head.headers);
    // The observer may have aborted the exchange.
    if (this.#stage !== "body") return;
    this.#body = bodyStateFor(head.framing);
    if (this.#body === undefined) this.#finishBody(bytes, at);
    else if (at < bytes.length) this.#parseBody(bytes, at);
  }

  #parseBody(bytes: Buffer, at: number): void {
    const body = this.#body;
    if (body === undefined) return;
    if (body.is === "chunked") {
      const decoded = body.decoder.decode(bytes, at);
      // Data before an invalid chunk is delivered: it may contain the usage of the response.
      if (decoded.data !== undefined) this.#observer.onData(decoded.data);
      if (body.decoder.state === "invalid") throw new HttpFault("HTTP_BAD_ANSWER");
      if (body.decoder.state === "done") this.#finishBody(bytes, decoded.at);
    } else if (body.is === "length") {
      const stop = Math.min(bytes.length, at + body.remaining);
      body.remaining -= stop - at;
      this.#observer.onData(bytes.subarray(at, stop));
      if (body.remaining === 0) this.#finishBody(bytes, stop);
    } else this.#observer.onData(bytes.subarray(at));
  }

  /** Bytes after the end belong to no request, so the connection is not used again. */
  #finishBody(bytes: Buffer, at: number): void {
    this.#finish(at === bytes.length && this.#head?.keepsAlive === true ? "reusable" : "exhausted");
  }

  #finish(reuse: ConnectionReuse): void {
    if (this.#stage !== "body") return;
    this.#stage = "idle";
    this.#observer.onEnd(reuse);
  }

  /** The exchange ended locally: the observer gets no further events. */
  stop(): void {
    this.#stage = "idle";
  }
}

/** Undefined: there is no body. */
function bodyStateFor(framing: BodyFraming): BodyState | undefined {
  switch (framing.is) {
    case "none":
      return undefined;
    case "length":
      return framing.bytes === 0 ? undefined : { is: "length", remaining: framing.bytes };
    case "chunked":
      return { is: "chunked", decoder: new ChunkedDecoder() };
    case "until_close":
      return framing;
  }
}
