import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import type { Usage } from "../canon/usage.ts";
import { decodeProblem } from "../dialects/chat/upstream/errors.ts";
import { all, type MemberRules, members, variants } from "../dialects/reply-members.ts";
import { needsSegments, needsWords, type TranscriptionCall } from "./call.ts";
import { encodeParameters } from "./openai.ts";
import {
  decodeSeconds,
  decodeSegments,
  decodeWords,
  type Transcript,
  type TranscriptUsage,
  transcriptionUsage,
  transcriptRules,
} from "./reply.ts";
import type { FormField, TranscriptionEvent, TranscriptionWireFormat } from "./wire-format.ts";

/** The gateway states usage itself. */
const EXEMPT: MemberRules = {
  ...all("exempt", "id", "object", "created", "model"),
  usage: members({
    ...all("exempt", "prompt_audio_seconds", "prompt_tokens", "completion_tokens", "total_tokens", "request_count"),
    ...all("exempt", "prompt_tokens_details", "completion_tokens_details", "num_cached_tokens"),
  }),
};

/** Mistral's format: always JSON, timestamp granularities by name, and its own events. */
export const mistralTranscriptions: TranscriptionWireFormat = {
  path: "/audio/transcriptions",
  reply: (format) => transcriptRules(format, [], EXEMPT),
  events: variants("type", {
    // Formats that are streamed have no language.
    "transcription.language": members(all("exempt", "type", "audio_language")),
    "transcription.text.delta": members({ type: "exempt", text: "carried" }),
    "transcription.segment": members({
      type: "exempt",
      ...all("carried", "start", "end", "text", "speaker_id", "speaker"),
    }),
    // Segments had events of their own.
    "transcription.done": members({ ...all("exempt", "type", "language", "segments"), text: "carried", ...EXEMPT }),
  }),
  incompatibleWithTimestamps: ["language"],
  timestampsImplyDuration: false,
  encode: (call, upstreamModel) => [
    ["model", upstreamModel],
    ...encodeParameters(call),
    ...granularitiesOf(call).map((granularity): FormField => ["timestamp_granularities", granularity]),
    ...(call.isStreaming ? [["stream", "true"] as const] : []),
  ],
  decode: decodeTranscript,
  decodeEvent: decodeEvent,
  decodeProblem,
};

function granularitiesOf(call: TranscriptionCall): ("segment" | "word")[] {
  if (!needsSegments(call)) return [];
  return needsWords(call) ? ["segment", "word"] : ["segment"];
}

function decodeTranscript(body: unknown): Transcript | undefined {
  if (!isJsonObject(body) || typeof body["text"] !== "string") return undefined;
  const { text, language, segments, words, usage } = body;
  return {
    text,
    language: typeof language === "string" ? language : undefined,
    duration: undefined,
    segments: decodeSegments(segments),
    words: decodeWords(words),
    usage: decodeUsage(usage),
    extraFields: {},
  };
}

function decodeUsage(usage: unknown): TranscriptUsage {
  if (!isJsonObject(usage)) return { seconds: undefined, tokens: undefined };
  return { seconds: decodeSeconds(usage["prompt_audio_seconds"]), tokens: decodeTokens(usage) };
}

/** `prompt_tokens` excludes audio; the total includes everything. */
function decodeTokens(usage: JsonObject): Usage | undefined {
  const { total_tokens: total, completion_tokens: output } = usage;
  const details = isJsonObject(usage["prompt_tokens_details"]) ? usage["prompt_tokens_details"] : {};
  const input = typeof total === "number" && typeof output === "number" ? total - output : undefined;
  return transcriptionUsage(input, output, details["audio_tokens"]);
}

function decodeEvent(data: unknown): TranscriptionEvent {
  if (!isJsonObject(data)) return { is: "malformed" };
  const { type, text } = data;
  if (type === "transcription.text.delta")
    return typeof text === "string" ? { is: "text", text, providerFields: {} } : { is: "malformed" };
  if (type === "transcription.segment") return decodeSegmentEvent(data);
  if (type === "transcription.done") {
    const transcript = decodeTranscript(data);
    return transcript === undefined ? { is: "malformed" } : { is: "done", transcript };
  }
  if (type === "error" || data["error"] !== undefined || data["detail"] !== undefined)
    return { is: "problem", problem: decodeProblem(data, null) };
  return { is: "nothing" };
}

function decodeSegmentEvent(data: JsonObject): TranscriptionEvent {
  const [segment] = decodeSegments([data]) ?? [];
  if (segment === undefined) return { is: "malformed" };
  const { start, end, text } = segment;
  const speaker = data["speaker_id"] ?? data["speaker"];
  const event = { type: "transcript.text.segment", start, end, text };
  return { is: "segment", event: typeof speaker === "string" ? { ...event, speaker } : event };
}
