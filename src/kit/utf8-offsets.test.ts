import { expect, test, vi } from "vitest";
import { Utf8Offsets } from "./utf8-offsets.ts";

test("SAFE-01 byte offsets of a growing text become UTF-16 units at every position", () => {
  const offsets = new Utf8Offsets();
  let text = "";
  for (const part of ["", "aé漢😀", "x".repeat(1023), "😀".repeat(700), "漢字".repeat(900)]) {
    offsets.append(part);
    text += part;
    const bytes = Buffer.from(text);
    for (let byte = 0; byte <= bytes.length + 1; byte += 1)
      expect(offsets.unitsBefore(byte)).toBe(bytes.toString("utf8", 0, Math.min(byte, bytes.length)).length);
  }
});

test("SAFE-01 thousands of offsets in a long text do not read it again each time", () => {
  const offsets = new Utf8Offsets();
  const text = "漢字".repeat(500_000);
  offsets.append(text);
  offsets.unitsBefore(0);
  const encode = vi.spyOn(Buffer, "from");
  const measure = vi.spyOn(Buffer, "byteLength");
  for (let at = 0; at < 2000; at += 1) expect(offsets.unitsBefore(at * 1500)).toBe(at * 500);
  let read = 0;
  for (const [piece] of [...encode.mock.calls, ...measure.mock.calls]) read += String(piece).length;
  vi.restoreAllMocks();
  expect(read).toBeLessThanOrEqual(2000 * 1024);
});
