import type { Sink } from "../app/exchange.ts";
import type { Outgoing } from "../http1/server/server-message.ts";

/** The client's side of a streamed answer. */
export class ResponseSink implements Sink {
  readonly #response: Outgoing;
  #gone: boolean;
  #listener: (() => void) | undefined;

  constructor(response: Outgoing) {
    this.#response = response;
    // Whoever left while the shared state was asked is heard of no more.
    this.#gone = response.destroyed;
  }

  /** The connection is done with this answer, whole or not. */
  closed(): void {
    if (this.#response.writableFinished) return;
    this.#gone = true;
    this.#listener?.();
  }

  get started(): boolean {
    return this.#response.headersSent;
  }

  get gone(): boolean {
    return this.#gone;
  }

  start(status: number, headers: Readonly<Record<string, string>>): void {
    if (!this.#gone) this.#response.writeHead(status, headers);
  }

  write(chunk: Buffer | string): boolean {
    return this.#gone || this.#response.write(chunk);
  }

  drained(): Promise<void> {
    const response = this.#response;
    return new Promise((resolve) => {
      if (this.#gone) return resolve();
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
    if (!this.#gone) this.#response.end(chunk);
  }

  cut(): void {
    this.#response.destroy();
  }

  onGone(listener: () => void): void {
    if (this.#gone) listener();
    else this.#listener = listener;
  }
}
