import { createParser } from "eventsource-parser";
import fc from "fast-check";
import { expect, test } from "vitest";
import { OversizedEventError, type SseFrame, SseReader } from "./sse.ts";

function readAll(bytes: Buffer, cuts: readonly number[]): SseFrame[] {
  const reader = new SseReader(1_000_000);
  const frames: SseFrame[] = [];
  let from = 0;
  for (const cut of [...cuts, bytes.length]) {
    frames.push(...reader.push(bytes.subarray(from, cut)));
    from = cut;
  }
  frames.push(...reader.end());
  return frames;
}

function reference(text: string): SseFrame[] {
  const frames: SseFrame[] = [];
  const parser = createParser({ onEvent: ({ event, data }) => frames.push({ event: event ?? null, data }) });
  parser.feed(text);
  return frames;
}

const SAMPLE =
  ': keep-alive\r\n\r\ndata:{"a":"北京 🌧"}\r\n\r\nevent: ping\ndata: 1\ndata: 2\n\ndata\n\nid: 7\nretry: 3\ndata: last\r\rdata: [DONE]\n\n';

test("the length of an unfinished event is known until the event is complete", () => {
  const reader = new SseReader(100);
  const lengths = ["data: 1", "2\n", "\ndata", "\n\n"].map((text) => {
    reader.push(Buffer.from(text));
    return reader.pendingChars;
  });
  expect(lengths).toEqual([7, 9, 4, 0]);
});

test("SAFE-01 the memory of a character doubles with the first one beyond Latin-1, also if its bytes are split", () => {
  const reader = new SseReader(100);
  const sizes = ["data: plain", " \u00e9t\u00e9", "\u6f22", "x\n\n"].flatMap((text) =>
    [...Buffer.from(text)].map((byte) => {
      reader.push(Buffer.from([byte]));
      return reader.charBytes;
    }),
  );
  expect([sizes.slice(0, 17).at(-1), sizes.at(-1)]).toEqual([1, 2]);
});

test("a stream split at every byte gives the same events", () => {
  const bytes = Buffer.from(SAMPLE);
  const whole = readAll(bytes, []);
  expect(whole).toEqual(reference(SAMPLE));
  for (let cut = 0; cut <= bytes.length; cut += 1) expect(readAll(bytes, [cut])).toEqual(whole);
  expect(
    readAll(
      bytes,
      Array.from({ length: bytes.length }, (_, at) => at),
    ),
  ).toEqual(whole);
});

test("legal input is read as the reference reads it, whatever its lines and cuts", () => {
  const line = fc.constantFrom(
    "data: x",
    "data:y",
    "data",
    "event: e",
    ":c",
    "",
    "id: 1",
    "data: ü🌧",
    "other: z",
    "data:  two",
  );
  const ending = fc.constantFrom("\n", "\r\n", "\r");
  fc.assert(
    fc.property(fc.array(line), ending, fc.infiniteStream(fc.nat({ max: 7 })), (lines, end, steps) => {
      const text = `${lines.join(end)}${end}${end}`;
      const bytes = Buffer.from(text);
      const cuts: number[] = [];
      for (let at = 0; at < bytes.length; at += steps.next().value + 1) cuts.push(at);
      expect(readAll(bytes, cuts)).toEqual(reference(text));
    }),
    { numRuns: 500 },
  );
});

test("a byte order mark is skipped, and an event without its closing blank line counts", () => {
  expect(readAll(Buffer.from("\uFEFFdata: a\n\ndata: b"), [])).toEqual([
    { event: null, data: "a" },
    { event: null, data: "b" },
  ]);
});

test("a line without end is cut at the cap", () => {
  const reader = new SseReader(1000);
  expect(() => {
    for (let i = 0; i < 100; i += 1) reader.push(Buffer.from("x".repeat(100)));
  }).toThrow(OversizedEventError);
});
