import type { Socket } from "node:net";
import { FastPathRequest, parseFastPathRequest } from "./fast-path-request.ts";
import { FastPathResponse, type ResponseChannel } from "./fast-path-response.ts";

/**
 * What a client sends ahead of its answer is kept up to here, and then no longer read: from then on it is not noticed
 * either that its client leaves.
 */
const PIPELINED_BYTES_MAX = 1024 * 1024;
/** A small piece takes more than its bytes. */
const SEGMENT_COST_BYTES_MIN = 512;
const [CR, LF] = [13, 10];

/** What a connection needs of the lane. */
type FastPathConnectionHost = Pick<ResponseChannel, "closing"> & {
  readonly onRequest: (request: FastPathRequest, answer: FastPathResponse) => void;
  readonly onSocketTimeout: (socket: Socket) => void;
  readonly handOverToNode: (connection: FastPathConnection, bytes: Buffer) => void;
  readonly onClosed: (connection: FastPathConnection) => void;
  readonly checkCount: () => number;
  /** What is sent ahead is a request that is not yet answered, too. */
  readonly onRequestQueued: () => void;
  readonly onRequestDequeued: () => void;
};

/** A connection on which only plain requests have come so far, one answered after the other. */
export class FastPathConnection {
  readonly channel: ResponseChannel;
  readonly #host: FastPathConnectionHost;
  readonly #pipelined: Buffer[] = [];
  #pipelinedBytes = 0;
  #response: FastPathResponse | undefined;
  /** The look before which it was heard of last. */
  activeAtCheck: number;
  /** It has not yet sent anything. */
  isUnused = true;

  constructor(socket: Socket, owner: FastPathConnectionHost) {
    this.#host = owner;
    this.channel = { socket, connectionHeaders: owner.connectionHeaders, onClosed: () => this.#onResponseClosed() };
    this.activeAtCheck = owner.checkCount();
    socket.on("data", this.#onData);
    socket.on("end", this.#onEnd);
    socket.on("drain", this.#onDrain);
    socket.on("timeout", this.#onTimeout);
    socket.on("error", this.#onError);
    socket.on("close", this.#onClose);
  }

  get isIdle(): boolean {
    return this.#response === undefined && this.#pipelined.length === 0;
  }

  readonly #onData = (bytes: Buffer): void => {
    // Nothing is served any more.
    if (this.channel.socket.writableEnded) return;
    if (this.isIdle) {
      this.#read(bytes);
      return;
    }
    if (this.#pipelined.length === 0) this.#host.onRequestQueued();
    this.#pipelined.push(bytes);
    this.#pipelinedBytes += Math.max(bytes.length, SEGMENT_COST_BYTES_MIN);
    if (this.#pipelinedBytes > PIPELINED_BYTES_MAX) this.channel.socket.pause();
  };

  /** Who sends no more is not waited for, like by Node. */
  readonly #onEnd = (): void => {
    this.channel.socket.end();
  };

  readonly #onDrain = (): void => this.#response?.onDrain();

  readonly #onTimeout = (): void => this.#host.onSocketTimeout(this.channel.socket);

  /** It is closed then, too. */
  readonly #onError = (): void => {};

  readonly #onClose = (): void => {
    this.#host.onClosed(this);
    this.#response?.onClose();
    this.#takePipelined();
  };

  #read(bytes: Buffer): void {
    // Some clients send an empty line behind a request: that is not the begin of another.
    if (!this.isUnused && bytes.length === 2 && bytes[0] === CR && bytes[1] === LF) return;
    const plain = parseFastPathRequest(bytes);
    if (plain === undefined) {
      this.#handOverToNode(bytes);
      return;
    }
    this.isUnused = false;
    this.#response = new FastPathResponse(this.channel);
    this.#host.onRequest(new FastPathRequest(plain.head, plain.body, this.channel.socket), this.#response);
  }

  #handOverToNode(bytes: Buffer): void {
    const { socket } = this.channel;
    socket.off("data", this.#onData);
    socket.off("end", this.#onEnd);
    socket.off("drain", this.#onDrain);
    socket.off("timeout", this.#onTimeout);
    socket.off("error", this.#onError);
    socket.off("close", this.#onClose);
    this.#host.handOverToNode(this, bytes);
  }

  #onResponseClosed(): void {
    const { socket } = this.channel;
    const answer = this.#response;
    this.#response = undefined;
    this.activeAtCheck = this.#host.checkCount();
    if (socket.destroyed) return;
    if (answer?.shouldKeepAlive !== true) return void socket.destroySoon();
    if (socket.timeout) socket.setTimeout(0);
    if (this.#pipelined.length > 0) setImmediate(() => this.#readPipelined());
  }

  /** What came before it was its turn. */
  #readPipelined(): void {
    const { socket } = this.channel;
    if (!socket.writable || this.#response !== undefined) return;
    const bytes = this.#takePipelined();
    if (socket.isPaused()) socket.resume();
    if (bytes.length > 0) this.#read(bytes);
  }

  #takePipelined(): Buffer {
    const bytes = Buffer.concat(this.#pipelined.splice(0));
    this.#pipelinedBytes = 0;
    // By then it has come in by itself, wherever it is read.
    if (bytes.length > 0) setImmediate(this.#host.onRequestDequeued);
    return bytes;
  }
}
