import type { Fault } from "../../contract/faults.ts";
import { CAPTURED_PARTS, type CaptureWindow, type TruncatedPart } from "../../domain/record/capture.ts";
import type { Surface } from "../../domain/record/record.ts";
import type { ResponseSink } from "../exchange.ts";

/** What was heard of one call, on its way to be kept. */
export type RecordedExchange = {
  readonly requestId: string;
  readonly keyId: string;
  readonly window: CaptureWindow;
  readonly atMs: number;
  readonly request: Buffer | null;
  readonly response: string | null;
  /** JSON or events; or nothing but words, as transcripts can be. */
  readonly responseFormat: "data" | "words";
  readonly cut: readonly TruncatedPart[];
};

type CaptureTarget = Pick<RecordedExchange, "requestId" | "keyId" | "window" | "atMs"> & { readonly surface: Surface };

/** What running calls may hold of their answers, all together: a crowd of long streams must not fill the memory. */
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

/** Listens to one call for the window it is in. It holds references and counts; the work is done after the answer. */
export class CaptureRecorder {
  readonly #target: CaptureTarget;
  readonly #itemMaxBytes: number;
  readonly #memory: CaptureMemory;
  readonly #onFinish: (heard: RecordedExchange) => void;
  /** Of an answer that is never kept nothing is held either: audio above all. */
  readonly #capturesResponse: boolean;
  #request: Buffer | null = null;
  #chunks: string[] = [];
  /** Of the answer so far, and how much of that is held. */
  #responseBytes = 0;
  #bufferedBytes = 0;
  #wholeResponse: string | undefined;
  #responseFormat: RecordedExchange["responseFormat"] = "data";
  #refused: "no" | "yes" = "no";

  constructor(told: CaptureTarget, itemMaxBytes: number, room: CaptureMemory, kept: (heard: RecordedExchange) => void) {
    this.#target = told;
    this.#itemMaxBytes = itemMaxBytes;
    this.#memory = room;
    this.#onFinish = kept;
    this.#capturesResponse = CAPTURED_PARTS[told.surface].includes("answer");
  }

  setRequest(body: Buffer): void {
    this.#request = body;
  }

  /** The caller itself demands that nothing is kept. */
  optOut(): void {
    this.#refused = "yes";
  }

  /** The answer as one text; it stands for whatever was sent of it in pieces. */
  setResponse(text: string): void {
    this.#wholeResponse = text;
  }

  /** The same sink, listened to. */
  wrapSink(sink: ResponseSink): ResponseSink {
    const begun = (contentType: string | undefined) => {
      if (contentType?.startsWith("text/plain") === true) this.#responseFormat = "words";
    };
    return new RecordingSink(sink, begun, (chunk) => this.#addChunk(chunk));
  }

  /** The call is over, however it ended. */
  finish(): void {
    this.#memory.give(this.#bufferedBytes);
    if (this.#refused === "yes") return;
    const { surface, ...told } = this.#target;
    const parts = CAPTURED_PARTS[surface];
    const answer = this.#wholeResponse ?? (this.#chunks.length === 0 ? null : this.#chunks.join(""));
    const isCut =
      this.#wholeResponse === undefined &&
      (this.#responseBytes > this.#itemMaxBytes || this.#bufferedBytes < this.#responseBytes);
    this.#onFinish({
      ...told,
      request: parts.includes("request") ? this.#request : null,
      response: this.#capturesResponse ? answer : null,
      responseFormat: this.#wholeResponse === undefined ? this.#responseFormat : "data",
      cut: isCut && this.#capturesResponse ? [{ part: "answer", ofBytes: this.#responseBytes }] : [],
    });
  }

  #addChunk(chunk: Buffer | string): void {
    // Pieces are whole events: one that would go beyond what is kept is counted and let go.
    const bytes = typeof chunk === "string" ? Buffer.byteLength(chunk) : chunk.length;
    const isWhole = this.#bufferedBytes === this.#responseBytes;
    this.#responseBytes += bytes;
    if (this.#refused === "yes" || !this.#capturesResponse || !isWhole || this.#bufferedBytes >= this.#itemMaxBytes)
      return;
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
    begun: (contentType: string | undefined) => void,
    heard: (chunk: Buffer | string) => void,
  ) {
    this.#sink = sink;
    this.#onStart = begun;
    this.#onChunk = heard;
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
    // A client that has gone sees nothing more.
    if (!this.#sink.disconnected) this.#onChunk(chunk);
    return this.#sink.write(chunk);
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
