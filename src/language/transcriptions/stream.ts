import type { ErrorEnvelope } from "../../contract/error-envelope.ts";
import type { JsonObject } from "../../kit/json.ts";
import { frameValue } from "../../kit/json-document.ts";
import { stringifyWithSpans } from "../../kit/json-span.ts";
import { listOmitted } from "../canon/omitted-paths.ts";
import type { MeteredUnits, ReplyStream, ReportedCost, StreamPiece } from "../canon/reply.ts";
import { tokensOfWeight, weightOf } from "../canon/tokens.ts";
import { NO_TOKENS, type Usage } from "../canon/usage.ts";
import { OmissionLog } from "../dialects/reply-members.ts";
import { billableSeconds, type MeasuredAudio, secondsWithoutReport, type TranscriptExtent } from "./duration.ts";
import { renderUsage } from "./render.ts";
import { decodeSeconds, type Transcript } from "./reply.ts";
import type { TranscriptionWireFormat } from "./wire-format.ts";

const DONE_MARKER = "[DONE]";

/** Relays a transcript as events while it is produced. The final event waits for the cost. */
export class TranscriptStream implements ReplyStream {
  readonly upstreamId = null;
  readonly #wireFormat: TranscriptionWireFormat;
  readonly #billingUnit: "seconds" | "tokens";
  readonly #audio: MeasuredAudio;
  readonly #omissions = new OmissionLog();
  #weight = 0;
  #endSeconds = 0;
  #transcript: Transcript | undefined;

  constructor(wireFormat: TranscriptionWireFormat, billingUnit: "seconds" | "tokens", audio: MeasuredAudio) {
    this.#wireFormat = wireFormat;
    this.#billingUnit = billingUnit;
    this.#audio = audio;
  }

  get isFinished(): boolean {
    return this.#transcript !== undefined;
  }

  /** Seconds-billed transcripts carry no tokens. */
  get usage(): Usage | undefined {
    if (this.#billingUnit === "tokens") return this.#transcript?.usage.tokens;
    return this.#isEstimate ? undefined : NO_TOKENS;
  }

  get estimate(): Usage | undefined {
    return this.#billingUnit === "seconds" ? NO_TOKENS : undefined;
  }

  get outputWeight(): number {
    return this.#billingUnit === "seconds" ? 0 : this.#weight;
  }

  get units(): MeteredUnits | undefined {
    return this.#billingUnit === "seconds" ? { seconds: this.#seconds } : undefined;
  }

  get detail(): JsonObject | undefined {
    return this.#seconds === undefined ? undefined : { seconds: this.#seconds };
  }

  get omitted(): readonly string[] | undefined {
    return this.#omissions.paths;
  }

  get #seconds(): number | undefined {
    const shown: TranscriptExtent = { endSeconds: this.#endSeconds, tokens: tokensOfWeight(this.#weight) };
    if (this.#transcript === undefined) return secondsWithoutReport(this.#audio, shown);
    return billableSeconds(this.#transcript.usage.seconds, this.#audio, shown);
  }

  /** The duration is neither measured nor reported. */
  get #isEstimate(): boolean {
    return !this.isFinished && this.#seconds !== secondsWithoutReport(this.#audio, { endSeconds: 0, tokens: 0 });
  }

  read(frame: Pick<Parameters<ReplyStream["read"]>[0], "data" | "document">): StreamPiece {
    const { data } = frame;
    if (data === DONE_MARKER) return this.isFinished ? { is: "end", text: "" } : { is: "malformed" };
    // Events after the final one carry nothing.
    if (this.isFinished) return { is: "usage" };
    const value = frameValue(frame);
    const event = this.#wireFormat.decodeEvent(value);
    if (event.is !== "problem" && event.is !== "malformed") this.#omissions.check(value, this.#wireFormat.events);
    switch (event.is) {
      case "text":
        this.#weight += weightOf(event.text);
        return {
          is: "content",
          text: sseFrame({ type: "transcript.text.delta", delta: event.text, ...event.providerFields }),
        };
      case "segment":
        this.#endSeconds = decodeSeconds(event.event["end"]) ?? this.#endSeconds;
        return { is: "content", text: sseFrame(event.event) };
      case "done":
        this.#transcript = event.transcript;
        if (this.#billingUnit === "seconds" && this.#seconds === undefined) return { is: "malformed" };
        return { is: "usage" };
      case "problem":
        return { is: "problem", problem: event.problem };
      case "nothing":
        return { is: "usage" };
      case "malformed":
        return { is: "malformed" };
    }
  }

  close(counted: Usage, shown: ReportedCost | undefined): string {
    const seconds = this.#seconds;
    const basis =
      this.#billingUnit === "seconds" && seconds !== undefined ? ({ by: "seconds", seconds } as const) : BY_TOKENS;
    const { text = "", extraFields = {} } = this.#transcript ?? {};
    const { omitted } = this;
    const last = {
      type: "transcript.text.done",
      text,
      ...extraFields,
      usage: renderUsage(basis, counted, shown),
      ...(omitted === undefined ? {} : { svc_omitted: listOmitted(omitted) }),
    };
    return `${sseFrame(last)}data: ${DONE_MARKER}\n\n`;
  }

  fail(envelope: ErrorEnvelope): string {
    return sseFrame(envelope);
  }
}

const BY_TOKENS = { by: "tokens" } as const;

function sseFrame(event: object): string {
  return `data: ${stringifyWithSpans(event)}\n\n`;
}
