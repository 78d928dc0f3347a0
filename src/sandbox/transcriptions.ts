import { fileMeter } from "../language/audio/file-meter.ts";
import { chatFormat } from "./chat.ts";
import { type MultipartPart, parseMultipart } from "./form.ts";
import { type ErrorResponse, errorResponse, type SimulatedResponse, type WireFormat } from "./wire-format.ts";

/** What is heard: the same words in the same time, whatever was said. */
const TRANSCRIPT_WORDS = "the quick brown fox jumps over the lazy dog while rain falls on quiet hills".split(" ");
const SECONDS_PER_WORD = 0.4;
const WORDS_PER_SEGMENT = 12;
/** The one that speaks Mistral's format. */
const MISTRAL_PROVIDER = "sandbox-fr";

type TranscriptionParameters = {
  readonly model: string;
  readonly fields: ReadonlyMap<string, readonly string[]>;
  readonly seconds: number;
};

type TimedWord = { readonly word: string; readonly start: number; readonly end: number };

/** Transcripts that are made up from the length of the audio. */
export const transcriptionsFormat: WireFormat = {
  ...chatFormat,
  matches: (path) => path === "/v1/audio/transcriptions",
  parse({ headers, body }) {
    const parts = parseMultipart(body, headers["content-type"]);
    if (parts === undefined) return errorResponse(400, "The body is not a multipart form.");
    const asked = parseTranscriptionParameters(parts);
    if ("is" in asked) return asked;
    return {
      is: "opened",
      model: asked.model,
      respond: (desk) => (desk.slug === MISTRAL_PROVIDER ? respondAsMistral(asked) : respondAsOpenai(asked)),
    };
  },
};

function parseTranscriptionParameters(parts: readonly MultipartPart[]): TranscriptionParameters | ErrorResponse {
  const fields = new Map<string, string[]>();
  let seconds: number | undefined;
  for (const { name, filename, body } of parts) {
    if (name === "file" && filename !== undefined) {
      const meter = fileMeter();
      meter.push(body);
      seconds = meter.seconds();
      if (seconds === undefined) return errorResponse(400, "The audio file could not be decoded.", { param: "file" });
    } else fields.set(name, [...(fields.get(name) ?? []), body.toString("utf8")]);
  }
  if (seconds === undefined) return errorResponse(400, "There is no file in the form.", { param: "file" });
  return { model: fields.get("model")?.[0] ?? "", fields, seconds };
}

function firstField(asked: TranscriptionParameters, name: string): string | undefined {
  return asked.fields.get(name)?.[0];
}

/** A field that the format does not have, as a strict server finds it. */
function unknownFieldError(asked: TranscriptionParameters, known: readonly string[]): ErrorResponse | undefined {
  const extra = [...asked.fields.keys()].find((name) => !known.includes(name));
  return extra === undefined
    ? undefined
    : errorResponse(400, `Unrecognized request argument: ${extra}`, { param: extra });
}

function timedWords(seconds: number): TimedWord[] {
  const count = Math.max(1, Math.floor(seconds / SECONDS_PER_WORD));
  return Array.from({ length: count }, (_, index) => ({
    word: TRANSCRIPT_WORDS[index % TRANSCRIPT_WORDS.length] ?? "",
    start: roundToHundredth(index * SECONDS_PER_WORD),
    end: roundToHundredth(Math.min((index + 1) * SECONDS_PER_WORD, seconds)),
  }));
}

function roundToHundredth(seconds: number): number {
  return Math.round(seconds * 100) / 100;
}

function joinWords(words: readonly TimedWord[]): string {
  return words.map(({ word }) => word).join(" ");
}

function wordSegments(words: readonly TimedWord[]): { start: number; end: number; text: string }[] {
  const segments = [];
  for (let from = 0; from < words.length; from += WORDS_PER_SEGMENT) {
    const some = words.slice(from, from + WORDS_PER_SEGMENT);
    segments.push({ start: some[0]?.start ?? 0, end: some.at(-1)?.end ?? 0, text: ` ${joinWords(some)}` });
  }
  return segments;
}

