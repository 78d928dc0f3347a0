import type { Fault } from "../../contract/faults.ts";
import { type ParsedBody, parseJsonText } from "../../kit/json.ts";
import type { JsonInTurns } from "../../kit/json-in-turns.ts";
import type { ResponseSink } from "../exchange.ts";
import { type OutboundEvent, OutboundEventReader } from "./outbound-event-reader.ts";

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
  readonly #events: OutboundEventReader;
  readonly #listener: SinkListener;
  #started = false;
  #isCancelled = false;
  #refusal: Fault | undefined;
  #onDisconnect: (() => void) | undefined;

  constructor(listener: SinkListener, json: JsonInTurns, workspaceId: string) {
    this.#listener = listener;
    this.#events = new OutboundEventReader(json, workspaceId);
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
    this.#events.push(chunk, (events) => {
      for (const event of parsed(events)) this.#listener.event(event);
    });
    return !this.#acceptsMore || (this.writing === undefined && this.#listener.hasRoom());
  }

  get writing(): Promise<void> | undefined {
    return this.#events.reading;
  }

  async drained(): Promise<void> {
    await this.writing;
    if (this.#acceptsMore && !this.#listener.hasRoom()) await this.#listener.room();
  }

  end(chunk: Buffer | string = ""): void {
    this.#events.push(chunk, (events) => this.#listener.ended(parsed(events)));
  }

  abort(): void {}

  onDisconnect(listener: () => void): void {
    if (!this.#acceptsMore) listener();
    else this.#onDisconnect = listener;
  }

  get #acceptsMore(): boolean {
    return !this.#isCancelled && this.#refusal === undefined;
  }
}

function parsed(events: readonly OutboundEvent[]): ParsedBody[] {
  return events.flatMap(({ data, body = parseJsonText(data) }) => ("problem" in body ? [] : [body]));
}
