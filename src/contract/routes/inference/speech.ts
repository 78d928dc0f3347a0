import type { Route } from "../../route.ts";
import { CallHeaders } from "../../schemas/idempotency.ts";
import { SpeechRequest } from "../../schemas/speech.ts";
import { CHARGED_FAULTS, CHAT_FAULTS } from "./faults.ts";

export const SPEECH_ROUTES: readonly Route[] = [
  {
    id: "createSpeech",
    method: "POST",
    path: "/v1/audio/speech",
    access: { by: "key", scope: "inference:audio" },
    intake: "json",
    switchedBy: "speech",
    counted: true,
    tag: "Audio",
    summary: "Generate speech",
    description:
      "The response is the audio itself, streamed in chunks. If the provider fails midway, the connection is closed before the end of the body, and nothing is charged.",
    headers: CallHeaders,
    body: SpeechRequest,
    servingHeaders: "speech",
    answer: {
      is: "bytes",
      contentTypes: ["audio/mpeg", "audio/opus", "audio/aac", "audio/flac", "audio/wav", "audio/pcm"],
    },
    faults: [
      ...CHAT_FAULTS.filter((code) => code !== "context_length_exceeded" && code !== "router_not_found"),
      "router_not_supported",
      "speech_format_not_supported",
      "speech_input_too_long",
      "speech_not_supported",
      "audio_not_enabled",
      ...CHARGED_FAULTS,
    ],
    example: { body: { model: "sandbox/speak", input: "Hello from the gateway.", voice: "ada" } },
  },
];
