import type { WebSocket } from "ws";
import type { ResponseSink } from "../app/exchange.ts";
import { parseJsonText, patchMembers } from "../kit/json.ts";
import { SseReader } from "../kit/sse.ts";
import { cancelTimer, type Timer, type Timers } from "../kit/timers.ts";

/** The gateway itself writes whole events, so this limit is never reached in practice. */
const FRAME_CHARS_MAX = 256 * 1024 * 1024;
/** More than this many unsent characters are backpressure. */
const UNSENT_CHARS_MAX = 1024 * 1024;
/** Clients do not see the pings of a connection, and ignore events that they do not know. */
const KEEP_ALIVE = JSON.stringify({ type: "keepalive" });
const ABNORMAL_END = 1011;

export type SocketSinkRules = {
  readonly streamId: string | undefined;
  readonly timers: Timers;
  /** Time for a client to read what was sent. */
  readonly stallMs: number;
  onEvent(name: string | null, data: string): void;
};

/** Sends the events of one streamed response as text frames. */
export class SocketResponseSink implements ResponseSink {
  readonly #ws: WebSocket;
  readonly #rules: SocketSinkRules;
  readonly #frames = new SseReader(FRAME_CHARS_MAX);
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
    const bytes = Buffer.from(chunk);
    const frames = this.#frames.push(bytes);
    for (const { event, data } of frames) this.#send(event, data);
    // A comment keeps a stream over HTTP open.
    if (frames.length === 0 && bytes[0] === COLON) this.#sendText(this.#withStreamId(KEEP_ALIVE));
    return this.#unsent < UNSENT_CHARS_MAX;
  }

  /** A client that reads nothing for too long loses its connection. */
  drained(): Promise<void> {
    if (this.disconnected || this.#unsent < UNSENT_CHARS_MAX) return Promise.resolve();
    this.#stall ??= this.#rules.timers.after(this.#rules.stallMs, () => this.#ws.terminate());
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  end(chunk?: Buffer | string): void {
    if (chunk !== undefined) this.write(chunk);
    if (!this.disconnected) for (const { event, data } of this.#frames.end()) this.#send(event, data);
    this.#isEnded = true;
  }

  abort(): void {
    this.#ws.close(ABNORMAL_END, "the response is incomplete");
  }

  /** An event that no handler wrote. */
  sendEvent(data: string): void {
    if (!this.disconnected) this.#sendText(this.#withStreamId(data));
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

  #send(event: string | null, data: string): void {
    // It precedes `response.failed`, and clients of a connection would take it for a refused request.
    if (event === "error") return;
    this.#rules.onEvent(event, data);
    const isFirst = this.#svc !== undefined && event === "response.created";
    this.#sendText(this.#withStreamId(isFirst ? withServiceValues(data, this.#svc) : data));
    if (isFirst) this.#svc = undefined;
  }

  #withStreamId(data: string): string {
    const { streamId } = this.#rules;
    return streamId === undefined ? data : patched(data, "stream_id", JSON.stringify(streamId));
  }
}

const COLON = 58;
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

function withServiceValues(data: string, svc: Readonly<Record<string, string>> | undefined): string {
  const event = parseJsonText(data);
  const span = "problem" in event ? undefined : event.members.get("response");
  if ("problem" in event || span === undefined) return data;
  const response = patched(event.text.slice(span.valueStart, span.valueEnd), "svc", JSON.stringify(svc));
  return patchMembers(event, [{ key: "response", json: response }]);
}

function patched(text: string, key: string, json: string): string {
  const object = parseJsonText(text);
  return "problem" in object ? text : patchMembers(object, [{ key, json }]);
}
