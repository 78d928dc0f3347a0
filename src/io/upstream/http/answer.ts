import type { IncomingHttpHeaders } from "node:http";
import { type AnswerHead, type Framing, readHead } from "./answer-head.ts";
import { Chunks } from "./chunks.ts";
import { HttpFault } from "./fault.ts";

/** Hears an answer: its head once, pieces of its body, its end once. Of one read at most one of each, in this order. */
export type AnswerTaker = {
  head(status: number, headers: IncomingHttpHeaders): void;
  /** The bytes are the taker's to keep. */
  piece(bytes: Buffer): void;
  end(connection: AfterAnswer): void;
};

/** Whether a connection can carry another request. */
export type AfterAnswer = "kept" | "spent";

type Body =
  | { readonly is: "length"; left: number }
  | { readonly is: "chunked"; readonly chunks: Chunks }
  | { readonly is: "until_close" };

/** Reads the one answer that a connection owes, from bytes that may be cut anywhere. It throws at what is no answer. */
export class AnswerReader {
  readonly #taker: AnswerTaker;
  readonly #headBytesMax: number;
  /** What has come of a head that is not whole yet. */
  #begun: Buffer | undefined;
  #head: AnswerHead | undefined;
  #body: Body | undefined;
  #stage: "none" | "head" | "body" = "none";

  constructor(taker: AnswerTaker, headBytesMax: number) {
    this.#taker = taker;
    this.#headBytesMax = headBytesMax;
  }

  /** A request went out: what comes now answers it. */
  expect(): void {
    this.#stage = "head";
    this.#begun = undefined;
    this.#head = undefined;
    this.#body = undefined;
  }

  read(bytes: Buffer): void {
    // Nobody asked: whatever it is, it must not be taken for the answer to the next request.
    if (this.#stage === "none") throw new HttpFault("HTTP_BAD_ANSWER");
    if (this.#stage === "body") this.#readBody(bytes, 0);
    else this.#readHeads(bytes);
  }

  /** The other side sends no more: an answer that nothing else ends is whole. */
  closed(): void {
    if (this.#stage === "none") return;
    if (this.#body?.is !== "until_close") throw new HttpFault("HTTP_CUT_OFF");
    this.#end("spent");
  }

  #readHeads(piece: Buffer): void {
    const before = this.#begun;
    const bytes = before === undefined ? piece : Buffer.concat([before, piece]);
    let at = 0;
    // Heads that say no more than that the answer is still to come are passed over.
    for (let searched = before?.length ?? 0; ; searched = at) {
      const end = bytes.indexOf("\r\n\r\n", Math.max(at, searched - 3), "latin1");
      if ((end < 0 ? bytes.length : end) - at > this.#headBytesMax) throw new HttpFault("HTTP_HEAD_TOO_LARGE");
      if (end < 0) {
        this.#begun = bytes.subarray(at);
        return;
      }
      const head = readHead(bytes.toString("latin1", at, end));
      at = end + 4;
      if (head.status === 101) throw new HttpFault("HTTP_BAD_ANSWER");
      if (head.status >= 200) {
        this.#begin(head, bytes, at);
        return;
      }
    }
  }

  #begin(head: AnswerHead, bytes: Buffer, at: number): void {
    this.#begun = undefined;
    this.#head = head;
    this.#stage = "body";
    this.#taker.head(head.status, head.headers);
    // Whoever took the head may have ended the call.
    if (this.#stage !== "body") return;
    this.#body = bodyOf(head.framing);
    if (this.#body === undefined) this.#over(bytes, at);
    else if (at < bytes.length) this.#readBody(bytes, at);
  }

  #readBody(bytes: Buffer, at: number): void {
    const body = this.#body;
    if (body === undefined) return;
    if (body.is === "chunked") {
      const read = body.chunks.read(bytes, at);
      // What came before a fault is heard: it may say what the answer cost.
      if (read.piece !== undefined) this.#taker.piece(read.piece);
      if (body.chunks.state === "bad") throw new HttpFault("HTTP_BAD_ANSWER");
      if (body.chunks.state === "over") this.#over(bytes, read.at);
    } else if (body.is === "length") {
      const stop = Math.min(bytes.length, at + body.left);
      body.left -= stop - at;
      this.#taker.piece(bytes.subarray(at, stop));
      if (body.left === 0) this.#over(bytes, stop);
    } else this.#taker.piece(bytes.subarray(at));
  }

  /** Bytes behind the end are no part of any answer that was asked for. */
  #over(bytes: Buffer, at: number): void {
    this.#end(at === bytes.length && this.#head?.keeps === true ? "kept" : "spent");
  }

  #end(connection: AfterAnswer): void {
    if (this.#stage !== "body") return;
    this.#stage = "none";
    this.#taker.end(connection);
  }

  /** The call is over on this side: nothing more is told of its answer. */
  drop(): void {
    this.#stage = "none";
  }
}

/** Undefined: there is none. */
function bodyOf(framing: Framing): Body | undefined {
  switch (framing.is) {
    case "none":
      return undefined;
    case "length":
      return framing.bytes === 0 ? undefined : { is: "length", left: framing.bytes };
    case "chunked":
      return { is: "chunked", chunks: new Chunks() };
    case "until_close":
      return framing;
  }
}
