import type { Socket } from "node:net";
import { FastPathRequest, parseFastPathRequest } from "./fast-path-request.ts";
import { FastPathResponse, type ResponseChannel } from "./fast-path-response.ts";

/**
 * Pipelined bytes are buffered up to this limit, then the socket is paused. While it is paused, a disconnect of the client
 * goes unnoticed.
 */
const PIPELINED_BYTES_MAX = 1024 * 1024;
/** A buffered segment costs at least this much memory, however short it is. */
const SEGMENT_COST_BYTES_MIN = 512;
const [CR, LF] = [13, 10];

type FastPathConnectionHost = Pick<ResponseChannel, "connectionHeaders" | "endToEndHeaders"> & {
  readonly onRequest: (request: FastPathRequest, response: FastPathResponse) => void;
  readonly onSocketTimeout: (socket: Socket) => void;
  readonly handOverToNode: (connection: FastPathConnection, bytes: Buffer) => void;
  readonly onClosed: (connection: FastPathConnection) => void;
  readonly checkCount: () => number;
  readonly onRequestQueued: () => void;
  readonly onRequestDequeued: () => void;
};

/** A connection that has carried only fast-path requests so far; it serves one at a time. */
export class FastPathConnection {
  readonly channel: ResponseChannel;
  readonly #host: FastPathConnectionHost;
  readonly #pipelined: Buffer[] = [];
  #pipelinedBytes = 0;
  #response: FastPathResponse | undefined;
  /** The number of idle checks that had run when the connection was last active. */
  activeAtCheck: number;
  isUnused = true;

  constructor(socket: Socket, host: FastPathConnectionHost) {
    this.#host = host;
    this.channel = {
      socket,
      endToEndHeaders: host.endToEndHeaders,
      connectionHeaders: host.connectionHeaders,
      onClosed: () => this.#onResponseClosed(),
    };
    this.activeAtCheck = host.checkCount();
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
    // The connection is closing: no further request is served.
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

  /** Half-close ends the connection, as in Node. */
  readonly #onEnd = (): void => {
    this.channel.socket.end();
  };

  readonly #onDrain = (): void => this.#response?.onDrain();

  readonly #onTimeout = (): void => this.#host.onSocketTimeout(this.channel.socket);

  /** "close" follows and does the work. */
  readonly #onError = (): void => {};

  readonly #onClose = (): void => {
    this.#host.onClosed(this);
    this.#response?.onClose();
    this.#takePipelined();
  };

  #read(bytes: Buffer): void {
    // Some clients send an empty line after a request body; it does not start the next request.
    if (!this.isUnused && bytes.length === 2 && bytes[0] === CR && bytes[1] === LF) return;
    const parsed = parseFastPathRequest(bytes);
    if (parsed === undefined) {
      this.#handOverToNode(bytes);
      return;
    }
    this.isUnused = false;
    this.#response = new FastPathResponse(this.channel);
    this.#host.onRequest(new FastPathRequest(parsed.head, parsed.body, this.channel.socket), this.#response);
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
    const response = this.#response;
    this.#response = undefined;
    this.activeAtCheck = this.#host.checkCount();
    if (socket.destroyed) return;
    if (response?.shouldKeepAlive !== true) return void socket.destroySoon();
    if (socket.timeout) socket.setTimeout(0);
    if (this.#pipelined.length > 0) setImmediate(() => this.#readPipelined());
  }

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
    // One tick later: by then the request is counted where it is served, so the in-flight count never drops to zero.
    if (bytes.length > 0) setImmediate(this.#host.onRequestDequeued);
    return bytes;
  }
}
