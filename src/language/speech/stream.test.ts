import { describe, expect, test } from "vitest";
import type { AudioFormat } from "../audio/meter.ts";
import { countCodePoints, expectedSpeechSeconds, maxAudioTokens, maxSpeechSeconds } from "./call.ts";
import { geminiSpeech } from "./gemini.ts";
import { mistralSpeech } from "./mistral.ts";
import { openaiSpeech } from "./openai.ts";
import { type SpeechExpectation, SpeechStream } from "./stream.ts";
import type { SpeechWireFormat } from "./wire-format.ts";

const SAMPLES = Buffer.from(Array.from({ length: 9600 }, (_, at) => (at * 37) % 251));
const JSON_TYPE = { "content-type": "application/json" };
const EVENTS = { "content-type": "text/event-stream" };

const expected = (format: AudioFormat, more: Partial<SpeechExpectation> = {}): SpeechExpectation => ({
  format,
  characters: 10,
  inputTokens: 5,
  billingUnit: "characters",
  pcm: "s16",
  implausible: { seconds: 600, inputTokens: 10_000 },
  ...more,
});

type Heard = { readonly bytes: Buffer; readonly end: string; readonly stream: SpeechStream };

function hear(
  wire: SpeechWireFormat,
  headers: Record<string, string>,
  body: Buffer,
  cut: number,
  about: SpeechExpectation,
): Heard {
  const stream = new SpeechStream(wire.createExtractor(headers), about);
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; at += cut) {
    const piece = stream.read(body.subarray(at, at + cut));
    if (piece.is !== "audio") return { bytes: Buffer.concat(parts), end: piece.is, stream };
    parts.push(piece.bytes);
  }
  const last = stream.end();
  if (last.is === "audio") parts.push(last.bytes);
  return { bytes: Buffer.concat(parts), end: last.is, stream };
}

const sse = (event: unknown) => `data: ${JSON.stringify(event)}\n\n`;
const halves = [SAMPLES.subarray(0, 4802), SAMPLES.subarray(4802)];
const inline = (bytes: Buffer) => ({
  content: { parts: [{ inlineData: { mimeType: "audio/L16;codec=pcm;rate=24000", data: bytes.toString("base64") } }] },
});
const openaiEvents = halves.map((half) => sse({ type: "speech.audio.delta", audio: half.toString("base64") })).join("");
const mistralEvents = halves
  .map((half) => sse({ type: "speech.audio.delta", audio_data: half.toString("base64") }))
  .join("");
const done = sse({ type: "speech.audio.done", usage: { input_tokens: 3, output_tokens: 4 } });

const STOP = { finishReason: "STOP" };

const WAYS: [string, SpeechWireFormat, Record<string, string>, string | Buffer][] = [
  ["openai, bytes", openaiSpeech, { "content-type": "audio/pcm" }, SAMPLES],
  ["openai, events", openaiSpeech, EVENTS, openaiEvents + done],
  ["mistral, events", mistralSpeech, EVENTS, mistralEvents + done],
  ["mistral, an object", mistralSpeech, JSON_TYPE, JSON.stringify({ audio_data: SAMPLES.toString("base64") })],
  [
    "gemini, events",
    geminiSpeech,
    EVENTS,
    halves.map((half, at) => sse({ candidates: [{ ...inline(half), ...(at === 1 ? STOP : {}) }] })).join(""),
  ],
  ["gemini, an object", geminiSpeech, JSON_TYPE, JSON.stringify({ candidates: [inline(SAMPLES)] })],
];

describe("TTS-04 raw samples that become a WAV file", () => {
  const whole = (samples: Buffer) => Buffer.from(JSON.stringify({ candidates: [inline(samples)] }));
  const lengths = ({ bytes }: Heard) => [bytes.readUInt32LE(4), bytes.readUInt32LE(40)];

  test("a complete response states the length in its header, at any split", () => {
    const body = whole(SAMPLES);
    for (const cut of [1, 7, 1000, body.length]) {
      const heard = hear(geminiSpeech, JSON_TYPE, body, cut, expected("wav"));
      expect([heard.end, ...lengths(heard)]).toEqual(["audio", SAMPLES.length + 36, SAMPLES.length]);
      expect(heard.bytes.subarray(44).equals(SAMPLES)).toBe(true);
      expect(heard.stream.detail).toEqual({ seconds: 0.2, bytes: SAMPLES.length + 44 });
    }
  });

  test("events and overlong audio get a streaming header", () => {
    const events = halves.map((half, at) => sse({ candidates: [{ ...inline(half), ...(at === 1 ? STOP : {}) }] }));
    const streamed = hear(geminiSpeech, EVENTS, Buffer.from(events.join("")), 1000, expected("wav"));
    expect(lengths(streamed)).toEqual([0xffffffff, 0xffffffff]);
    expect(streamed.bytes.subarray(44).equals(SAMPLES)).toBe(true);
    const long = Buffer.alloc(17 * 1024 * 1024, 1);
    const heard = hear(geminiSpeech, JSON_TYPE, whole(long), 65_536, expected("wav"));
    expect([heard.end, ...lengths(heard)]).toEqual(["audio", 0xffffffff, 0xffffffff]);
    expect(heard.bytes.subarray(44).equals(long)).toBe(true);
  });
});

