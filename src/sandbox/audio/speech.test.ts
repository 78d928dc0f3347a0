import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { verifiedSpeech } from "../../../tests/support/audio/samples.ts";
import { fileMeter } from "../../language/audio/file-meter.ts";
import { couldBeFormat } from "../../language/audio/format-sniffer.ts";
import { speechMeter } from "../../language/audio/speech-meter.ts";
import { speechSeconds, synthesizeSpeech } from "./speech.ts";

test.each(verifiedSpeech())(
  "$format of $seconds s is what real decoders were given, and as long as they found it",
  (one) => {
    const bytes = synthesizeSpeech(one.format, one.seconds);
    expect(createHash("sha256").update(bytes).digest("hex")).toBe(one.sha256);
    const meter = fileMeter();
    meter.push(bytes);
    expect(meter.seconds()).toBeCloseTo(one.decodedSeconds, 4);
  },
);

test("raw samples are the data of the WAV file", () => {
  const pcm = synthesizeSpeech("pcm", 1.25);
  expect(pcm.length).toBe(1.25 * 48_000);
  expect(synthesizeSpeech("wav", 1.25).subarray(44)).toEqual(pcm);
});

test.each(["mp3", "opus", "aac", "flac", "wav", "pcm"] as const)(
  "%s sounds like itself and like no other",
  (format) => {
    const bytes = synthesizeSpeech(format, 0.5);
    const heard = (["mp3", "opus", "aac", "flac", "wav", "pcm"] as const).filter((one) => couldBeFormat(one, bytes));
    expect(heard).toEqual([format]);
  },
);

test("a longer text takes longer, and an empty one has the minimum duration", () => {
  expect(speechSeconds("")).toBe(0.5);
  expect(speechSeconds("x".repeat(150))).toBe(10);
  expect(speechSeconds("🙂".repeat(30))).toBe(2);
});

test("four thousand characters are synthesized in every format", () => {
  const seconds = speechSeconds("x".repeat(4_096));
  for (const format of ["mp3", "opus", "flac", "wav", "pcm"] as const) {
    const meter = speechMeter(format);
    meter?.push(synthesizeSpeech(format, seconds));
    expect(Math.abs((meter?.seconds() ?? 0) - seconds)).toBeLessThan(0.05);
  }
});
