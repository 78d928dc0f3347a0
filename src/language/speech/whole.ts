import { tryParseJsonObject } from "../../kit/json.ts";
import type { AudioPiece } from "../canon/reply.ts";
import type { Usage } from "../canon/usage.ts";
import { Base64Field } from "./base64-field.ts";
import type { EventReading } from "./events.ts";
import type { Unwrapping } from "./wire.ts";

/** What a provider says beside the audio itself. */
const REST_CHARS_MAX = 256 * 1024;

/** Audio in one JSON object: its bytes are taken out while the object is still coming. */
export class AudioInJson implements Unwrapping {
  readonly #field: Base64Field;
  readonly #reading: EventReading;
  readonly #mediaTypeIn: (rest: string) => string | undefined;
  readonly isWhole = true;
  mediaType: string | undefined;

  /** `mediaTypeIn` finds what the audio is in the text that stands before it. */
  constructor(field: string, reading: EventReading, mediaTypeIn: (rest: string) => string | undefined) {
    this.#field = new Base64Field(field, REST_CHARS_MAX);
    this.#reading = reading;
    this.#mediaTypeIn = mediaTypeIn;
  }

  get usage(): Usage | undefined {
    return this.#reading.usage;
  }

  get upstreamId(): string | null {
    return this.#reading.upstreamId;
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
    for (const piece of this.#reading.read(body)) if (piece.is === "problem" || piece.is === "garbage") return piece;
    return { is: "audio", bytes: Buffer.alloc(0) };
  }
}

/** Audio as it is, in nothing. */
export class BareAudio implements Unwrapping {
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
