import type { Fault } from "../../contract/faults.ts";
import { CAPTURED_PARTS, type CaptureWindow, type TruncatedPart } from "../../domain/record/capture.ts";
import type { Surface } from "../../domain/record/record.ts";
import type { ResponseSink } from "../exchange.ts";

/** The recorded content of one request. */
export type RecordedExchange = {
  readonly requestId: string;
  readonly keyId: string;
  readonly window: CaptureWindow;
  readonly atMs: number;
  readonly request: Buffer | null;
  readonly response: string | null;
  /** `words`: plain text, such as a transcript. */
  readonly responseFormat: "data" | "words";
  readonly cut: readonly TruncatedPart[];
};

type CaptureTarget = Pick<RecordedExchange, "requestId" | "keyId" | "window" | "atMs"> & { readonly surface: Surface };

/** Memory limit for the buffered responses of all requests in flight. */
export class CaptureMemory {
  #freeBytes: number;

  constructor(maxBytes: number) {
    this.#freeBytes = maxBytes;
  }

  take(bytes: number): "taken" | "full" {
    if (bytes > this.#freeBytes) return "full";
    this.#freeBytes -= bytes;
    return "taken";
  }

  give(bytes: number): void {
    this.#freeBytes += bytes;
  }
}

/** Records one request for a capture window; the work is done after the response. */
export class CaptureRecorder {
  readonly #target: CaptureTarget;
  readonly #itemMaxBytes: number;
  readonly #memory: CaptureMemory;
  readonly #onFinish: (recorded: RecordedExchange) => void;
  /** Responses that are never stored, such as audio, are not buffered. */
  readonly #capturesResponse: boolean;
  #request: Buffer | null = null;
  #chunks: string[] = [];
  /** Size of the response so far, and how much of it is buffered. */
  #responseBytes = 0;
  #bufferedBytes = 0;
  #wholeResponse: string | undefined;
  #responseFormat: RecordedExchange["responseFormat"] = "data";
  #isOptedOut = false;

  constructor(
    target: CaptureTarget,
    itemMaxBytes: number,
    room: CaptureMemory,
    onFinish: (recorded: RecordedExchange) => void,
  ) {
    this.#target = target;
    this.#itemMaxBytes = itemMaxBytes;
    this.#memory = room;
    this.#onFinish = onFinish;
    this.#capturesResponse = CAPTURED_PARTS[target.surface].includes("answer");
  }

  setRequest(body: Buffer): void {
    this.#request = body;
  }

  /** The request demands zero data retention. */
  optOut(): void {
    this.#isOptedOut = true;
  }

  /** Replaces the recorded chunks by the whole response. */
  setResponse(text: string): void {
    this.#wholeResponse = text;
  }

  wrapSink(sink: ResponseSink): ResponseSink {
    const onStart = (contentType: string | undefined) => {
      if (contentType?.startsWith("text/plain") === true) this.#responseFormat = "words";
    };
    return new RecordingSink(sink, onStart, (chunk) => this.#addChunk(chunk));
  }

  /** Called once at the end of the request. */
  finish(): void {
    this.#memory.give(this.#bufferedBytes);
    if (this.#isOptedOut) return;
    const { surface, ...target } = this.#target;
    const parts = CAPTURED_PARTS[surface];
    const answer = this.#wholeResponse ?? (this.#chunks.length === 0 ? null : this.#chunks.join(""));
    const isCut =
      this.#wholeResponse === undefined &&
      (this.#responseBytes > this.#itemMaxBytes || this.#bufferedBytes < this.#responseBytes);
    this.#onFinish({
      ...target,
      request: parts.includes("request") ? this.#request : null,
      response: this.#capturesResponse ? answer : null,
      responseFormat: this.#wholeResponse === undefined ? this.#responseFormat : "data",
      cut: isCut && this.#capturesResponse ? [{ part: "answer", ofBytes: this.#responseBytes }] : [],
    });
  }

  #addChunk(chunk: Buffer | string): void {
    // Chunks are whole events: the chunk that exceeds the limit is counted but not stored.
    const bytes = typeof chunk === "string" ? Buffer.byteLength(chunk) : chunk.length;
    const isWhole = this.#bufferedBytes === this.#responseBytes;
    this.#responseBytes += bytes;
    if (this.#isOptedOut || !this.#capturesResponse || !isWhole || this.#bufferedBytes >= this.#itemMaxBytes) return;
    if (this.#memory.take(bytes) === "full") return;
    this.#chunks.push(chunk.toString());
    this.#bufferedBytes += bytes;
  }
}

class RecordingSink implements ResponseSink {
  readonly #sink: ResponseSink;
  readonly #onStart: (contentType: string | undefined) => void;
  readonly #onChunk: (chunk: Buffer | string) => void;

  constructor(
    sink: ResponseSink,
    onStart: (contentType: string | undefined) => void,
    onChunk: (chunk: Buffer | string) => void,
  ) {
    this.#sink = sink;
    this.#onStart = onStart;
    this.#onChunk = onChunk;
  }

  get started(): boolean {
    return this.#sink.started;
  }

  get disconnected(): boolean {
    return this.#sink.disconnected;
  }

  get unattended(): true | undefined {
    return this.#sink.unattended;
  }

  get refusal(): Fault | undefined {
    return this.#sink.refusal;
  }

  start(status: number, headers: Readonly<Record<string, string>>): void {
    this.#onStart(headers["content-type"]);
    this.#sink.start(status, headers);
  }

  write(chunk: Buffer | string): boolean {
    // Output after a disconnect was never seen by the client.
    if (!this.#sink.disconnected) this.#onChunk(chunk);
    return this.#sink.write(chunk);
  }

  get writing(): Promise<void> | undefined {
    return this.#sink.writing;
  }

  drained(): Promise<void> {
    return this.#sink.drained();
  }

  end(chunk?: Buffer | string): void {
    if (chunk !== undefined && !this.#sink.disconnected) this.#onChunk(chunk);
    this.#sink.end(chunk);
  }

  abort(): void {
    this.#sink.abort();
  }

  onDisconnect(listener: () => void): void {
    this.#sink.onDisconnect(listener);
  }
}
