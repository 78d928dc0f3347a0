import { expect, test } from "vitest";
import { EventLoopTurns, type TurnWork } from "../../kit/event-loop-turns.ts";
import { BuiltJsonDocument } from "../../kit/json-document.ts";
import { OversizedTextError } from "../../kit/json-size.ts";
import { NO_TOKENS } from "../../language/canon/usage.ts";
import type { TranscriptFormat } from "../../language/transcriptions/call.ts";
import { transcriptionsAdapter } from "./transcriptions-adapter.ts";

const TURN: TurnWork = { chars: 262_144, values: 8_000 };
const FILE = { filename: "a.wav", contentType: "audio/wav", bytes: 9_000_000, async *read() {} };

function adapterOf(format: TranscriptFormat, replyChars = 2_000_000) {
  const facts = { interface: "openai", segments: true, words: true, stream: false, seconds: true } as const;
  return transcriptionsAdapter(
    {
      call: {
        model: "m",
        format,
        isStreaming: false,
        granularities: format === "verbose_json" ? ["segment", "word"] : [],
        parameters: {},
        routingHints: undefined,
      },
      file: { ...FILE, seconds: 3_600, skippedBytes: 0 },
      billedBy: "seconds",
    },
    { upstreamModel: "m" },
    { ...facts, parameters: [], maxBytes: null },
    { replyChars, eventChars: replyChars },
  );
}

const rows = <T>(count: number, row: (at: number) => T) => Array.from({ length: count }, (_, at) => row(at));
const VALUE = {
  text: "Some words. ".repeat(20_000),
  language: "en",
  duration: 3_600,
  segments: rows(5_000, (at) => ({ id: at, start: at, end: at + 1, text: ` Line ${at}\n-->`, tokens: [at, 2, 3] })),
  words: rows(20_000, (at) => ({ word: `w${at}`, start: at / 10, end: at / 10 + 0.05 })),
  unknown: { a: 1 },
};

const documentOf = (value: unknown) => new BuiltJsonDocument("", { value, body: { problem: "it is not patched" } });

async function inSlices(format: TranscriptFormat, value: unknown, replyChars?: number) {
  const turns: TurnWork[] = [];
  const work = new EventLoopTurns(TURN, (turn) => turns.push(turn)).begin("w");
  const reply = await adapterOf(format, replyChars).decodeInSlices?.(documentOf(value), {}, work);
  if (reply === undefined || "unusable" in reply) return { reply, turns };
  const rendered = await reply.renderInSlices?.(NO_TOKENS, undefined);
  return { reply, rendered, turns };
}

test.each(["json", "text", "srt", "vtt", "verbose_json"] as const)(
  "SAFE-01 a long transcript as %s is read and written in slices, as a short one is at once",
  async (format) => {
    const { reply, rendered, turns } = await inSlices(format, VALUE);
    const atOnce = adapterOf(format).decodeResponse(documentOf(VALUE), {});
    if (reply === undefined || "unusable" in reply || atOnce === undefined || "unusable" in atOnce)
      throw new Error("the transcript is not usable");
    expect(rendered).toBe(atOnce.render(NO_TOKENS, undefined));
    expect([reply.omitted, reply.units]).toEqual([atOnce.omitted, atOnce.units]);
    expect(turns.length).toBeGreaterThan(10);
    expect(Math.max(...turns.map(({ values }) => values))).toBeLessThanOrEqual(TURN.values);
    expect(Math.max(...turns.map(({ chars }) => chars))).toBeLessThanOrEqual(TURN.chars);
  },
);

test.each([
  ["a segment", { ...VALUE, segments: [...VALUE.segments, { start: 2, end: 1, text: "a" }] }],
  ["a word", { ...VALUE, words: [...VALUE.words, { word: "a" }] }],
])("SAFE-01 a long transcript with %s that is not valid is unusable, as a short one is", async (_name, value) => {
  const { reply } = await inSlices("verbose_json", value);
  expect(reply).toEqual(adapterOf("verbose_json").decodeResponse(documentOf(value), {}));
  expect(reply).toHaveProperty("unusable");
});

test("SAFE-01 subtitles with more text than is rewritten are refused", async () => {
  await expect(inSlices("srt", VALUE, 10_000)).rejects.toThrow(OversizedTextError);
  expect((await inSlices("json", VALUE, 10_000)).rendered).toContain("Some words.");
});