/** Deltas of one word each, with the space before it. */
function wordDeltas(words: readonly TimedWord[]): string[] {
  return words.map(({ word }, index) => (index === 0 ? word : ` ${word}`));
}

const OPENAI_FIELDS = [
  "model",
  "response_format",
  "language",
  "prompt",
  "temperature",
  "timestamp_granularities[]",
  "stream",
] as const;

function respondAsOpenai(asked: TranscriptionParameters): SimulatedResponse | ErrorResponse {
  const unknown = unknownFieldError(asked, OPENAI_FIELDS);
  if (unknown !== undefined) return unknown;
  const format = firstField(asked, "response_format") ?? "json";
  if (format !== "json" && format !== "verbose_json")
    return errorResponse(400, `response_format '${format}' is not simulated.`, { param: "response_format" });
  const words = timedWords(asked.seconds);
  const text = joinWords(words);
  const usage = { type: "duration", seconds: Math.ceil(asked.seconds) };
  if (firstField(asked, "stream") === "true") {
    const events = [
      ...wordDeltas(words).map((delta) => ({ type: "transcript.text.delta", delta })),
      { type: "transcript.text.done", text, usage },
    ];
    return streamResponse([...events.map((event) => `data: ${JSON.stringify(event)}\n\n`), "data: [DONE]\n\n"]);
  }
  const wanted = asked.fields.get("timestamp_granularities[]") ?? ["segment"];
  const times = {
    task: "transcribe",
    language: firstField(asked, "language") ?? "english",
    duration: asked.seconds,
    text,
    ...(wanted.includes("segment") ? { segments: wordSegments(words).map((said, id) => ({ id, ...said })) } : {}),
    ...(wanted.includes("word") ? { words } : {}),
    usage,
  };
  return jsonResponse(format === "json" ? { text, usage } : times, words.length);
}

const MISTRAL_FIELDS = ["model", "language", "temperature", "timestamp_granularities", "stream"] as const;

function respondAsMistral(asked: TranscriptionParameters): SimulatedResponse | ErrorResponse {
  const unknown = unknownFieldError(asked, MISTRAL_FIELDS);
  if (unknown !== undefined) return unknown;
  if (asked.fields.has("language") && asked.fields.has("timestamp_granularities"))
    return errorResponse(400, "timestamp_granularities is not compatible with language.");
  const words = timedWords(asked.seconds);
  const text = joinWords(words);
  const segments = asked.fields.has("timestamp_granularities")
    ? wordSegments(words).map((said) => ({ type: "transcription_segment", ...said }))
    : [];
  const audioTokens = Math.ceil(asked.seconds * 12.5);
  const answer = {
    model: asked.model,
    text,
    language: firstField(asked, "language") ?? null,
    segments,
    usage: {
      prompt_audio_seconds: Math.floor(asked.seconds),
      prompt_tokens: 3,
      completion_tokens: words.length,
      total_tokens: 3 + audioTokens + words.length,
      prompt_tokens_details: { audio_tokens: audioTokens },
    },
  };
  if (firstField(asked, "stream") !== "true") return jsonResponse(answer, words.length);
  const events = [
    { type: "transcription.language", audio_language: "en" },
    ...wordDeltas(words).map((delta) => ({ type: "transcription.text.delta", text: delta })),
    { type: "transcription.done", ...answer },
  ];
  return streamResponse(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`));
}

function jsonResponse(answer: object, tokens: number): SimulatedResponse {
  return { is: "whole", contentType: "application/json", body: JSON.stringify(answer), tokens };
}

function streamResponse(all: readonly string[]): SimulatedResponse {
  return { is: "frames", contentType: "text/event-stream; charset=utf-8", frames: all };
}
