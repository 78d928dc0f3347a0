import type { Duplex } from "node:stream";

/** What JSON gives back: whoever takes it says what it is. */
export type Parsed = ReturnType<typeof JSON.parse>;

/**
 * One end of a pipe between two processes of this gateway: lists of messages as lines of JSON. What one turn of the
 * event loop says goes out in one write, so that a busy worker pays for few of them.
 */
export class IpcChannel {
  readonly #pipe: Duplex;
  #outbox: unknown[] = [];

  constructor(pipe: Duplex, take: (message: Parsed) => void) {
    this.#pipe = pipe;
    let rest = "";
    pipe.setEncoding("utf8");
    pipe.on("data", (text: string) => {
      rest = rest === "" ? text : rest + text;
      let from = 0;
      for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n", from)) {
        const messages: Parsed[] = JSON.parse(rest.slice(from, end));
        for (const message of messages) take(message);
        from = end + 1;
      }
      rest = rest.slice(from);
    });
    // A process that died is told of by whoever watches it; here it only stops listening.
    pipe.on("error", () => pipe.destroy());
  }

  send(message: unknown): void {
    this.#outbox.push(message);
    if (this.#outbox.length === 1) setImmediate(() => this.flush());
  }

  /** What was said goes out now. */
  flush(): void {
    const said = this.#outbox;
    if (said.length === 0) return;
    this.#outbox = [];
    if (!this.#pipe.destroyed) this.#pipe.write(`${JSON.stringify(said)}\n`);
  }
}
