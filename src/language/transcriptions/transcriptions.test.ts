import { describe, expect, test } from "vitest";
import { SseReader } from "../../kit/sse.ts";
import { runAtOnce } from "../../kit/work-steps.ts";
import { IMPLAUSIBLE_TOKENS, NO_TOKENS } from "../canon/usage.ts";
import { billableSeconds, maxSeconds, secondsWithoutReport } from "./duration.ts";
import { mistralTranscriptions } from "./mistral.ts";
import { openaiTranscriptions } from "./openai.ts";
import * as rendering from "./render.ts";
import { decodeSegments } from "./reply.ts";
import { TranscriptStream } from "./stream.ts";

const renderSrt = (...given: Parameters<typeof rendering.renderSrt>) => runAtOnce(rendering.renderSrt(...given));
const renderVtt = (...given: Parameters<typeof rendering.renderVtt>) => runAtOnce(rendering.renderVtt(...given));
const renderTranscript = (...given: Parameters<typeof rendering.renderTranscript>) =>
  runAtOnce(rendering.renderTranscript(...given));

const cue = (start: number, end: number, text: string) => ({ start, end, text, providerFields: {} });

describe("subtitles", () => {
  test("SAFE-01 long runs of dashes and spaces in a cue cost no more than their length", () => {
    const [dashes, spaces] = ["-".repeat(2_000_000), " ".repeat(2_000_000)];
    const text = `${dashes}a${spaces}b${spaces}\n${spaces}c ${dashes}> d`;
    expect(renderSrt([cue(0, 1, text)]).endsWith(`\n${dashes}a${spaces}b\nc -> d\n\n`)).toBe(true);
  });

  test("STT-01 timestamps carry into minutes and hours and round to milliseconds", () => {
    expect(renderSrt([cue(59.9996, 3661.0004, "a")])).toBe("1\n00:01:00,000 --> 01:01:01,000\na\n\n");
    expect(renderVtt([cue(0, 360_000.5, "a")])).toBe("WEBVTT\n\n00:00:00.000 --> 100:00:00.500\na\n\n");
  });

  test("STT-01 text cannot end its cue, start another or contain markup", () => {
    const text = " one\r\n\r\ntwo --> three <b>&\u2028\u2028four ";
    expect(renderSrt([cue(0, 1, text)])).toBe("1\n00:00:00,000 --> 00:00:01,000\none\ntwo -> three <b>&\nfour\n\n");
    expect(renderVtt([cue(0, 1, text)])).toContain("\none\ntwo -&gt; three &lt;b&gt;&amp;\nfour\n\n");
  });

  test.each(["-->", "--->", "a ----> b", "-- -->>"])("STT-01 no arrow is left in %s", (text) => {
    const [, , ...lines] = renderSrt([cue(0, 1, text)]).split("\n");
    expect(lines.join("\n")).not.toContain("-->");
    expect(renderVtt([cue(0, 1, text)]).split("-->").length).toBe(2);
  });

  test("STT-01 empty segments produce no cue and no number", () => {
    expect(renderSrt([cue(0, 1, " "), cue(1, 2, "a"), cue(2, 3, "\n"), cue(3, 4, "b")])).toBe(
      "1\n00:00:01,000 --> 00:00:02,000\na\n\n2\n00:00:03,000 --> 00:00:04,000\nb\n\n",
    );
    expect(renderVtt([cue(0, 1, "")])).toBe("WEBVTT\n\n");
  });

  test("STT-01 cues are sorted by start, and each ends after its start", () => {
    expect(renderVtt([cue(2, 3, "b"), cue(1, 2.5, "a"), cue(4.0001, 4.0002, "c")])).toBe(
      "WEBVTT\n\n00:00:01.000 --> 00:00:02.500\na\n\n00:00:02.000 --> 00:00:03.000\nb\n\n00:00:04.000 --> 00:00:04.001\nc\n\n",
    );
  });

  test("STT-01 silence has no cues", () => {
    expect([renderSrt([]), renderVtt([])]).toEqual(["", "WEBVTT\n\n"]);
  });

  test.each([
    [[{ start: 2, end: 1, text: "a" }]],
    [[{ start: -1, end: 1, text: "a" }]],
    [[{ start: 0, end: Number.NaN, text: "a" }]],
    [[{ start: 0, end: 1 }]],
    [[{ start: 0, end: 1e300, text: "a" }]],
    ["none"],
  ])("STT-01 impossible segments are rejected: %j", (value) => {
    expect(decodeSegments(value)).toBeUndefined();
  });
});

