import type { Socket } from "node:net";
import { type Line, PlainAnswer } from "./plain-answer.ts";
import { PlainRequest, readPlain } from "./plain-request.ts";

/**
 * What a client sends ahead of its answer is kept up to here, and then no longer read: from then on it is not noticed
 * either that its client leaves.
 */
const AHEAD_BYTES_MAX = 1024 * 1024;
/** A small piece takes more than its bytes. */
const PIECE_BYTES_MIN = 512;
const [RETURN, LINE_FEED] = [13, 10];

/** What a connection needs of the lane. */
type Owner = Pick<Line, "closing"> & {
  readonly serve: (request: PlainRequest, answer: PlainAnswer) => void;
  readonly timedOut: (socket: Socket) => void;
  readonly onward: (connection: LaneConnection, bytes: Buffer) => void;
  readonly closed: (connection: LaneConnection) => void;
  readonly looks: () => number;
  /** What is sent ahead is a request that is not yet answered, too. */
  readonly entered: () => void;
  readonly left: () => void;
};

/** A connection on which only plain requests have come so far, one answered after the other. */
export class LaneConnection {
  readonly line: Line;
  readonly #owner: Owner;
  readonly #ahead: Buffer[] = [];
  #aheadBytes = 0;
  #answer: PlainAnswer | undefined;
  /** The look before which it was heard of last. */
  heardAt: number;
  /** It has not yet sent anything. */
  isFresh = true;

  constructor(socket: Socket, owner: Owner) {
    this.#owner = owner;
    this.line = { socket, closing: owner.closing, over: () => this.#over() };
    this.heardAt = owner.looks();
    socket.on("data", this.#onData);
    socket.on("end", this.#onEnd);
    socket.on("drain", this.#onDrain);
    socket.on("timeout", this.#onTimeout);
    socket.on("error", this.#onError);
    socket.on("close", this.#onClose);
  }

  get isIdle(): boolean {
    return this.#answer === undefined && this.#ahead.length === 0;
  }

  readonly #onData = (bytes: Buffer): void => {
    // Nothing is served any more.
    if (this.line.socket.writableEnded) return;
    if (this.isIdle) {
      this.#read(bytes);
      return;
    }
    if (this.#ahead.length === 0) this.#owner.entered();
    this.#ahead.push(bytes);
    this.#aheadBytes += Math.max(bytes.length, PIECE_BYTES_MIN);
    if (this.#aheadBytes > AHEAD_BYTES_MAX) this.line.socket.pause();
  };

  /** Who sends no more is not waited for, like by Node. */
  readonly #onEnd = (): void => {
    this.line.socket.end();
  };

  readonly #onDrain = (): void => this.#answer?.drained();

  readonly #onTimeout = (): void => this.#owner.timedOut(this.line.socket);

  /** It is closed then, too. */
  readonly #onError = (): void => {};

  readonly #onClose = (): void => {
    this.#owner.closed(this);
    this.#answer?.closed();
    this.#takeAhead();
  };

  #read(bytes: Buffer): void {
    // Some clients send an empty line behind a request: that is not the begin of another.
    if (!this.isFresh && bytes.length === 2 && bytes[0] === RETURN && bytes[1] === LINE_FEED) return;
    const plain = readPlain(bytes);
    if (plain === undefined) {
      this.#leave(bytes);
      return;
    }
    this.isFresh = false;
    this.#answer = new PlainAnswer(this.line);
    this.#owner.serve(new PlainRequest(plain.head, plain.body, this.line.socket), this.#answer);
  }

  #leave(bytes: Buffer): void {
    const { socket } = this.line;
    socket.off("data", this.#onData);
    socket.off("end", this.#onEnd);
    socket.off("drain", this.#onDrain);
    socket.off("timeout", this.#onTimeout);
    socket.off("error", this.#onError);
    socket.off("close", this.#onClose);
    this.#owner.onward(this, bytes);
  }

  #over(): void {
    const { socket } = this.line;
    const answer = this.#answer;
    this.#answer = undefined;
    this.heardAt = this.#owner.looks();
    if (socket.destroyed) return;
    if (answer?.shouldKeepAlive !== true) return void socket.destroySoon();
    if (socket.timeout) socket.setTimeout(0);
    if (this.#ahead.length > 0) setImmediate(() => this.#readAhead());
  }

  /** What came before it was its turn. */
  #readAhead(): void {
    const { socket } = this.line;
    if (!socket.writable || this.#answer !== undefined) return;
    const bytes = this.#takeAhead();
    if (socket.isPaused()) socket.resume();
    if (bytes.length > 0) this.#read(bytes);
  }

  #takeAhead(): Buffer {
    const bytes = Buffer.concat(this.#ahead.splice(0));
    this.#aheadBytes = 0;
    // By then it has come in by itself, wherever it is read.
    if (bytes.length > 0) setImmediate(this.#owner.left);
    return bytes;
  }
}
