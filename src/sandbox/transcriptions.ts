import { fileMeter } from "../language/audio/file-meter.ts";
import { chatFormat } from "./chat.ts";
import { type ErrorResponse, errorResponse, type SimulatedResponse, type WireFormat } from "./wire-format.ts";

/** Every transcript repeats these words, whatever the audio contains. */
const TRANSCRIPT_WORDS = "the quick brown fox jumps over the lazy dog while rain falls on quiet hills".split(" ");
const SECONDS_PER_WORD = 0.4;
const WORDS_PER_SEGMENT = 12;
/** The provider with Mistral's format. */
const MISTRAL_PROVIDER = "sandbox-fr";

type TranscriptionParameters = {
  readonly model: string;
  readonly fields: ReadonlyMap<string, readonly string[]>;
  readonly seconds: number;
};

type TimedWord = { readonly word: string; readonly start: number; readonly end: number };

/** Generates transcripts from the duration of the audio. */
export const transcriptionsFormat: WireFormat = {
  ...chatFormat,
  matches: (path) => path === "/v1/audio/transcriptions",
  parse({ headers, body }) {
    const parts = parseMultipart(body, headers["content-type"]);
    if (parts === undefined) return errorResponse(400, "The body is not a multipart form.");
    const parameters = parseTranscriptionParameters(parts);
    if ("is" in parameters) return parameters;
    return {
      is: "accepted",
      model: parameters.model,
      respond: (provider) =>
        provider.slug === MISTRAL_PROVIDER ? respondAsMistral(parameters) : respondAsOpenai(parameters),
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

function firstField(parameters: TranscriptionParameters, name: string): string | undefined {
  return parameters.fields.get(name)?.[0];
}

/** A strict server rejects unknown fields. */
function unknownFieldError(parameters: TranscriptionParameters, known: readonly string[]): ErrorResponse | undefined {
  const unknownField = [...parameters.fields.keys()].find((name) => !known.includes(name));
  return unknownField === undefined
    ? undefined
    : errorResponse(400, `Unrecognized request argument: ${unknownField}`, { param: unknownField });
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
    const segmentWords = words.slice(from, from + WORDS_PER_SEGMENT);
    segments.push({
      start: segmentWords[0]?.start ?? 0,
      end: segmentWords.at(-1)?.end ?? 0,
      text: ` ${joinWords(segmentWords)}`,
    });
  }
  return segments;
}

/** One word per delta, with the space before it. */
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

function respondAsOpenai(parameters: TranscriptionParameters): SimulatedResponse | ErrorResponse {
  const unknown = unknownFieldError(parameters, OPENAI_FIELDS);
  if (unknown !== undefined) return unknown;
  const format = firstField(parameters, "response_format") ?? "json";
  if (format !== "json" && format !== "verbose_json")
    return errorResponse(400, `response_format '${format}' is not simulated.`, { param: "response_format" });
  const words = timedWords(parameters.seconds);
  const text = joinWords(words);
  const usage = { type: "duration", seconds: Math.ceil(parameters.seconds) };
  if (firstField(parameters, "stream") === "true") {
    const events = [
      ...wordDeltas(words).map((delta) => ({ type: "transcript.text.delta", delta })),
      { type: "transcript.text.done", text, usage },
    ];
    return streamResponse([...events.map((event) => `data: ${JSON.stringify(event)}\n\n`), "data: [DONE]\n\n"]);
  }
  const granularities = parameters.fields.get("timestamp_granularities[]") ?? ["segment"];
  const times = {
    task: "transcribe",
    language: firstField(parameters, "language") ?? "english",
    duration: parameters.seconds,
    text,
    ...(granularities.includes("segment")
      ? { segments: wordSegments(words).map((segment, id) => ({ id, ...segment })) }
      : {}),
    ...(granularities.includes("word") ? { words } : {}),
    usage,
  };
  return jsonResponse(format === "json" ? { text, usage } : times, words.length);
}

const MISTRAL_FIELDS = ["model", "language", "temperature", "timestamp_granularities", "stream"] as const;

function respondAsMistral(parameters: TranscriptionParameters): SimulatedResponse | ErrorResponse {
  const unknown = unknownFieldError(parameters, MISTRAL_FIELDS);
  if (unknown !== undefined) return unknown;
  if (parameters.fields.has("language") && parameters.fields.has("timestamp_granularities"))
    return errorResponse(400, "timestamp_granularities is not compatible with language.");
  const words = timedWords(parameters.seconds);
  const text = joinWords(words);
  const segments = parameters.fields.has("timestamp_granularities")
    ? wordSegments(words).map((segment) => ({ type: "transcription_segment", ...segment }))
    : [];
  const audioTokens = Math.ceil(parameters.seconds * 12.5);
  const reply = {
    model: parameters.model,
    text,
    language: firstField(parameters, "language") ?? null,
    segments,
    usage: {
      prompt_audio_seconds: Math.floor(parameters.seconds),
      prompt_tokens: 3,
      completion_tokens: words.length,
      total_tokens: 3 + audioTokens + words.length,
      prompt_tokens_details: { audio_tokens: audioTokens },
    },
  };
  if (firstField(parameters, "stream") !== "true") return jsonResponse(reply, words.length);
  const events = [
    { type: "transcription.language", audio_language: "en" },
    ...wordDeltas(words).map((delta) => ({ type: "transcription.text.delta", text: delta })),
    { type: "transcription.done", ...reply },
  ];
  return streamResponse(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`));
}

function jsonResponse(reply: object, tokens: number): SimulatedResponse {
  return { is: "body", contentType: "application/json", body: JSON.stringify(reply), tokens };
}

function streamResponse(all: readonly string[]): SimulatedResponse {
  return { is: "frames", contentType: "text/event-stream; charset=utf-8", frames: all };
}

export type MultipartPart = { readonly name: string; readonly filename: string | undefined; readonly body: Buffer };

const CRLF = "\r\n";

/** Independent of the gateway's own multipart code, so that it can verify it. Undefined when the body is not a form. */
export function parseMultipart(body: Buffer, contentType: string | undefined): MultipartPart[] | undefined {
  const boundary = /^multipart\/form-data;\s*boundary="?([^";]+)"?$/i.exec(contentType ?? "")?.[1];
  if (boundary === undefined) return undefined;
  const delimiter = Buffer.from(`--${boundary}`);
  const parts: MultipartPart[] = [];
  let at = body.indexOf(delimiter);
  if (at !== 0) return undefined;
  for (;;) {
    const from = at + delimiter.length;
    if (body.toString("latin1", from, from + 2) === "--") return parts;
    at = body.indexOf(`${CRLF}--${boundary}`, from);
    if (at < 0) return undefined;
    const part = parsePart(body.subarray(from + CRLF.length, at));
    if (part === undefined) return undefined;
    parts.push(part);
    at += CRLF.length;
  }
}

function parsePart(bytes: Buffer): MultipartPart | undefined {
  const end = bytes.indexOf(CRLF + CRLF);
  if (end < 0) return undefined;
  const head = bytes.toString("utf8", 0, end);
  const name = /\bname="([^"]*)"/i.exec(head)?.[1];
  if (name === undefined) return undefined;
  const filename = /\bfilename="([^"]*)"/i.exec(head)?.[1];
  return { name, filename, body: bytes.subarray(end + 2 * CRLF.length) };
}
