import type { OutboundHttpResponse } from "../http1/server/outbound-response.ts";
import { EventLoopTurns } from "../kit/event-loop-turns.ts";

/** Longer texts are written in pieces of this length. */
export const PIECE_CHARS = 256 * 1024;

/** All responses of the process take turns. */
const turns = new EventLoopTurns({ chars: PIECE_CHARS, values: PIECE_CHARS });

/**
 * Writes long texts piece by piece, one per event-loop turn and each after the client took the one before: to encode a long
 * text at once would block the event loop, and hold it in memory a second time.
 */
export class PacedWrites {
  readonly #response: OutboundHttpResponse;
  readonly #waiting: (Buffer | string)[] = [];
  #isEnded = false;
  #writing: Promise<void> | undefined;

  constructor(response: OutboundHttpResponse) {
    this.#response = response;
  }

  /** Resolves once everything is written or the client has disconnected; undefined: nothing waits. */
  get writing(): Promise<void> | undefined {
    return this.#writing;
  }

  push(chunk: Buffer | string): void {
    this.#waiting.push(chunk);
    this.#writing ??= this.#writeAll();
  }

  /** Ends the response after what waits. */
  end(): void {
    this.#isEnded = true;
    this.#writing ??= this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    const response = this.#response;
    for (let chunk = this.#waiting.shift(); chunk !== undefined; chunk = this.#waiting.shift())
      for (let at = 0; at < chunk.length; ) {
        await turns.next(this);
        if (response.destroyed) return;
        const end = typeof chunk === "string" ? endOfPiece(chunk, at) : at + PIECE_CHARS;
        if (!response.write(chunk.slice(at, end))) await drained(response);
        at = end;
      }
    this.#writing = undefined;
    if (this.#isEnded) response.end();
  }
}

/** Resolves when the buffer of a response has drained or the client has disconnected. */
export function drained(response: OutboundHttpResponse): Promise<void> {
  return new Promise((resolve) => {
    if (response.destroyed) return resolve();
    const done = () => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.on("drain", done);
    response.on("close", done);
  });
}

/** A surrogate pair is one character: its halves must not be encoded apart. */
function endOfPiece(text: string, at: number): number {
  const end = at + PIECE_CHARS;
  const last = text.charCodeAt(end - 1);
  return end < text.length && last >= 0xd800 && last <= 0xdbff ? end - 1 : end;
}