describe.each(WAYS)("%s", (_name, wire, headers, body) => {
  const bytes = Buffer.from(body);

  test("any split gives the same audio, duration and end", () => {
    for (const cut of [1, 2, 3, 7, 64, 1000, bytes.length]) {
      const heard = hear(wire, headers, bytes, cut, expected("pcm"));
      expect([heard.end, heard.bytes.equals(SAMPLES)], `cut into ${cut}`).toEqual(["audio", true]);
      expect(heard.stream.detail).toEqual({ seconds: 0.2, bytes: SAMPLES.length });
      expect(heard.stream.units).toEqual({ characters: 10, seconds: 1 });
    }
  });

  test("nothing is sent of data in another format", () => {
    const heard = hear(wire, headers, bytes, 500, expected("flac"));
    expect([heard.end, heard.bytes.length]).toEqual(["malformed", 0]);
  });

  test("a web page is rejected", () => {
    const page = Buffer.from("<!doctype html><html><body><h1>It works!</h1>".repeat(20));
    for (const type of ["text/html", headers["content-type"] ?? ""]) {
      const heard = hear(wire, { "content-type": type }, page, 100, expected("pcm"));
      expect(heard.bytes.length).toBe(0);
      expect(heard.end).toBe("malformed");
    }
  });
});

describe("billing", () => {
  test("TTS-07 reported usage applies, and without it the audio duration is the estimate", () => {
    const told = hear(
      openaiSpeech,
      EVENTS,
      Buffer.from(openaiEvents + done),
      99,
      expected("pcm", { billingUnit: "tokens" }),
    );
    expect(told.stream.usage).toMatchObject({ inputTokens: 3, outputTokens: 4, audioOutputTokens: 4 });
    const untold = hear(openaiSpeech, {}, SAMPLES, 99, expected("pcm", { billingUnit: "tokens" }));
    expect(untold.stream.usage).toBeUndefined();
    expect(untold.stream.estimate).toMatchObject({ inputTokens: 5, outputTokens: 4, audioOutputTokens: 4 });
  });

  test("TTS-07 character and second billing needs no estimate", () => {
    for (const billingUnit of ["characters", "seconds"] as const)
      expect(hear(openaiSpeech, {}, SAMPLES, 99, expected("pcm", { billingUnit })).stream.usage).toMatchObject({
        outputTokens: 0,
      });
  });

  test("32-bit floats last half as long as the same bytes of 16-bit samples", () => {
    const heard = hear(mistralSpeech, EVENTS, Buffer.from(mistralEvents + done), 99, expected("pcm", { pcm: "f32" }));
    expect(heard.stream.detail).toMatchObject({ seconds: 0.1 });
  });

  test("TTS-07 unmeasurable audio is rejected when seconds are billed", () => {
    const tag = Buffer.concat([Buffer.from("ID3\u0004\u0000\u0000\u0000\u0000\u0000\u0000"), Buffer.alloc(200)]);
    expect(hear(openaiSpeech, {}, tag, 99, expected("mp3", { billingUnit: "seconds" })).end).toBe("malformed");
    expect(hear(openaiSpeech, {}, tag, 99, expected("mp3")).end).toBe("audio");
  });
});

describe("a text", () => {
  test("TTS-07 is counted in code points", () => {
    for (const text of ["", "abc", "né", "🙂", "a🙂b", "👩‍👩‍👧", "\ud83d", "\ude42\ud83d", "\ud83d\ud83d\ude42"])
      expect(countCodePoints(text), JSON.stringify(text)).toBe([...text].length);
  });

  test("BILL-03 takes at most one second per three characters plus five, and longer at slower speed", () => {
    expect(maxSpeechSeconds(300)).toBe(105);
    expect(maxSpeechSeconds(300, 0.5)).toBe(210);
    expect(maxSpeechSeconds(300, 4)).toBe(105);
    expect(maxAudioTokens(10)).toBe(320);
    expect([expectedSpeechSeconds(3), expectedSpeechSeconds(150), expectedSpeechSeconds(150, 2)]).toEqual([1, 10, 5]);
  });
});
