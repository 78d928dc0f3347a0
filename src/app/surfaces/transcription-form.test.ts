import { expect, test } from "vitest";
import { loggableForm, parseFormFields } from "./transcription-form.ts";

test.each([
  ["0.30000000000000004", 0.1 + 0.2],
  ["1e-05", 0.00001],
  ["5E-1", 0.5],
  ["-1", -1],
])("STT-01 numbers of common formatters are parsed: %s", (text, value) => {
  expect(parseFormFields([["temperature", text]])).toEqual({ temperature: value });
});

test.each(["", " 1", "0x1", "1e", "Infinity", "1,5", "1e9999"])("STT-01 an invalid number stays text: %j", (text) => {
  expect(parseFormFields([["temperature", text]])).toEqual({ temperature: text === "" ? undefined : text });
});

test("LOG-03 audio in a text field is not loggable", () => {
  const kept = loggableForm(
    [
      ["model", "a/b"],
      ["file", "RIFF0000WAVE"],
      ["known_speaker_references[]", "data:audio/wav;base64,UklGRg=="],
    ],
    undefined,
  );
  expect(kept).toEqual({ model: "a/b" });
});
