import { crc32 } from "node:zlib";
import { describe, expect, test } from "vitest";
import { type EventStreamItem, EventStreamReader, encodeEventMessage } from "./aws-event-stream.ts";

const MAX = 1024 * 1024;
const EVENT = { ":message-type": "event", ":event-type": "delta", ":content-type": "application/json" };
const SAMPLE = Buffer.concat([
  encodeEventMessage(EVENT, '{"text":"Grüße"}'),
  encodeEventMessage({}, ""),
  encodeEventMessage({ ":message-type": "event" }, Buffer.from([0, 255, 7])),
  encodeEventMessage(EVENT, `{"text":"${"世界".repeat(200)}"}`),
]);

const plain = (piece: EventStreamItem) =>
  piece.is !== "message"
    ? piece
    : { headers: Object.fromEntries(piece.headers), payload: piece.payload.toString("hex") };

function readAll(chunks: readonly Buffer[], maxBytes = MAX) {
  const reader = new EventStreamReader(maxBytes);
  return [...chunks.flatMap((chunk) => reader.push(chunk)), ...reader.end()].map(plain);
}

const whole = readAll([SAMPLE]);

describe("a binary event stream", () => {
  test("encoded messages are decoded: headers, payload, empty messages", () => {
    expect(whole).toHaveLength(4);
    expect(whole[0]).toEqual({ headers: EVENT, payload: Buffer.from('{"text":"Grüße"}').toString("hex") });
    expect(whole[1]).toEqual({ headers: {}, payload: "" });
    expect(whole[2]).toEqual({ headers: { ":message-type": "event" }, payload: "00ff07" });
  });

  test("any cut: a stream split at every byte gives the same messages", () => {
    for (let at = 0; at <= SAMPLE.length; at += 1)
      expect(readAll([SAMPLE.subarray(0, at), SAMPLE.subarray(at)])).toEqual(whole);
    expect(readAll(Array.from(SAMPLE, (_, at) => SAMPLE.subarray(at, at + 1)))).toEqual(whole);
  });

  test("an empty message has the bytes that AWS documents", () => {
    expect(encodeEventMessage({}, "").toString("hex")).toBe("000000100000000005c248eb7d98c8ff");
  });

  test("a changed byte is corrupt: earlier messages are kept, nothing follows", () => {
    const second = encodeEventMessage(EVENT, '{"text":"second"}');
    const first = encodeEventMessage(EVENT, "{}");
    for (let at = 0; at < second.length; at += 1) {
      const broken = Buffer.from(second);
      broken[at] = (broken[at] ?? 0) ^ 0x01;
      const pieces = readAll([first, broken, first]);
      expect(pieces[0]).toMatchObject({ headers: EVENT });
      expect(pieces.slice(1)).toEqual([{ is: "corrupt", why: expect.any(String) }]);
    }
  });

  test("a stream that ends inside a message is corrupt; between messages it is not", () => {
    const one = encodeEventMessage(EVENT, "{}");
    for (let at = 1; at < one.length; at += 1)
      expect(readAll([one.subarray(0, at)])).toEqual([{ is: "corrupt", why: "it ends inside a message" }]);
    expect(readAll([one])).toHaveLength(1);
    expect(readAll([])).toEqual([]);
  });

  test("a message above the limit is rejected by its first twelve bytes", () => {
    const reader = new EventStreamReader(100);
    const long = encodeEventMessage({}, "x".repeat(200));
    expect(reader.push(long.subarray(0, 12))).toEqual([{ is: "oversized", maxBytes: 100 }]);
    expect(reader.push(long.subarray(12))).toEqual([]);
    expect(reader.end()).toEqual([]);
  });

  test("impossible lengths are rejected even with a valid checksum", () => {
    for (const [total, headers] of [
      [15, 0],
      [16, 1],
      [20, 5],
    ] as const) {
      const prelude = Buffer.alloc(12);
      prelude.writeUInt32BE(total, 0);
      prelude.writeUInt32BE(headers, 4);
      prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
      expect(readAll([prelude])).toEqual([{ is: "corrupt", why: "a length is impossible" }]);
    }
  });

  test("headers of other types are skipped, malformed ones are corrupt", () => {
    const typed = (...bytes: number[]) => message(Buffer.from(bytes));
    const name = [1, 0x61];
    const text = [1, 0x62, 7, 0, 1, 0x63];
    for (const value of [
      [0],
      [1],
      [2, 9],
      [3, 0, 9],
      [4, 0, 0, 0, 9],
      [5, ...Array<number>(8).fill(0)],
      [6, 0, 2, 1, 2],
      [8, ...Array<number>(8).fill(0)],
      [9, ...Array<number>(16).fill(0)],
    ])
      expect(readAll([typed(...name, ...value, ...text)])).toEqual([{ headers: { b: "c" }, payload: "" }]);
    for (const bad of [[1], [1, 0x61], [1, 0x61, 10], [1, 0x61, 7], [1, 0x61, 7, 0, 9, 1], [200, 7, 0, 0]])
      expect(readAll([typed(...bad)])).toEqual([{ is: "corrupt", why: "a header is malformed" }]);
  });
});

/** A message with raw headers and valid checksums. */
function message(headers: Buffer): Buffer {
  const bytes = Buffer.alloc(16 + headers.length);
  bytes.writeUInt32BE(bytes.length, 0);
  bytes.writeUInt32BE(headers.length, 4);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 8)), 8);
  headers.copy(bytes, 12);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, bytes.length - 4)), bytes.length - 4);
  return bytes;
}
