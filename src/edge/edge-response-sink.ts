import type { ResponseSink } from "../app/exchange.ts";
import type { OutboundHttpResponse } from "../http1/server/outbound-response.ts";

/** Writes a streamed response to the client's connection. */
export class EdgeResponseSink implements ResponseSink {
  readonly #response: OutboundHttpResponse;
  #disconnected: boolean;
  #listener: (() => void) | undefined;

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

  write(chunk: Buffer | string): boolean {
    return this.#disconnected || this.#response.write(chunk);
  }

  drained(): Promise<void> {
    const response = this.#response;
    return new Promise((resolve) => {
      if (this.#disconnected) return resolve();
      const done = () => {
        response.off("drain", done);
        response.off("close", done);
        resolve();
      };
      response.on("drain", done);
      response.on("close", done);
    });
  }

  end(chunk?: Buffer | string): void {
    if (!this.#disconnected) this.#response.end(chunk);
  }

  abort(): void {
    this.#response.destroy();
  }

  onDisconnect(listener: () => void): void {
    if (this.#disconnected) listener();
    else this.#listener = listener;
  }
}
