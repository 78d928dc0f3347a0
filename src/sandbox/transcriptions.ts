import { fileMeter } from "../language/audio/file.ts";
import { chatFormat } from "./chat.ts";
import { type FormPart, partsOf } from "./form.ts";
import { type Delivery, type Refusal, refusal, type WireFormat } from "./wire.ts";

/** What is heard: the same words in the same time, whatever was said. */
const WORDS = "the quick brown fox jumps over the lazy dog while rain falls on quiet hills".split(" ");
const SECONDS_PER_WORD = 0.4;
const WORDS_PER_SEGMENT = 12;
/** The one that speaks Mistral's format. */
const OTHER_FORMAT = "sandbox-fr";

type Asked = {
  readonly model: string;
  readonly fields: ReadonlyMap<string, readonly string[]>;
  readonly seconds: number;
};

type Word = { readonly word: string; readonly start: number; readonly end: number };

/** Transcripts that are made up from the length of the audio. */
export const transcriptionsFormat: WireFormat = {
  ...chatFormat,
  claims: (path) => path === "/v1/audio/transcriptions",
  open({ headers, body }) {
    const parts = partsOf(body, headers["content-type"]);
    if (parts === undefined) return refusal(400, "The body is not a multipart form.");
    const asked = askedOf(parts);
    if ("is" in asked) return asked;
    return {
      is: "opened",
      model: asked.model,
      deliver: (desk) => (desk.provider === OTHER_FORMAT ? inOtherFormat(asked) : inUsualFormat(asked)),
    };
  },
};

function askedOf(parts: readonly FormPart[]): Asked | Refusal {
  const fields = new Map<string, string[]>();
  let seconds: number | undefined;
  for (const { name, filename, body } of parts) {
    if (name === "file" && filename !== undefined) {
      const meter = fileMeter();
      meter.push(body);
      seconds = meter.seconds();
      if (seconds === undefined) return refusal(400, "The audio file could not be decoded.", { param: "file" });
    } else fields.set(name, [...(fields.get(name) ?? []), body.toString("utf8")]);
  }
  if (seconds === undefined) return refusal(400, "There is no file in the form.", { param: "file" });
  return { model: fields.get("model")?.[0] ?? "", fields, seconds };
}

function one(asked: Asked, name: string): string | undefined {
  return asked.fields.get(name)?.[0];
}

/** A field that the format does not have, as a strict server finds it. */
function unknownIn(asked: Asked, known: readonly string[]): Refusal | undefined {
  const extra = [...asked.fields.keys()].find((name) => !known.includes(name));
  return extra === undefined ? undefined : refusal(400, `Unrecognized request argument: ${extra}`, { param: extra });
}

function wordsOf(seconds: number): Word[] {
  const count = Math.max(1, Math.floor(seconds / SECONDS_PER_WORD));
  return Array.from({ length: count }, (_, index) => ({
    word: WORDS[index % WORDS.length] ?? "",
    start: rounded(index * SECONDS_PER_WORD),
    end: rounded(Math.min((index + 1) * SECONDS_PER_WORD, seconds)),
  }));
}

function rounded(seconds: number): number {
  return Math.round(seconds * 100) / 100;
}

function textOf(words: readonly Word[]): string {
  return words.map(({ word }) => word).join(" ");
}

function segmentsOf(words: readonly Word[]): { start: number; end: number; text: string }[] {
  const segments = [];
  for (let from = 0; from < words.length; from += WORDS_PER_SEGMENT) {
    const some = words.slice(from, from + WORDS_PER_SEGMENT);
    segments.push({ start: some[0]?.start ?? 0, end: some.at(-1)?.end ?? 0, text: ` ${textOf(some)}` });
  }
  return segments;
}

/** Deltas of one word each, with the space before it. */
function deltasOf(words: readonly Word[]): string[] {
  return words.map(({ word }, index) => (index === 0 ? word : ` ${word}`));
}

const USUAL = [
  "model",
  "response_format",
  "language",
  "prompt",
  "temperature",
  "timestamp_granularities[]",
  "stream",
] as const;

function inUsualFormat(asked: Asked): Delivery | Refusal {
  const unknown = unknownIn(asked, USUAL);
  if (unknown !== undefined) return unknown;
  const format = one(asked, "response_format") ?? "json";
  if (format !== "json" && format !== "verbose_json")
    return refusal(400, `response_format '${format}' is not simulated.`, { param: "response_format" });
  const words = wordsOf(asked.seconds);
  const text = textOf(words);
  const usage = { type: "duration", seconds: Math.ceil(asked.seconds) };
  if (one(asked, "stream") === "true") {
    const events = [
      ...deltasOf(words).map((delta) => ({ type: "transcript.text.delta", delta })),
      { type: "transcript.text.done", text, usage },
    ];
    return frames([...events.map((event) => `data: ${JSON.stringify(event)}\n\n`), "data: [DONE]\n\n"]);
  }
  const wanted = asked.fields.get("timestamp_granularities[]") ?? ["segment"];
  const times = {
    task: "transcribe",
    language: one(asked, "language") ?? "english",
    duration: asked.seconds,
    text,
    ...(wanted.includes("segment") ? { segments: segmentsOf(words).map((said, id) => ({ id, ...said })) } : {}),
    ...(wanted.includes("word") ? { words } : {}),
    usage,
  };
  return whole(format === "json" ? { text, usage } : times, words.length);
}

const OTHER = ["model", "language", "temperature", "timestamp_granularities", "stream"] as const;

function inOtherFormat(asked: Asked): Delivery | Refusal {
  const unknown = unknownIn(asked, OTHER);
  if (unknown !== undefined) return unknown;
  if (asked.fields.has("language") && asked.fields.has("timestamp_granularities"))
    return refusal(400, "timestamp_granularities is not compatible with language.");
  const words = wordsOf(asked.seconds);
  const text = textOf(words);
  const segments = asked.fields.has("timestamp_granularities")
    ? segmentsOf(words).map((said) => ({ type: "transcription_segment", ...said }))
    : [];
  const audioTokens = Math.ceil(asked.seconds * 12.5);
  const answer = {
    model: asked.model,
    text,
    language: one(asked, "language") ?? null,
    segments,
    usage: {
      prompt_audio_seconds: Math.floor(asked.seconds),
      prompt_tokens: 3,
      completion_tokens: words.length,
      total_tokens: 3 + audioTokens + words.length,
      prompt_tokens_details: { audio_tokens: audioTokens },
    },
  };
  if (one(asked, "stream") !== "true") return whole(answer, words.length);
  const events = [
    { type: "transcription.language", audio_language: "en" },
    ...deltasOf(words).map((delta) => ({ type: "transcription.text.delta", text: delta })),
    { type: "transcription.done", ...answer },
  ];
  return frames(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`));
}

function whole(answer: object, tokens: number): Delivery {
  return { is: "whole", contentType: "application/json", body: JSON.stringify(answer), tokens };
}

function frames(all: readonly string[]): Delivery {
  return { is: "frames", contentType: "text/event-stream; charset=utf-8", frames: all };
}
