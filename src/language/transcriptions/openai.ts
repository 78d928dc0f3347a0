import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import type { Usage } from "../canon/usage.ts";
import { decodeProblem } from "../dialects/chat/upstream/errors.ts";
import type { FormValue, TranscriptionAsk } from "./call.ts";
import { type Figures, heardUsage, secondsOf, segmentsOf, type Transcript, wordsOf } from "./reply.ts";
import type { FormField, TranscriptEvent, TranscriptionWire } from "./wire-format.ts";

/** OpenAI's format, and that of everyone who follows it. Figures stand in JSON only, so no other format is asked for. */
export const openaiTranscriptions: TranscriptionWire = {
  path: "/audio/transcriptions",
  noTimesWith: [],
  timesTellSeconds: true,
  fields: (ask, upstreamModel, answer) => [
    ["model", upstreamModel],
    ["response_format", answer === "timed" ? "verbose_json" : "json"],
    ...parameterFields(ask),
    ...ask.granularities.map((one): FormField => ["timestamp_granularities[]", one]),
    ...(ask.streaming ? [["stream", "true"] as const] : []),
  ],
  decode: transcriptOf,
  event: eventOf,
  decodeProblem,
};

/** Parameters of the ask, under the names that forms have for lists and objects. */
export function parameterFields({ parameters }: TranscriptionAsk): FormField[] {
  return Object.entries(parameters).flatMap(([name, value]) => (value === undefined ? [] : fieldsOf(name, value)));
}

function fieldsOf(name: string, value: FormValue): FormField[] {
  if (typeof value === "string") return [[name, value]];
  if (isList(value)) return value.map((one): FormField => [`${name}[]`, one]);
  return Object.entries(value).map(([key, one]): FormField => [`${name}[${key}]`, one]);
}

function isList(value: FormValue): value is readonly string[] {
  return Array.isArray(value);
}

/** What is passed on as it came beside what is read. */
const ALSO = ["languages", "logprobs"] as const;

function transcriptOf(body: unknown): Transcript | undefined {
  if (!isJsonObject(body) || typeof body["text"] !== "string") return undefined;
  const { text, language, segments, words, duration, usage } = body;
  const [figures, lasts] = [figuresOf(usage), secondsOf(duration)];
  return {
    text,
    language: typeof language === "string" ? language : undefined,
    duration: lasts,
    segments: segmentsOf(segments),
    words: wordsOf(words),
    figures: { tokens: figures.tokens, seconds: figures.seconds ?? lasts },
    also: alsoOf(body),
  };
}

function alsoOf(body: JsonObject): JsonObject {
  return Object.fromEntries(ALSO.flatMap((name) => (body[name] == null ? [] : [[name, body[name]]])));
}

function figuresOf(usage: unknown): Figures {
  if (!isJsonObject(usage)) return { seconds: undefined, tokens: undefined };
  return { seconds: secondsOf(usage["seconds"]), tokens: tokensOf(usage) };
}

function tokensOf(usage: JsonObject): Usage | undefined {
  const details = isJsonObject(usage["input_token_details"]) ? usage["input_token_details"] : {};
  return heardUsage(usage["input_tokens"], usage["output_tokens"], details["audio_tokens"]);
}

function eventOf(data: unknown): TranscriptEvent {
  if (!isJsonObject(data)) return { is: "garbage" };
  if (data["error"] !== undefined || data["type"] === "error")
    return { is: "problem", problem: decodeProblem(data, null) };
  const { type, delta, usage: _usage, ...rest } = data;
  if (type === "transcript.text.delta") {
    return typeof delta === "string" ? { is: "text", text: delta, said: rest } : { is: "garbage" };
  }
  if (type === "transcript.text.segment") return { is: "segment", event: data };
  if (type !== "transcript.text.done") return { is: "nothing" };
  const transcript = transcriptOf(data);
  return transcript === undefined ? { is: "garbage" } : { is: "done", transcript };
}
