import { decodeProblem } from "../dialects/chat/upstream/errors.ts";
import { SseAudioExtractor } from "./audio-extractors.ts";
import { SpeechEventStreamDecoder } from "./openai.ts";
import { JsonAudioExtractor } from "./whole.ts";
import { hasContentType, type SpeechWireFormat } from "./wire-format.ts";

const AUDIO_FIELD = "audio_data";

/** Mistral's format: one JSON object with the audio in base64, or events with a piece of it each. */
export const mistralSpeech: SpeechWireFormat = {
  auth: "bearer",
  path: () => "/audio/speech",
  encode: ({ input, voice, format }, { upstreamModel, canStream }) => ({
    model: upstreamModel,
    input,
    voice_id: voice,
    response_format: format,
    ...(canStream ? { stream: true } : {}),
  }),
  accept: (_ask, { canStream }) => (canStream ? "text/event-stream" : "application/json"),
  createExtractor(headers) {
    const events = new SpeechEventStreamDecoder(AUDIO_FIELD);
    return hasContentType(headers, "text/event-stream")
      ? new SseAudioExtractor(events)
      : new JsonAudioExtractor(AUDIO_FIELD, events, () => undefined);
  },
  decodeProblem,
};
