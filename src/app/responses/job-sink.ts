import type { Fault } from "../../contract/faults.ts";
import { type ParsedBody, parseJsonText } from "../../kit/json.ts";
import { SseReader } from "../../kit/sse.ts";
import type { ResponseSink } from "../exchange.ts";

/** Pieces come from the gateway itself, an event at a time. */
const FRAME_CHARS_MAX = 256 * 1024 * 1024;

export type SinkListener = {
  /** The answer begins, with these headers. */
  started(headers: Readonly<Record<string, string>>): void;
  /** An event of the answer. */
  event(event: ParsedBody): void;
  /** The answer is over, with these events. */
  ended(last: readonly ParsedBody[]): void;
  /** Whether it takes more now, and when it does again. */
  hasRoom(): boolean;
  room(): Promise<void>;
};

/** Where the answer of background work goes: into its events. Nobody has to listen for it to go on. */
export class JobSink implements ResponseSink {
  readonly unattended = true;
  readonly #frames = new SseReader(FRAME_CHARS_MAX);
  readonly #listener: SinkListener;
  #started = false;
  #gone = false;
  #refusal: Fault | undefined;
  #onGone: (() => void) | undefined;

  constructor(listener: SinkListener) {
    this.#listener = listener;
  }

  get started(): boolean {
    return this.#started;
  }

  /** True once the work is to stop: the same that a client does who hangs up. */
  get disconnected(): boolean {
    return this.#gone;
  }

  get refusal(): Fault | undefined {
    return this.#refusal;
  }

  stop(): void {
    if (!this.#takesMore) return;
    this.#gone = true;
    this.#onGone?.();
  }

  /** The answer is to break here. */
  refuse(why: Fault): void {
    if (!this.#takesMore) return;
    this.#refusal = why;
    this.#onGone?.();
  }

  start(_status: number, headers: Readonly<Record<string, string>>): void {
    this.#started = true;
    this.#listener.started(headers);
  }

  write(chunk: Buffer | string): boolean {
    for (const event of this.#read(chunk)) this.#listener.event(event);
    return !this.#takesMore || this.#listener.hasRoom();
  }

  drained(): Promise<void> {
    return !this.#takesMore || this.#listener.hasRoom() ? Promise.resolve() : this.#listener.room();
  }

  end(chunk?: Buffer | string): void {
    this.#listener.ended(chunk === undefined ? [] : this.#read(chunk));
  }

  abort(): void {}

  onDisconnect(listener: () => void): void {
    if (!this.#takesMore) listener();
    else this.#onGone = listener;
  }

  get #takesMore(): boolean {
    return !this.#gone && this.#refusal === undefined;
  }

  #read(chunk: Buffer | string): ParsedBody[] {
    return this.#frames.push(Buffer.from(chunk)).flatMap(({ data }) => {
      const event = parseJsonText(data);
      return "problem" in event ? [] : [event];
    });
  }
}
