import { type JsonObject, tryParseJsonObject } from "../../kit/json.ts";
import { type SseFrame, SseReader } from "../../kit/sse.ts";
import type { UpstreamProblem } from "../canon/problem.ts";
import type { AudioPiece } from "../canon/reply.ts";
import type { Usage } from "../canon/usage.ts";
import type { AudioExtractor } from "./wire-format.ts";

/** A whole text in one event is long; minutes of raw samples in one are longer. */
const EVENT_MAX_CHARS = 64 * 1024 * 1024;

/** What one event means. */
export type SpeechEvent =
  | { readonly is: "audio"; readonly base64: string; readonly mediaType?: string | undefined }
  | { readonly is: "done" }
  | { readonly is: "problem"; readonly problem: UpstreamProblem }
  | { readonly is: "garbage"; readonly why: string }
  | { readonly is: "nothing" };

/** Figures and id come with any event, before or with the last. */
export type SpeechEventDecoder = {
  decode(event: JsonObject): readonly SpeechEvent[];
  readonly usage: Usage | undefined;
  readonly upstreamId: string | null;
};

/** Audio in server-sent events, each with a piece of it in base64. */
export class SseAudioExtractor implements AudioExtractor {
  readonly #frames = new SseReader(EVENT_MAX_CHARS);
  readonly #decoder: SpeechEventDecoder;
  #isDone = false;
  mediaType: string | undefined;

  constructor(reading: SpeechEventDecoder) {
    this.#decoder = reading;
  }

  get usage(): Usage | undefined {
    return this.#decoder.usage;
  }

  get upstreamId(): string | null {
    return this.#decoder.upstreamId;
  }

  push(chunk: Buffer): AudioPiece {
    try {
      return this.#readFrames(this.#frames.push(chunk));
    } catch {
      return { is: "garbage", why: "an event over the size limit" };
    }
  }

  end(): AudioPiece {
    const last = this.#readFrames(this.#frames.end());
    if (last.is !== "audio" || this.#isDone) return last;
    return { is: "garbage", why: "the stream ended without its last event" };
  }

  #readFrames(frames: readonly SseFrame[]): AudioPiece {
    const parts: Buffer[] = [];
    for (const { data } of frames) {
      if (data === "[DONE]") continue;
      const event = tryParseJsonObject(data);
      if (event === undefined) return { is: "garbage", why: "an event that is not of its format" };
      for (const piece of this.#decoder.decode(event)) {
        if (piece.is === "audio") {
          this.mediaType ??= piece.mediaType;
          parts.push(Buffer.from(piece.base64, "base64"));
        } else if (piece.is === "done") this.#isDone = true;
        else if (piece.is !== "nothing") return piece;
      }
    }
    return { is: "audio", bytes: Buffer.concat(parts) };
  }
}
