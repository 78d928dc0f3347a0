import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import type { Usage } from "../canon/usage.ts";
import { decodeProblem } from "../dialects/chat/upstream/errors.ts";
import { needsSegments, needsWords, type TranscriptionAsk } from "./call.ts";
import { parameterFields } from "./openai.ts";
import { type Figures, heardUsage, secondsOf, segmentsOf, type Transcript, wordsOf } from "./reply.ts";
import type { FormField, TranscriptEvent, TranscriptionWire } from "./wire-format.ts";

/** Mistral's: one JSON for everything, times by name of what they are wanted for, and events of its own. */
export const mistralTranscriptions: TranscriptionWire = {
  path: "/audio/transcriptions",
  noTimesWith: ["language"],
  timesTellSeconds: false,
  fields: (ask, upstreamModel) => [
    ["model", upstreamModel],
    ...parameterFields(ask),
    ...timesOf(ask).map((one): FormField => ["timestamp_granularities", one]),
    ...(ask.streaming ? [["stream", "true"] as const] : []),
  ],
  decode: transcriptOf,
  event: eventOf,
  decodeProblem,
};

function timesOf(ask: TranscriptionAsk): ("segment" | "word")[] {
  if (!needsSegments(ask)) return [];
  return needsWords(ask) ? ["segment", "word"] : ["segment"];
}

function transcriptOf(body: unknown): Transcript | undefined {
  if (!isJsonObject(body) || typeof body["text"] !== "string") return undefined;
  const { text, language, segments, words, usage } = body;
  return {
    text,
    language: typeof language === "string" ? language : undefined,
    duration: undefined,
    segments: segmentsOf(segments),
    words: wordsOf(words),
    figures: figuresOf(usage),
    also: {},
  };
}

function figuresOf(usage: unknown): Figures {
  if (!isJsonObject(usage)) return { seconds: undefined, tokens: undefined };
  return { seconds: secondsOf(usage["prompt_audio_seconds"]), tokens: tokensOf(usage) };
}

/** Its prompt tokens are without those of the audio; the total is what all of them add up to. */
function tokensOf(usage: JsonObject): Usage | undefined {
  const { total_tokens: total, completion_tokens: output } = usage;
  const details = isJsonObject(usage["prompt_tokens_details"]) ? usage["prompt_tokens_details"] : {};
  const input = typeof total === "number" && typeof output === "number" ? total - output : undefined;
  return heardUsage(input, output, details["audio_tokens"]);
}

function eventOf(data: unknown): TranscriptEvent {
  if (!isJsonObject(data)) return { is: "garbage" };
  const { type, text } = data;
  if (type === "transcription.text.delta")
    return typeof text === "string" ? { is: "text", text, said: {} } : { is: "garbage" };
  if (type === "transcription.segment") return segmentOf(data);
  if (type === "transcription.done") {
    const transcript = transcriptOf(data);
    return transcript === undefined ? { is: "garbage" } : { is: "done", transcript };
  }
  if (type === "error" || data["error"] !== undefined || data["detail"] !== undefined)
    return { is: "problem", problem: decodeProblem(data, null) };
  return { is: "nothing" };
}

function segmentOf(data: JsonObject): TranscriptEvent {
  const [segment] = segmentsOf([data]) ?? [];
  if (segment === undefined) return { is: "garbage" };
  const { start, end, text } = segment;
  const speaker = data["speaker_id"] ?? data["speaker"];
  const event = { type: "transcript.text.segment", start, end, text };
  return { is: "segment", event: typeof speaker === "string" ? { ...event, speaker } : event };
}
