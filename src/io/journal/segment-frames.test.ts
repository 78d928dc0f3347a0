import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readFrames } from "./segment-decoder.ts";
import { FrameBuffer } from "./segment-frames.ts";

function framesOf(...payloads: string[]): Buffer {
  const frames = new FrameBuffer();
  for (const payload of payloads) frames.add(payload);
  return Buffer.from(frames.view());
}

function read(bytes: Buffer) {
  const payloads: string[] = [];
  const end = readFrames(bytes, (payload) => payloads.push(payload));
  return { payloads, end };
}

describe("frames", () => {
  test("BILL-07 any text survives a round trip", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme", minLength: 1 })), (payloads) => {
        const sound = payloads.map((payload) => Buffer.from(payload).toString("utf8"));
        expect(read(framesOf(...sound))).toEqual({ payloads: sound, end: { is: "whole" } });
      }),
    );
    const large = "ä".repeat(1_000_000);
    expect(read(framesOf("first", large, "last")).payloads).toEqual(["first", large, "last"]);
  });

  test("BILL-07 a payload in parts equals the concatenation", () => {
    const frames = new FrameBuffer();
    frames.add("{€", "ä".repeat(300), "}");
    expect(read(Buffer.from(frames.view())).payloads).toEqual([`{€${"ä".repeat(300)}}`]);
    expect(frames.view()).toEqual(framesOf(`{€${"ä".repeat(300)}}`));
  });

  test("BILL-07 a segment cut at any byte yields the frames before the cut and is torn", () => {
    const whole = framesOf("one", "zwei", "drei €");
    const starts = [0, framesOf("one").length, framesOf("one", "zwei").length, whole.length];
    for (let cut = 0; cut <= whole.length; cut += 1) {
      const { payloads, end } = read(whole.subarray(0, cut));
      const complete = starts.findLastIndex((start) => start <= cut);
      expect(payloads).toEqual(["one", "zwei", "drei €"].slice(0, complete));
      expect(end.is).toBe(starts.includes(cut) ? "whole" : "torn");
    }
  });

  test("BILL-07 zeros after the last frame are a torn tail", () => {
    const { payloads, end } = read(Buffer.concat([framesOf("one"), Buffer.alloc(4096)]));
    expect(payloads).toEqual(["one"]);
    expect(end).toEqual({ is: "torn", atByte: 11, restBytes: 4096 });
  });

  test("BILL-07 a flipped bit is never read as an entry", () => {
    const whole = framesOf("one", "two", "three");
    for (let at = 0; at < whole.length; at += 1) {
      const broken = Buffer.from(whole);
      broken[at] = (broken[at] ?? 0) ^ 0x10;
      const { payloads, end } = read(broken);
      expect(["one", "two", "three"].slice(0, payloads.length)).toEqual(payloads);
      expect(payloads.length).toBeLessThan(3);
      expect(end.is).not.toBe("whole");
    }
    const broken = Buffer.from(whole);
    broken[9] = 0;
    expect(read(broken).end).toEqual({ is: "damaged", atByte: 0, restBytes: whole.length });
  });
});
