import { decodeProblem } from "../dialects/chat/upstream/errors.ts";
import { JsonAudioExtractor, SseAudioExtractor } from "./audio-extractors.ts";
import { SpeechEventStreamDecoder } from "./openai.ts";
import { hasContentType, type SpeechWireFormat } from "./wire-format.ts";

const AUDIO_FIELD = "audio_data";

/** Mistral's format: one JSON object with base64 audio, or events that each carry a part of it. */
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
  accept: (_call, { canStream }) => (canStream ? "text/event-stream" : "application/json"),
  createExtractor(headers) {
    const decoder = new SpeechEventStreamDecoder(AUDIO_FIELD);
    return hasContentType(headers, "text/event-stream")
      ? new SseAudioExtractor(decoder)
      : new JsonAudioExtractor(AUDIO_FIELD, decoder, () => undefined);
  },
  decodeProblem,
};
