import { decodeProblem } from "../dialects/chat/upstream/errors.ts";
import { AudioEvents } from "./events.ts";
import { SpeechEvents } from "./openai.ts";
import { AudioInJson } from "./whole.ts";
import { type SpeechWire, says } from "./wire.ts";

const FIELD = "audio_data";

/** Mistral's format: one JSON object with the audio in base64, or events with a piece of it each. */
export const mistralSpeech: SpeechWire = {
  auth: "bearer",
  path: () => "/audio/speech",
  encode: ({ input, voice, format }, { upstreamModel, streams }) => ({
    model: upstreamModel,
    input,
    voice_id: voice,
    response_format: format,
    ...(streams ? { stream: true } : {}),
  }),
  accept: (_ask, { streams }) => (streams ? "text/event-stream" : "application/json"),
  unwrap(headers) {
    const events = new SpeechEvents(FIELD);
    return says(headers, "text/event-stream")
      ? new AudioEvents(events)
      : new AudioInJson(FIELD, events, () => undefined);
  },
  decodeProblem,
};
