import type { Fault } from "../../contract/faults.ts";
import { type ParsedBody, parseJsonText } from "../../kit/json.ts";
import { SseReader } from "../../kit/sse.ts";
import type { ResponseSink } from "../exchange.ts";

/** The gateway itself writes whole events, so this limit is never reached in practice. */
const FRAME_CHARS_MAX = 256 * 1024 * 1024;

export type SinkListener = {
  started(headers: Readonly<Record<string, string>>): void;
  event(event: ParsedBody): void;
  /** Called once with the last events of the response. */
  ended(last: readonly ParsedBody[]): void;
  /** Backpressure: whether more can be written now, and when it can again. */
  hasRoom(): boolean;
  room(): Promise<void>;
};

/** Response sink of a background job: turns the response into job events; no client has to be connected. */
export class JobSink implements ResponseSink {
  readonly unattended = true;
  readonly #frames = new SseReader(FRAME_CHARS_MAX);
  readonly #listener: SinkListener;
  #started = false;
  #isCancelled = false;
  #refusal: Fault | undefined;
  #onDisconnect: (() => void) | undefined;

  constructor(listener: SinkListener) {
    this.#listener = listener;
  }

  get started(): boolean {
    return this.#started;
  }

  /** True once the job is cancelled; the pipeline handles it like a client disconnect. */
  get disconnected(): boolean {
    return this.#isCancelled;
  }

  get refusal(): Fault | undefined {
    return this.#refusal;
  }

  stop(): void {
    if (!this.#acceptsMore) return;
    this.#isCancelled = true;
    this.#onDisconnect?.();
  }

  /** Breaks the response with a fault. */
  refuse(why: Fault): void {
    if (!this.#acceptsMore) return;
    this.#refusal = why;
    this.#onDisconnect?.();
  }

  start(_status: number, headers: Readonly<Record<string, string>>): void {
    this.#started = true;
    this.#listener.started(headers);
  }

  write(chunk: Buffer | string): boolean {
    for (const event of this.#read(chunk)) this.#listener.event(event);
    return !this.#acceptsMore || this.#listener.hasRoom();
  }

  drained(): Promise<void> {
    return !this.#acceptsMore || this.#listener.hasRoom() ? Promise.resolve() : this.#listener.room();
  }

  end(chunk?: Buffer | string): void {
    this.#listener.ended(chunk === undefined ? [] : this.#read(chunk));
  }

  abort(): void {}

  onDisconnect(listener: () => void): void {
    if (!this.#acceptsMore) listener();
    else this.#onDisconnect = listener;
  }

  get #acceptsMore(): boolean {
    return !this.#isCancelled && this.#refusal === undefined;
  }

  #read(chunk: Buffer | string): ParsedBody[] {
    return this.#frames.push(Buffer.from(chunk)).flatMap(({ data }) => {
      const event = parseJsonText(data);
      return "problem" in event ? [] : [event];
    });
  }
}
