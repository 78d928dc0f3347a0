import { describe } from "vitest";
import {
  chars,
  closed,
  expectShapes,
  maybeChars,
  maybeFlag,
  maybeInt,
  maybeList,
  maybeNumber,
  maybeOneOf,
  maybeWord,
  NOT_SENT,
} from "../../../tests/support/request-shapes.ts";
import { TranscriptionRequest } from "./transcriptions.ts";

describe("/audio/transcriptions", () => {
  const chunking_strategy = { type: "server_vad", threshold: 0.5 };
  const texts = (path: string) => maybeList(path, "a", 1, 100);
  const body = { model: "a/b", file: "a.wav", languages: ["a"], known_speaker_references: ["a"], chunking_strategy };
  expectShapes(TranscriptionRequest, body, [
    ["file", ["a.wav"], [undefined, 7]],
    maybeOneOf("response_format", "json", "text", "srt", "verbose_json", "vtt"),
    maybeWord("language", 64),
    maybeChars("prompt", 16_384),
    maybeNumber("temperature", 0, 1),
    maybeList("timestamp_granularities", "word", 1, 2),
    maybeFlag("stream"),
    maybeList("include", "logprobs", 1, 1),
    ["chunking_strategy", [...NOT_SENT, "auto"], ["other", 7]],
    closed("chunking_strategy"),
    maybeInt("chunking_strategy.prefix_padding_ms", 0),
    maybeInt("chunking_strategy.silence_duration_ms", 0),
    maybeNumber("chunking_strategy.threshold", 0, 1),
    texts("languages"),
    ["languages.0", ["a", chars(1024)], ["", chars(1025)]],
    texts("keywords"),
    texts("known_speaker_names"),
    texts("known_speaker_references"),
    ["known_speaker_references.0", ["a", chars(2000)], [""]],
  ]);
});
