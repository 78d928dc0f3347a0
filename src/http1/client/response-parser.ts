import type { IncomingHttpHeaders } from "node:http";
import { ChunkedDecoder } from "./chunked-decoder.ts";
import { HttpFault } from "./http-fault.ts";
import { type BodyFraming, parseResponseHead, type ResponseHead } from "./response-head.ts";

/** Hears an answer: its head once, pieces of its body, its end once. Of one read at most one of each, in this order. */
export type ResponseObserver = {
  onHead(status: number, headers: IncomingHttpHeaders): void;
  /** The bytes are the taker's to keep. */
  onData(bytes: Buffer): void;
  onEnd(connection: ConnectionPersistence): void;
};

/** Whether a connection can carry another request. */
export type ConnectionPersistence = "kept" | "spent";

type BodyState =
  | { readonly is: "length"; left: number }
  | { readonly is: "chunked"; readonly chunks: ChunkedDecoder }
  | { readonly is: "until_close" };

/** Reads the one answer that a connection owes, from bytes that may be cut anywhere. It throws at what is no answer. */
export class ResponseParser {
  readonly #observer: ResponseObserver;
  readonly #headBytesMax: number;
  /** What has come of a head that is not whole yet. */
  #partialHead: Buffer | undefined;
  #head: ResponseHead | undefined;
  #body: BodyState | undefined;
  #stage: "none" | "head" | "body" = "none";

  constructor(taker: ResponseObserver, headBytesMax: number) {
    this.#observer = taker;
    this.#headBytesMax = headBytesMax;
  }

  /** A request went out: what comes now answers it. */
  expectResponse(): void {
    this.#stage = "head";
    this.#partialHead = undefined;
    this.#head = undefined;
    this.#body = undefined;
  }

  read(bytes: Buffer): void {
    // Nobody asked: whatever it is, it must not be taken for the answer to the next request.
    if (this.#stage === "none") throw new HttpFault("HTTP_BAD_ANSWER");
    if (this.#stage === "body") this.#parseBody(bytes, 0);
    else this.#parseHeads(bytes);
  }

  /** The other side sends no more: an answer that nothing else ends is whole. */
  onRemoteClose(): void {
    if (this.#stage === "none") return;
    if (this.#body?.is !== "until_close") throw new HttpFault("HTTP_CUT_OFF");
    this.#finish("spent");
  }

  #parseHeads(piece: Buffer): void {
    const before = this.#partialHead;
    const bytes = before === undefined ? piece : Buffer.concat([before, piece]);
    let at = 0;
    // Heads that say no more than that the answer is still to come are passed over.
    for (let searched = before?.length ?? 0; ; searched = at) {
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
    // Whoever took the head may have ended the call.
    if (this.#stage !== "body") return;
    this.#body = bodyStateFor(head.framing);
    if (this.#body === undefined) this.#finishBody(bytes, at);
    else if (at < bytes.length) this.#parseBody(bytes, at);
  }

  #parseBody(bytes: Buffer, at: number): void {
    const body = this.#body;
    if (body === undefined) return;
    if (body.is === "chunked") {
      const read = body.chunks.decode(bytes, at);
      // What came before a fault is heard: it may say what the answer cost.
      if (read.piece !== undefined) this.#observer.onData(read.piece);
      if (body.chunks.state === "bad") throw new HttpFault("HTTP_BAD_ANSWER");
      if (body.chunks.state === "over") this.#finishBody(bytes, read.at);
    } else if (body.is === "length") {
      const stop = Math.min(bytes.length, at + body.left);
      body.left -= stop - at;
      this.#observer.onData(bytes.subarray(at, stop));
      if (body.left === 0) this.#finishBody(bytes, stop);
    } else this.#observer.onData(bytes.subarray(at));
  }

  /** Bytes behind the end are no part of any answer that was asked for. */
  #finishBody(bytes: Buffer, at: number): void {
    this.#finish(at === bytes.length && this.#head?.keepsAlive === true ? "kept" : "spent");
  }

  #finish(connection: ConnectionPersistence): void {
    if (this.#stage !== "body") return;
    this.#stage = "none";
    this.#observer.onEnd(connection);
  }

  /** The call is over on this side: nothing more is told of its answer. */
  stop(): void {
    this.#stage = "none";
  }
}

/** Undefined: there is none. */
function bodyStateFor(framing: BodyFraming): BodyState | undefined {
  switch (framing.is) {
    case "none":
      return undefined;
    case "length":
      return framing.bytes === 0 ? undefined : { is: "length", left: framing.bytes };
    case "chunked":
      return { is: "chunked", chunks: new ChunkedDecoder() };
    case "until_close":
      return framing;
  }
}
