import type { ResponseSink } from "../app/exchange.ts";
import type { OutboundHttpResponse } from "../http1/server/outbound-response.ts";
import { drained, PacedWrites, PIECE_CHARS } from "./paced-writes.ts";

/** Writes a streamed response to the client's connection. */
export class EdgeResponseSink implements ResponseSink {
  readonly #response: OutboundHttpResponse;
  #disconnected: boolean;
  #listener: (() => void) | undefined;
  /** Since the first long text. */
  #paced: PacedWrites | undefined;

  constructor(response: OutboundHttpResponse) {
    this.#response = response;
    // The client may have disconnected while the request was authenticated.
    this.#disconnected = response.destroyed;
  }

  /** Called when the response closes, complete or not. */
  handleClose(): void {
    if (this.#response.writableFinished) return;
    this.#disconnected = true;
    this.#listener?.();
  }

  get started(): boolean {
    return this.#response.headersSent;
  }

  get disconnected(): boolean {
    return this.#disconnected;
  }

  start(status: number, headers: Readonly<Record<string, string>>): void {
    if (!this.#disconnected) this.#response.writeHead(status, headers);
  }

  /** The long texts that are still written. */
  get writing(): Promise<void> | undefined {
    return this.#paced?.writing;
  }

  write(chunk: Buffer | string): boolean {
    if (this.#disconnected) return true;
    return this.#isPaced(chunk) ? this.#pace(chunk) : this.#response.write(chunk);
  }

  async drained(): Promise<void> {
    if (!this.#disconnected) await (this.writing ?? drained(this.#response));
  }

  end(chunk?: Buffer | string): void {
    if (this.#disconnected) return;
    if (!this.#isPaced(chunk)) {
      this.#response.end(chunk);
      return;
    }
    if (chunk !== undefined) this.#pace(chunk);
    this.#paced?.end();
  }

  /** Short texts follow the long ones that still wait. */
  #isPaced(chunk: Buffer | string | undefined): boolean {
    return (chunk !== undefined && chunk.length > PIECE_CHARS) || this.writing !== undefined;
  }

  #pace(chunk: Buffer | string): false {
    this.#paced ??= new PacedWrites(this.#response);
    this.#paced.push(chunk);
    return false;
  }

  abort(): void {
    this.#response.destroy();
  }

  onDisconnect(listener: () => void): void {
    if (this.#disconnected) listener();
    else this.#listener = listener;
  }
}
