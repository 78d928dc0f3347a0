import { type JsonObject, tryParseJsonObject } from "../../kit/json.ts";
import { OversizedEventError, type SseFrame, SseReader } from "../../kit/sse.ts";
import type { AudioPiece } from "../canon/reply.ts";
import type { UpstreamProblem } from "../canon/upstream-problem.ts";
import type { Usage } from "../canon/usage.ts";
import { Base64FieldExtractor } from "./base64-field-extractor.ts";
import type { AudioExtractor } from "./wire-format.ts";

/** One event may carry minutes of raw samples in base64. */
const EVENT_MAX_CHARS = 64 * 1024 * 1024;

export type SpeechEvent =
  | { readonly is: "audio"; readonly base64: string; readonly mediaType?: string | undefined }
  | { readonly is: "done" }
  | { readonly is: "problem"; readonly problem: UpstreamProblem }
  | { readonly is: "malformed"; readonly why: string }
  | { readonly is: "nothing" };

/** Usage and upstream id may arrive with any event, up to and including the last. */
export type SpeechEventDecoder = {
  decode(event: JsonObject): readonly SpeechEvent[];
  readonly usage: Usage | undefined;
  readonly upstreamId: string | null;
  readonly omitted: readonly string[] | undefined;
};

/** Extracts base64 audio from a server-sent event stream. */
export class SseAudioExtractor implements AudioExtractor {
  readonly #frames = new SseReader(EVENT_MAX_CHARS);
  readonly #decoder: SpeechEventDecoder;
  #isDone = false;
  mediaType: string | undefined;

  constructor(decoder: SpeechEventDecoder) {
    this.#decoder = decoder;
  }

  get usage(): Usage | undefined {
    return this.#decoder.usage;
  }

  get upstreamId(): string | null {
    return this.#decoder.upstreamId;
  }

  get omitted(): readonly string[] | undefined {
    return this.#decoder.omitted;
  }

  push(chunk: Buffer): AudioPiece {
    try {
      return this.#readFrames(this.#frames.push(chunk));
    } catch (error) {
      return { is: "malformed", why: error instanceof OversizedEventError ? error.message : "an event cannot be read" };
    }
  }

  end(): AudioPiece {
    const last = this.#readFrames(this.#frames.end());
    if (last.is !== "audio" || this.#isDone) return last;
    return { is: "malformed", why: "the stream ended without its last event" };
  }

  #readFrames(frames: readonly SseFrame[]): AudioPiece {
    const parts: Buffer[] = [];
    for (const { data } of frames) {
      if (data === "[DONE]") continue;
      const event = tryParseJsonObject(data);
      if (event === undefined) return { is: "malformed", why: "an event has an invalid format" };
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

/** Limit for the JSON text around the audio field. */
const REST_MAX_CHARS = 256 * 1024;

/** Extracts base64 audio from one JSON object while the object is still arriving. */
export class JsonAudioExtractor implements AudioExtractor {
  readonly #field: Base64FieldExtractor;
  readonly #decoder: SpeechEventDecoder;
  readonly #mediaTypeIn: (rest: string) => string | undefined;
  readonly isComplete = true;
  mediaType: string | undefined;

  /** `mediaTypeIn` finds the audio's media type in the JSON text that precedes it. */
  constructor(field: string, decoder: SpeechEventDecoder, mediaTypeIn: (rest: string) => string | undefined) {
    this.#field = new Base64FieldExtractor(field, REST_MAX_CHARS);
    this.#decoder = decoder;
    this.#mediaTypeIn = mediaTypeIn;
  }

  get usage(): Usage | undefined {
    return this.#decoder.usage;
  }

  get upstreamId(): string | null {
    return this.#decoder.upstreamId;
  }

  get omitted(): readonly string[] | undefined {
    return this.#decoder.omitted;
  }

  push(chunk: Buffer): AudioPiece {
    const bytes = this.#field.push(chunk);
    const { rest } = this.#field;
    if (rest === undefined) return { is: "malformed", why: "not a valid response of its format" };
    if (bytes.length > 0 && this.mediaType === undefined) this.mediaType = this.#mediaTypeIn(rest);
    return { is: "audio", bytes };
  }

  end(): AudioPiece {
    const body = tryParseJsonObject(this.#field.rest ?? "");
    if (body === undefined) return { is: "malformed", why: "not a complete JSON object" };
    for (const piece of this.#decoder.decode(body))
      if (piece.is === "problem" || piece.is === "malformed") return piece;
    return { is: "audio", bytes: Buffer.alloc(0) };
  }
}

/** Passes a response body through whose bytes are the audio itself. */
export class RawAudioExtractor implements AudioExtractor {
  readonly usage = undefined;
  readonly upstreamId = null;
  readonly omitted = undefined;
  readonly mediaType = undefined;

  push(chunk: Buffer): AudioPiece {
    return { is: "audio", bytes: chunk };
  }

  end(): AudioPiece {
    return { is: "audio", bytes: Buffer.alloc(0) };
  }
}
