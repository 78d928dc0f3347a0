import type { Fault } from "../../contract/faults.ts";
import { CAPTURED_PARTS, type CaptureWindow, type TruncatedPart } from "../../domain/record/capture.ts";
import type { Surface } from "../../domain/record/record.ts";
import type { ResponseSink } from "../exchange.ts";

/** What was heard of one call, on its way to be kept. */
export type Heard = {
  readonly requestId: string;
  readonly keyId: string;
  readonly window: CaptureWindow;
  readonly atMs: number;
  readonly request: Buffer | null;
  readonly answer: string | null;
  /** JSON or events; or nothing but words, as transcripts can be. */
  readonly answerIs: "data" | "words";
  readonly cut: readonly TruncatedPart[];
};

type Told = Pick<Heard, "requestId" | "keyId" | "window" | "atMs"> & { readonly surface: Surface };

/** What running calls may hold of their answers, all together: a crowd of long streams must not fill the memory. */
export class ListeningRoom {
  #leftBytes: number;

  constructor(maxBytes: number) {
    this.#leftBytes = maxBytes;
  }

  take(bytes: number): "taken" | "full" {
    if (bytes > this.#leftBytes) return "full";
    this.#leftBytes -= bytes;
    return "taken";
  }

  give(bytes: number): void {
    this.#leftBytes += bytes;
  }
}

/** Listens to one call for the window it is in. It holds references and counts; the work is done after the answer. */
export class Capturing {
  readonly #told: Told;
  readonly #itemMaxBytes: number;
  readonly #room: ListeningRoom;
  readonly #kept: (heard: Heard) => void;
  /** Of an answer that is never kept nothing is held either: audio above all. */
  readonly #keepsAnswer: boolean;
  #request: Buffer | null = null;
  #pieces: string[] = [];
  /** Of the answer so far, and how much of that is held. */
  #bytes = 0;
  #heldBytes = 0;
  #whole: string | undefined;
  #sent: Heard["answerIs"] = "data";
  #refused: "no" | "yes" = "no";

  constructor(told: Told, itemMaxBytes: number, room: ListeningRoom, kept: (heard: Heard) => void) {
    this.#told = told;
    this.#itemMaxBytes = itemMaxBytes;
    this.#room = room;
    this.#kept = kept;
    this.#keepsAnswer = CAPTURED_PARTS[told.surface].includes("answer");
  }

  asked(body: Buffer): void {
    this.#request = body;
  }

  /** The caller itself demands that nothing is kept. */
  leaveOut(): void {
    this.#refused = "yes";
  }

  /** The answer as one text; it stands for whatever was sent of it in pieces. */
  answered(text: string): void {
    this.#whole = text;
  }

  /** The same sink, listened to. */
  through(sink: ResponseSink): ResponseSink {
    const begun = (contentType: string | undefined) => {
      if (contentType?.startsWith("text/plain") === true) this.#sent = "words";
    };
    return new HeardSink(sink, begun, (chunk) => this.#take(chunk));
  }

  /** The call is over, however it ended. */
  end(): void {
    this.#room.give(this.#heldBytes);
    if (this.#refused === "yes") return;
    const { surface, ...told } = this.#told;
    const parts = CAPTURED_PARTS[surface];
    const answer = this.#whole ?? (this.#pieces.length === 0 ? null : this.#pieces.join(""));
    const isCut = this.#whole === undefined && (this.#bytes > this.#itemMaxBytes || this.#heldBytes < this.#bytes);
    this.#kept({
      ...told,
      request: parts.includes("request") ? this.#request : null,
      answer: this.#keepsAnswer ? answer : null,
      answerIs: this.#whole === undefined ? this.#sent : "data",
      cut: isCut && this.#keepsAnswer ? [{ part: "answer", ofBytes: this.#bytes }] : [],
    });
  }

  #take(chunk: Buffer | string): void {
    // Pieces are whole events: one that would go beyond what is kept is counted and let go.
    const bytes = typeof chunk === "string" ? Buffer.byteLength(chunk) : chunk.length;
    const isWhole = this.#heldBytes === this.#bytes;
    this.#bytes += bytes;
    if (this.#refused === "yes" || !this.#keepsAnswer || !isWhole || this.#heldBytes >= this.#itemMaxBytes) return;
    if (this.#room.take(bytes) === "full") return;
    this.#pieces.push(chunk.toString());
    this.#heldBytes += bytes;
  }
}

class HeardSink implements ResponseSink {
  readonly #sink: ResponseSink;
  readonly #begun: (contentType: string | undefined) => void;
  readonly #heard: (chunk: Buffer | string) => void;

  constructor(
    sink: ResponseSink,
    begun: (contentType: string | undefined) => void,
    heard: (chunk: Buffer | string) => void,
  ) {
    this.#sink = sink;
    this.#begun = begun;
    this.#heard = heard;
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
    this.#begun(headers["content-type"]);
    this.#sink.start(status, headers);
  }

  write(chunk: Buffer | string): boolean {
    // A client that has gone sees nothing more.
    if (!this.#sink.disconnected) this.#heard(chunk);
    return this.#sink.write(chunk);
  }

  drained(): Promise<void> {
    return this.#sink.drained();
  }

  end(chunk?: Buffer | string): void {
    if (chunk !== undefined && !this.#sink.disconnected) this.#heard(chunk);
    this.#sink.end(chunk);
  }

  abort(): void {
    this.#sink.abort();
  }

  onDisconnect(listener: () => void): void {
    this.#sink.onDisconnect(listener);
  }
}
