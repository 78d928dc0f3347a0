import { tryParseJsonObject } from "../../kit/json.ts";
import type { AudioPiece } from "../canon/reply.ts";
import type { Usage } from "../canon/usage.ts";
import type { SpeechEventDecoder } from "./audio-extractors.ts";
import { Base64FieldExtractor } from "./base64-field-extractor.ts";
import type { AudioExtractor } from "./wire-format.ts";

/** What a provider says beside the audio itself. */
const REST_MAX_CHARS = 256 * 1024;

/** Audio in one JSON object: its bytes are taken out while the object is still coming. */
export class JsonAudioExtractor implements AudioExtractor {
  readonly #field: Base64FieldExtractor;
  readonly #decoder: SpeechEventDecoder;
  readonly #mediaTypeIn: (rest: string) => string | undefined;
  readonly isComplete = true;
  mediaType: string | undefined;

  /** `mediaTypeIn` finds what the audio is in the text that stands before it. */
  constructor(field: string, reading: SpeechEventDecoder, mediaTypeIn: (rest: string) => string | undefined) {
    this.#field = new Base64FieldExtractor(field, REST_MAX_CHARS);
    this.#decoder = reading;
    this.#mediaTypeIn = mediaTypeIn;
  }

  get usage(): Usage | undefined {
    return this.#decoder.usage;
  }

  get upstreamId(): string | null {
    return this.#decoder.upstreamId;
  }

  push(chunk: Buffer): AudioPiece {
    const bytes = this.#field.push(chunk);
    const { rest } = this.#field;
    if (rest === undefined) return { is: "garbage", why: "not an answer of its format" };
    if (bytes.length > 0 && this.mediaType === undefined) this.mediaType = this.#mediaTypeIn(rest);
    return { is: "audio", bytes };
  }

  end(): AudioPiece {
    const body = tryParseJsonObject(this.#field.rest ?? "");
    if (body === undefined) return { is: "garbage", why: "not one whole JSON object" };
    for (const piece of this.#decoder.decode(body)) if (piece.is === "problem" || piece.is === "garbage") return piece;
    return { is: "audio", bytes: Buffer.alloc(0) };
  }
}

/** Audio as it is, in nothing. */
export class RawAudioExtractor implements AudioExtractor {
  readonly usage = undefined;
  readonly upstreamId = null;
  readonly mediaType = undefined;

  push(chunk: Buffer): AudioPiece {
    return { is: "audio", bytes: chunk };
  }

  end(): AudioPiece {
    return { is: "audio", bytes: Buffer.alloc(0) };
  }
}