test("STT-01 verbose_json always has a language and a duration", () => {
  const transcript = openaiTranscriptions.decode({ text: "a", segments: [{ start: 0, end: 1.5, text: "a" }] });
  if (transcript === undefined) throw new Error("no transcript");
  const shown = (parameters: { language?: string }, seconds: number | undefined) =>
    JSON.parse(renderTranscript(transcript, { format: "verbose_json", granularities: [], parameters }, seconds, {}));
  expect(shown({}, undefined)).toMatchObject({ language: "unknown", duration: 1.5 });
  expect(shown({ language: "de" }, 2)).toMatchObject({ language: "de", duration: 2 });
  expect(
    renderTranscript(
      { ...transcript, duration: 1.87 },
      { format: "verbose_json", granularities: [], parameters: {} },
      2,
      {},
    ),
  ).toContain('"duration":1.87');
});

describe("duration", () => {
  const measured = { bytes: 320_000, seconds: 10, skippedBytes: 0 };
  const byItsClock = { bytes: 20_000, seconds: 10, skippedBytes: 20_000 };
  const unmeasured = { bytes: 5000, seconds: undefined, skippedBytes: 5000 };

  test.each([
    ["a report that rounds", 10.9, measured, 10.9],
    ["a report that leaves silence out", 9, measured, 9],
    ["a report that is far too long", 600, measured, 10],
    ["a report that is far too short", 1, measured, 10],
    ["no report", undefined, measured, 10],
    ["a report of more than was measured, where the file may have more in it", 45, byItsClock, 45],
    ["one of more than its size allows", 60, byItsClock, 51.5],
    ["one in milliseconds", 10_400, byItsClock, 10],
    ["one of less than was measured", 5, byItsClock, 10],
    ["a report where nothing could be measured", 9.5, unmeasured, 9.5],
    ["one that the size makes impossible", 3600, unmeasured, 10],
    ["nothing at all", undefined, unmeasured, undefined],
  ] as const)("STT-01 %s", (_what, reported, file, seconds) => {
    expect(billableSeconds(reported, file, { endSeconds: 0, tokens: 0 })).toBe(seconds);
  });

  test.each([
    ["the end of its last segment", { endSeconds: 42, tokens: 8 }, byItsClock, 42],
    ["an end in milliseconds, too", { endSeconds: 9_800, tokens: 8 }, byItsClock, 10],
    ["an end beyond its size", { endSeconds: 60, tokens: 8 }, byItsClock, 51.5],
    ["its words, which nobody says faster", { endSeconds: 0, tokens: 240 }, byItsClock, 30],
    ["more words than its size allows", { endSeconds: 42, tokens: 10_000 }, byItsClock, 51.5],
    ["all of it within what was measured", { endSeconds: 9, tokens: 80 }, byItsClock, 10],
    ["more, of a file in which there is no more", { endSeconds: 11, tokens: 240 }, measured, 10],
  ])("STT-01 BILL-02 without a usable report the transcript's extent decides: %s", (_, shown, file, seconds) => {
    expect([billableSeconds(10_400, file, shown), secondsWithoutReport(file, shown)]).toEqual([seconds, seconds]);
  });

  test("STT-01 BILL-02 no report makes a transcript cheaper than its extent if bytes were skipped", () => {
    const shown = { endSeconds: 40, tokens: 160 };
    for (const [seconds, bytes] of [
      [51.2, 1_200_000],
      [2.2, 191_000],
      [3, 24_000],
    ] as const) {
      const file = { bytes, seconds, skippedBytes: bytes };
      for (let reported = 40; reported < 60_000; reported += 7)
        expect(billableSeconds(reported, file, shown), `${reported}`).toBeGreaterThanOrEqual(Math.max(40, seconds));
    }
    const padded = { bytes: 1_510_000, seconds: 49, skippedBytes: 1_510_000 };
    expect(billableSeconds(3_100, padded, { endSeconds: 3_100, tokens: 2_250 })).toBeGreaterThan(3_000);
  });

  test("STT-01 without a measurement the file size is the bound", () => {
    expect([maxSeconds(measured), maxSeconds(unmeasured)]).toEqual([10, 10]);
  });
});

