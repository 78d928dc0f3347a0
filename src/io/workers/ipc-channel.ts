import { Socket } from "node:net";
import type { Duplex } from "node:stream";

/** Descriptor of the pipe between primary and worker: the first one after stdio and the channel of node:cluster. */
export const IPC_PIPE_FD = 4;

export function openPipeToPrimary(): Socket {
  return new Socket({ fd: IPC_PIPE_FD });
}

/**
 * One end of the pipe between the primary and a worker. Each line is a JSON array of frames: all frames of one
 * event-loop tick are written together, so that a busy worker needs few system calls.
 */
export class IpcChannel {
  readonly #pipe: Duplex;
  #outbox: unknown[] = [];

  constructor(pipe: Duplex, onFrame: (frame: unknown) => void) {
    this.#pipe = pipe;
    let buffered = "";
    pipe.setEncoding("utf8");
    pipe.on("data", (text: string) => {
      buffered = buffered === "" ? text : buffered + text;
      let from = 0;
      for (let end = buffered.indexOf("\n"); end >= 0; end = buffered.indexOf("\n", from)) {
        const frames: unknown = JSON.parse(buffered.slice(from, end));
        if (Array.isArray(frames)) for (const frame of frames) onFrame(frame);
        from = end + 1;
      }
      buffered = buffered.slice(from);
    });
    // The exit of the other process is handled by its supervisor.
    pipe.on("error", () => pipe.destroy());
  }

  send(frame: unknown): void {
    this.#outbox.push(frame);
    if (this.#outbox.length === 1) setImmediate(() => this.#flush());
  }

  #flush(): void {
    const frames = this.#outbox;
    this.#outbox = [];
    if (!this.#pipe.destroyed) this.#pipe.write(`${JSON.stringify(frames)}\n`);
  }
}
