import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import type { Usage } from "../canon/usage.ts";
import { decodeProblem } from "../dialects/chat/upstream/errors.ts";
import { CONTENT_TYPES } from "./ask.ts";
import { AudioEvents, type EventPiece, type EventReading } from "./events.ts";
import { BareAudio } from "./whole.ts";
import { type SpeechWire, says, spokenUsage } from "./wire.ts";

/** OpenAI's format: bytes as they are made; in events where the tokens have to be known, which bytes have no place for. */
export const openaiSpeech: SpeechWire = {
  auth: "bearer",
  path: () => "/audio/speech",
  encode: ({ input, voice, format, speed, instructions }, { upstreamModel, figures }) => ({
    model: upstreamModel,
    input,
    voice,
    response_format: format,
    ...(speed === undefined ? {} : { speed }),
    ...(instructions === undefined ? {} : { instructions }),
    ...(figures ? { stream_format: "sse" } : {}),
  }),
  accept: ({ format }, { figures }) => (figures ? "text/event-stream" : CONTENT_TYPES[format]),
  unwrap: (headers) =>
    says(headers, "text/event-stream") ? new AudioEvents(new SpeechEvents("audio")) : new BareAudio(),
  decodeProblem,
};

/** The events of OpenAI and of Mistral, which name the audio differently. */
export class SpeechEvents implements EventReading {
  readonly #field: string;
  usage: Usage | undefined;
  readonly upstreamId = null;

  constructor(field: string) {
    this.#field = field;
  }

  read(event: JsonObject): readonly EventPiece[] {
    const { type, usage, error } = event;
    if (type === "error" || isJsonObject(error)) return [{ is: "problem", problem: decodeProblem(event, null) }];
    if (isJsonObject(usage))
      this.usage =
        spokenUsage(usage["input_tokens"], usage["output_tokens"]) ??
        spokenUsage(usage["prompt_tokens"], usage["completion_tokens"]);
    if (type === "speech.audio.done") return [{ is: "done" }];
    const audio = event[this.#field];
    return [typeof audio === "string" ? { is: "audio", base64: audio } : { is: "nothing" }];
  }
}