describe("tokens", () => {
  test("STT-01 OpenAI's audio tokens are read, and Mistral's add up to the total", () => {
    const openai = openaiTranscriptions.decode({
      text: "",
      usage: { type: "tokens", input_tokens: 40, input_token_details: { audio_tokens: 37 }, output_tokens: 12 },
    });
    expect(openai?.usage.tokens).toEqual({ ...NO_TOKENS, inputTokens: 40, audioInputTokens: 37, outputTokens: 12 });
    const mistral = mistralTranscriptions.decode({
      text: "",
      usage: {
        prompt_tokens: 3,
        completion_tokens: 11,
        total_tokens: 389,
        prompt_tokens_details: { audio_tokens: 375 },
      },
    });
    expect(mistral?.usage.tokens).toEqual({
      ...NO_TOKENS,
      inputTokens: 378,
      audioInputTokens: 375,
      outputTokens: 11,
    });
  });

  test.each([
    [{ input_tokens: 1 }, undefined],
    [{ input_tokens: "1", output_tokens: 2 }, undefined],
    ["many", undefined],
    [{ input_tokens: -1, output_tokens: 2 }, IMPLAUSIBLE_TOKENS],
    [{ input_tokens: 1.5, output_tokens: 2 }, IMPLAUSIBLE_TOKENS],
    [{ input_tokens: 1, output_tokens: 2, input_token_details: { audio_tokens: -1 } }, IMPLAUSIBLE_TOKENS],
  ])("STT-01 unreadable usage is undefined, and impossible usage is implausible: %j", (usage, expected) => {
    expect(openaiTranscriptions.decode({ text: "a", usage })?.usage.tokens).toBe(expected);
  });

  test("STT-01 a total below the output is implausible", () => {
    const usage = { total_tokens: 3, completion_tokens: 5 };
    expect(mistralTranscriptions.decode({ text: "a", usage })?.usage.tokens).toBe(IMPLAUSIBLE_TOKENS);
  });
});

describe("streams", () => {
  const sse = (event: object) => `data: ${JSON.stringify(event)}\n\n`;
  const usage = { type: "tokens", input_tokens: 1, output_tokens: 2 };
  const openai = [
    sse({ type: "transcript.text.delta", delta: "caf\u00e9 ", logprobs: [] }),
    sse({ type: "something.new" }),
    sse({ type: "transcript.text.delta", delta: "noir" }),
    sse({ type: "transcript.text.done", text: "caf\u00e9 noir", usage }),
    "data: [DONE]\n\n",
  ].join("");

  function told(bytes: Buffer, cut: number): string {
    const stream = new TranscriptStream(openaiTranscriptions, "tokens", {
      bytes: 1,
      seconds: undefined,
      skippedBytes: 1,
    });
    const reader = new SseReader(10_000);
    const frames = [...reader.push(bytes.subarray(0, cut)), ...reader.push(bytes.subarray(cut)), ...reader.end()];
    let text = "";
    for (const frame of frames) {
      const piece = stream.read(frame);
      if ("text" in piece) text += piece.text;
      expect(piece.is).not.toBe("malformed");
    }
    expect(stream.isFinished).toBe(true);
    return text + stream.close(stream.usage ?? NO_TOKENS, { cost: 1, currency: "EUR" });
  }

  test("STT-01 any split gives the same events", () => {
    const bytes = Buffer.from(openai);
    const one = told(bytes, 0);
    expect(one).toContain('"delta":"caf\u00e9 ","logprobs":[]');
    expect(one).toContain(
      '"total_tokens":3,"cost":1,"currency":"EUR"},"svc_omitted":["something.new"]}\n\ndata: [DONE]\n\n',
    );
    for (let cut = 1; cut <= bytes.length; cut += 1) expect(told(bytes, cut)).toBe(one);
  });

  test.each([
    ["not JSON", "nonsense"],
    ["a delta without text", '{"type":"transcript.text.delta"}'],
    ["an end before the last word", "[DONE]"],
  ])("STT-01 %s is not an event", (_what, data) => {
    const stream = new TranscriptStream(openaiTranscriptions, "tokens", {
      bytes: 1,
      seconds: undefined,
      skippedBytes: 1,
    });
    expect(stream.read({ data })).toEqual({ is: "malformed" });
  });

  test("STT-01 an error inside a stream is a problem in both formats", () => {
    for (const wire of [openaiTranscriptions, mistralTranscriptions]) {
      const stream = new TranscriptStream(wire, "tokens", { bytes: 1, seconds: undefined, skippedBytes: 1 });
      expect(stream.read({ data: '{"type":"error","error":{"message":"overloaded"}}' })).toMatchObject({
        is: "problem",
        problem: { message: "overloaded" },
      });
    }
  });

  test("STT-01 a seconds-billed stream without any known duration is rejected", () => {
    const stream = new TranscriptStream(openaiTranscriptions, "seconds", {
      bytes: 1,
      seconds: undefined,
      skippedBytes: 1,
    });
    expect(stream.read({ data: '{"type":"transcript.text.done","text":"a"}' })).toEqual({ is: "malformed" });
  });
});
