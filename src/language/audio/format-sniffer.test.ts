import { describe, expect, test } from "vitest";
import { encodedSample } from "../../../tests/support/audio/samples.ts";
import { couldBeFormat, SNIFF_BYTES } from "./format-sniffer.ts";
import type { AudioFormat } from "./meter.ts";
import { SPEECH_PCM, wavHeader } from "./pcm.ts";

const FORMATS: readonly AudioFormat[] = ["mp3", "opus", "aac", "flac", "wav", "pcm"];

function heardAs(bytes: Buffer): AudioFormat[] {
  return FORMATS.filter((format) => couldBeFormat(format, bytes));
}

describe("files of real encoders", () => {
  test.each<[string, AudioFormat[]]>([
    ["stereo.mp3", ["mp3"]],
    ["speech.opus", ["opus"]],
    ["adts.aac", ["aac"]],
    ["streamed.flac", ["flac"]],
    ["piped-list.wav", ["wav"]],
    // Which of the two follows a tag shows only behind it.
    ["xing-id3.mp3", ["mp3", "aac"]],
    ["speech.ogg", []],
    ["speech.webm", []],
    ["moov-first.m4a", []],
  ])("%s", (name, formats) => {
    expect(heardAs(encodedSample(name))).toEqual(formats);
  });
});

test("WAV is recognised under every container id", () => {
  expect(heardAs(Buffer.concat([wavHeader(SPEECH_PCM), Buffer.alloc(100)]))).toEqual(["wav"]);
});

describe("text with a success status", () => {
  test.each([
    '{"error":{"message":"voice not found","type":"invalid_request_error"}}',
    '  \n[{"error": "näh"}]',
    "\ufeff{}",
    "<!DOCTYPE html><html><head><title>502 Bad Gateway</title>",
    "<html>",
    "upstream connect error or disconnect/reset before headers",
    'data: {"type":"speech.audio.delta"}',
  ])("%s", (words) => {
    expect(heardAs(Buffer.from(words))).toEqual([]);
  });
});

describe("raw samples", () => {
  test.each([
    ["silence", Buffer.alloc(SNIFF_BYTES)],
    ["a soft start", Buffer.from("0b000b000a00fefffdff0000010002000300".repeat(4), "hex")],
    ["a start like a header of MPEG", Buffer.concat([Buffer.from("fff344c4", "hex"), Buffer.alloc(2_000, 1)])],
    ["a start like a bracket", Buffer.concat([Buffer.from("{\0"), Buffer.alloc(62)])],
    ["two bytes", Buffer.from([0x52, 0x49])],
  ])("%s", (_, bytes) => {
    expect(couldBeFormat("pcm", bytes)).toBe(true);
  });
});

test("too few bytes are accepted as long as they could match", () => {
  const samples: [AudioFormat, Buffer][] = [
    ["mp3", encodedSample("stereo.mp3")],
    ["mp3", encodedSample("xing-id3.mp3")],
    ["opus", encodedSample("speech.opus")],
    ["aac", encodedSample("adts.aac")],
    ["flac", encodedSample("streamed.flac")],
    ["wav", encodedSample("piped-list.wav")],
  ];
  for (const [format, bytes] of samples) {
    for (let cut = 0; cut <= SNIFF_BYTES; cut++) expect(couldBeFormat(format, bytes.subarray(0, cut))).toBe(true);
  }
});
