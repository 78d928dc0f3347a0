import type { Route } from "../../route.ts";
import { CallHeaders } from "../../schemas/idempotency.ts";
import { Transcription, TranscriptionEvent, TranscriptionRequest } from "../../schemas/transcriptions.ts";
import { CHARGED_FAULTS, CHAT_FAULTS } from "./faults.ts";

export const TRANSCRIPTIONS_ROUTES: readonly Route[] = [
  {
    id: "createTranscription",
    method: "POST",
    path: "/v1/audio/transcriptions",
    access: { by: "key", scope: "inference:audio" },
    intake: "multipart",
    counted: true,
    tag: "Audio",
    summary: "Transcribe audio",
    description:
      "Speech to text. The file is streamed to the provider and is never stored. Billed per second of audio or by tokens, according to the endpoint's price.",
    headers: CallHeaders,
    body: TranscriptionRequest,
    servingHeaders: "work",
    answer: { is: "json_or_events", schema: Transcription, frame: TranscriptionEvent, or: "text/plain" },
    faults: [
      ...CHAT_FAULTS.filter((code) => code !== "context_length_exceeded"),
      "router_not_supported",
      ...CHARGED_FAULTS,
    ],
    example: {
      body: { file: "speech.wav", model: "sandbox/listen", response_format: "json" },
      answer: {
        text: "The quick brown fox jumps over the lazy dog.",
        usage: { type: "duration", seconds: 4, cost: 0.0002, currency: "EUR" },
      },
    },
  },
];
