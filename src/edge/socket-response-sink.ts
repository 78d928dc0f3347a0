import type { WebSocket } from "ws";
import type { ResponseSink } from "../app/exchange.ts";
import { type OutboundEvent, OutboundEventReader } from "../app/responses/outbound-event-reader.ts";
import { nestedBody, type ParsedBody, parseJsonText, patchMembers } from "../kit/json.ts";
import type { JsonInTurns } from "../kit/json-in-turns.ts";
import { cancelTimer, type Timer, type Timers } from "../kit/timers.ts";

/** More than this many unsent characters are backpressure. */
const UNSENT_CHARS_MAX = 1024 * 1024;
/** Clients do not see the pings of a connection, and ignore events that they do not know. */
const KEEP_ALIVE = JSON.stringify({ type: "keepalive" });
const ABNORMAL_END = 1011;

export type SocketSinkRules = {
  readonly streamId: string | undefined;
  readonly timers: Timers;
  readonly json: JsonInTurns;
  readonly workspaceId: string;
  /** Time for a client to read what was sent. */
  readonly stallMs: number;
  onEvent(event: OutboundEvent): void;
};

/** Sends the events of one streamed response as text frames. */
export class SocketResponseSink implements ResponseSink {
  readonly #ws: WebSocket;
  readonly #rules: SocketSinkRules;
  readonly #events: OutboundEventReader;
  #svc: Readonly<Record<string, string>> | undefined;
  #started = false;
  #isEnded = false;
  #unsent = 0;
  #stall: Timer | undefined;
  readonly #waiting: (() => void)[] = [];
  #listener: (() => void) | undefined;

  constructor(ws: WebSocket, rules: SocketSinkRules) {
    this.#ws = ws;
    this.#rules = rules;
    this.#events = new OutboundEventReader(rules.json, rules.workspaceId);
  }

  get started(): boolean {
    return this.#started;
  }

  get disconnected(): boolean {
    return this.#ws.readyState !== this.#ws.OPEN;
  }

  start(_status: number, headers: Readonly<Record<string, string>>): void {
    this.#started = true;
    this.#svc = serviceValues(headers);
  }

  write(chunk: Buffer | string): boolean {
    if (this.disconnected) return true;
    this.#events.push(chunk, (events) => {
      for (const event of events) this.#send(event);
      // A comment keeps a stream over HTTP open.
      if (events.length === 0 && isComment(chunk)) this.#sendText(this.#withStreamId({ data: KEEP_ALIVE }));
    });
    return this.writing === undefined && this.#unsent < UNSENT_CHARS_MAX;
  }

  get writing(): Promise<void> | undefined {
    return this.#events.reading;
  }

  /** A client that reads nothing for too long loses its connection. */
  async drained(): Promise<void> {
    await this.writing;
    if (this.disconnected || this.#unsent < UNSENT_CHARS_MAX) return;
    this.#stall ??= this.#rules.timers.after(this.#rules.stallMs, () => this.#ws.terminate());
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  end(chunk?: Buffer | string): void {
    if (chunk !== undefined) this.write(chunk);
    // Closes an event that lacks its blank line.
    this.write("\n\n");
    this.#isEnded = true;
  }

  abort(): void {
    this.#ws.close(ABNORMAL_END, "the response is incomplete");
  }

  /** An event that no handler wrote. */
  sendEvent(data: string): void {
    if (!this.disconnected) this.#sendText(this.#withStreamId({ data }));
  }

  onDisconnect(listener: () => void): void {
    if (this.disconnected) listener();
    else this.#listener = listener;
  }

  /** Called when the connection closes. */
  handleClose(): void {
    this.#resume();
    if (!this.#isEnded) this.#listener?.();
  }

  #resume(): void {
    cancelTimer(this.#stall);
    this.#stall = undefined;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #sendText(text: string): void {
    this.#unsent += text.length;
    this.#ws.send(text, () => {
      this.#unsent -= text.length;
      this.#stall?.refresh();
      if (this.#unsent < UNSENT_CHARS_MAX) this.#resume();
    });
  }

  #send(written: OutboundEvent): void {
    // It precedes `response.failed`, and clients of a connection would take it for a refused request.
    if (written.event === "error" || this.disconnected) return;
    this.#rules.onEvent(written);
    const isFirst = this.#svc !== undefined && written.event === "response.created";
    this.#sendText(this.#withStreamId(isFirst ? { data: withServiceValues(written, this.#svc) } : written));
    if (isFirst) this.#svc = undefined;
  }

  #withStreamId(written: Pick<OutboundEvent, "data" | "body">): string {
    const { streamId } = this.#rules;
    if (streamId === undefined) return written.data;
    const body = bodyOf(written);
    return body === undefined
      ? written.data
      : patchMembers(body, [{ key: "stream_id", json: JSON.stringify(streamId) }]);
  }
}

const SERVICE_PREFIX = "x-svc-";

/** The `X-Svc-*` headers of a response, without their prefix: `provider`, `sovereignty_level`. */
export function serviceValues(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers)
      .map(([name, value]) => [name.toLowerCase(), value] as const)
      .filter(([name]) => name.startsWith(SERVICE_PREFIX))
      .map(([name, value]) => [name.slice(SERVICE_PREFIX.length).replaceAll("-", "_"), value]),
  );
}

function withServiceValues(written: OutboundEvent, svc: Readonly<Record<string, string>> | undefined): string {
  const body = bodyOf(written);
  const response = body && nestedBody(body, "response");
  if (body === undefined || response === undefined) return written.data;
  const json = patchMembers(response, [{ key: "svc", json: JSON.stringify(svc) }]);
  return patchMembers(body, [{ key: "response", json }]);
}

/** Its data as an object. */
export function bodyOf({
  data,
  body = parseJsonText(data),
}: Pick<OutboundEvent, "data" | "body">): ParsedBody | undefined {
  return "problem" in body ? undefined : body;
}

const isComment = (chunk: Buffer | string) =>
  (typeof chunk === "string" ? chunk : chunk.toString("latin1", 0, 1))[0] === ":";
