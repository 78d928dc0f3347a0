import type { ErrorEnvelope } from "../../contract/faults.ts";
import { type JsonObject, tryParseJson } from "../../kit/json.ts";
import { tokensOfWeight, weightOf } from "../canon/estimate.ts";
import type { MeteredUnits, ReplyStream, ReportedCost, StreamPiece } from "../canon/reply.ts";
import { NO_TOKENS, type Usage } from "../canon/usage.ts";
import { type Measured, type Shown, secondsHeard, secondsShown } from "./duration.ts";
import { usageOf } from "./render.ts";
import { secondsOf, type Transcript } from "./reply.ts";
import type { TranscriptionWire } from "./wire-format.ts";

const END = "[DONE]";

/** A transcript that goes out while it is made, in the events that callers know. Its last one waits for the charge. */
export class TranscriptStream implements ReplyStream {
  readonly upstreamId = null;
  readonly #wire: TranscriptionWire;
  readonly #billedBy: "seconds" | "tokens";
  readonly #file: Measured;
  #weight = 0;
  #untilSeconds = 0;
  #done: Transcript | undefined;

  constructor(wire: TranscriptionWire, billedBy: "seconds" | "tokens", file: Measured) {
    this.#wire = wire;
    this.#billedBy = billedBy;
    this.#file = file;
  }

  get isFinished(): boolean {
    return this.#done !== undefined;
  }

  /** Where seconds are billed tokens are not. */
  get usage(): Usage | undefined {
    if (this.#billedBy === "tokens") return this.#done?.figures.tokens;
    return this.#isGuessed ? undefined : NO_TOKENS;
  }

  get estimate(): Usage | undefined {
    return this.#billedBy === "seconds" ? NO_TOKENS : undefined;
  }

  get outputWeight(): number {
    return this.#billedBy === "seconds" ? 0 : this.#weight;
  }

  get units(): MeteredUnits | undefined {
    return this.#billedBy === "seconds" ? { seconds: this.#seconds } : undefined;
  }

  get detail(): JsonObject | undefined {
    return this.#seconds === undefined ? undefined : { seconds: this.#seconds };
  }

  get #seconds(): number | undefined {
    const shown: Shown = { untilSeconds: this.#untilSeconds, tokens: tokensOfWeight(this.#weight) };
    if (this.#done === undefined) return secondsShown(this.#file, shown);
    return secondsHeard(this.#done.figures.seconds, this.#file, shown);
  }

  /** Not as it was measured, and nobody has said it. */
  get #isGuessed(): boolean {
    return !this.isFinished && this.#seconds !== secondsShown(this.#file, { untilSeconds: 0, tokens: 0 });
  }

  read({ data }: { readonly data: string }): StreamPiece {
    if (data === END) return this.isFinished ? { is: "end", text: "" } : { is: "garbage" };
    // Who talks on after the last word has nothing to say.
    if (this.isFinished) return { is: "figures" };
    const event = this.#wire.event(tryParseJson(data));
    switch (event.is) {
      case "text":
        this.#weight += weightOf(event.text);
        return { is: "content", text: frame({ type: "transcript.text.delta", delta: event.text, ...event.said }) };
      case "segment":
        this.#untilSeconds = secondsOf(event.event["end"]) ?? this.#untilSeconds;
        return { is: "content", text: frame(event.event) };
      case "done":
        this.#done = event.transcript;
        if (this.#billedBy === "seconds" && this.#seconds === undefined) return { is: "garbage" };
        return { is: "figures" };
      case "problem":
        return { is: "problem", problem: event.problem };
      case "nothing":
        return { is: "figures" };
      case "garbage":
        return { is: "garbage" };
    }
  }

  close(counted: Usage, shown: ReportedCost | undefined): string {
    const seconds = this.#seconds;
    const basis =
      this.#billedBy === "seconds" && seconds !== undefined ? ({ by: "seconds", seconds } as const) : BY_TOKENS;
    const { text = "", also = {} } = this.#done ?? {};
    const last = { type: "transcript.text.done", text, ...also, usage: usageOf(basis, counted, shown) };
    return `${frame(last)}data: ${END}\n\n`;
  }

  fail(envelope: ErrorEnvelope): string {
    return frame(envelope);
  }
}

const BY_TOKENS = { by: "tokens" } as const;

function frame(event: object): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}
