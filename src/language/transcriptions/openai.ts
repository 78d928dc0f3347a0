import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import type { Usage } from "../canon/usage.ts";
import { decodeProblem } from "../dialects/chat/upstream/errors.ts";
import { all, type MemberRules, members, variants } from "../dialects/reply-members.ts";
import type { FormValue, TranscriptionCall } from "./call.ts";
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

/** Forwarded unchanged. */
const FORWARDED_FIELDS = ["languages", "logprobs"] as const;

/** The gateway states usage itself. */
const EXEMPT: MemberRules = {
  usage: members({
    ...all("exempt", "type", "seconds", "input_tokens", "output_tokens", "total_tokens"),
    input_token_details: members(all("exempt", "audio_tokens", "text_tokens")),
  }),
  x_groq: members({ id: "exempt" }),
};

/** OpenAI's format. Usage is in JSON only, so text formats are never requested upstream. */
export const openaiTranscriptions: TranscriptionWireFormat = {
  path: "/audio/transcriptions",
  reply: (format) => transcriptRules(format, FORWARDED_FIELDS, EXEMPT),
  events: variants("type", {
    // Forwarded as they came.
    "transcript.text.delta": "carried",
    "transcript.text.segment": "carried",
    "transcript.text.done": members({
      type: "exempt",
      text: "carried",
      ...all("carried", ...FORWARDED_FIELDS),
      ...EXEMPT,
    }),
  }),
  incompatibleWithTimestamps: [],
  timestampsImplyDuration: true,
  encode: (call, upstreamModel, replyKind) => [
    ["model", upstreamModel],
    ["response_format", replyKind === "timed" ? "verbose_json" : "json"],
    ...encodeParameters(call),
    ...call.granularities.map((item): FormField => ["timestamp_granularities[]", item]),
    ...(call.isStreaming ? [["stream", "true"] as const] : []),
  ],
  decode: decodeTranscript,
  decodeEvent: decodeEvent,
  decodeProblem,
};

/** Encodes lists as `name[]` and objects as `name[key]`. */
export function encodeParameters({ parameters }: TranscriptionCall): FormField[] {
  return Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : encodeParameter(name, value),
  );
}

function encodeParameter(name: string, value: FormValue): FormField[] {
  if (typeof value === "string") return [[name, value]];
  if (isList(value)) return value.map((item): FormField => [`${name}[]`, item]);
  return Object.entries(value).map(([key, item]): FormField => [`${name}[${key}]`, item]);
}

function isList(value: FormValue): value is readonly string[] {
  return Array.isArray(value);
}

function decodeTranscript(body: unknown): Transcript | undefined {
  if (!isJsonObject(body) || typeof body["text"] !== "string") return undefined;
  const { text, language, segments, words, duration, usage } = body;
  const [reported, durationSeconds] = [decodeUsage(usage), decodeSeconds(duration)];
  return {
    text,
    language: typeof language === "string" ? language : undefined,
    duration: durationSeconds,
    segments: decodeSegments(segments),
    words: decodeWords(words),
    usage: { tokens: reported.tokens, seconds: reported.seconds ?? durationSeconds },
    extraFields: forwardedFieldsOf(body),
  };
}

function forwardedFieldsOf(body: JsonObject): JsonObject {
  return Object.fromEntries(FORWARDED_FIELDS.flatMap((name) => (body[name] == null ? [] : [[name, body[name]]])));
}

function decodeUsage(usage: unknown): TranscriptUsage {
  if (!isJsonObject(usage)) return { seconds: undefined, tokens: undefined };
  return { seconds: decodeSeconds(usage["seconds"]), tokens: decodeTokens(usage) };
}

function decodeTokens(usage: JsonObject): Usage | undefined {
  const details = isJsonObject(usage["input_token_details"]) ? usage["input_token_details"] : {};
  return transcriptionUsage(usage["input_tokens"], usage["output_tokens"], details["audio_tokens"]);
}

function decodeEvent(data: unknown): TranscriptionEvent {
  if (!isJsonObject(data)) return { is: "malformed" };
  if (data["error"] !== undefined || data["type"] === "error")
    return { is: "problem", problem: decodeProblem(data, null) };
  const { type, delta, usage: _usage, ...rest } = data;
  if (type === "transcript.text.delta") {
    return typeof delta === "string" ? { is: "text", text: delta, providerFields: rest } : { is: "malformed" };
  }
  if (type === "transcript.text.segment") return { is: "segment", event: data };
  if (type !== "transcript.text.done") return { is: "nothing" };
  const transcript = decodeTranscript(data);
  return transcript === undefined ? { is: "malformed" } : { is: "done", transcript };
}
