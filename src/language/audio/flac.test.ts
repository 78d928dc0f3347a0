import { describe, expect, test } from "vitest";
import { encodedSample } from "../../../tests/support/audio/samples.ts";
import { encodeFlac } from "../../sandbox/audio/flac.ts";
import { tone } from "../../sandbox/audio/speech.ts";
import { crc8, FlacMeter, flacFrameAt } from "./flac.ts";

function secondsOf(...parts: Buffer[]): number | undefined {
  const meter = new FlacMeter();
  meter.push(Buffer.concat(parts));
  return meter.seconds();
}

function withCrc(hex: string): Buffer {
  const header = Buffer.from(hex, "hex");
  return Buffer.concat([header, Buffer.from([crc8(header, 0, header.length)])]);
}

/** Magic and the one block, then frames. */
const HEADERS_BYTES = 4 + 4 + 34;
const file = encodeFlac(tone(2.5));

describe("frame headers", () => {
  test.each([
    ["4096 samples at 44.1 kHz", "fff8c91800", 4_096, 44_100],
    ["192 samples, rate of the stream", "fff8100800", 192, 0],
    ["1152 samples at 48 kHz, a long number", "fff93a08e69cac", 1_152, 48_000],
    ["a size in one byte", "fff86a08000f", 16, 48_000],
    ["a size in two bytes, a rate in kHz", "fff87c0800ffff10", 65_536, 16_000],
    ["a rate in Hz", "fff8cd08002b11", 4_096, 11_025],
    ["a rate in tens of Hz", "fff8ce08002b11", 4_096, 110_250],
  ])("%s", (_, hex, samples, rateHz) => {
    const header = withCrc(hex);
    expect(flacFrameAt(header, 0)).toMatchObject({ headerBytes: header.length, samples, rateHz });
    for (let cut = 1; cut < header.length; cut++) expect(flacFrameAt(header.subarray(0, cut), 0)).toBe("more");
    header.writeUInt8(header.readUInt8(header.length - 1) ^ 1, header.length - 1);
    expect(flacFrameAt(header, 0)).toBeUndefined();
  });

  test.each([
    ["no sync", "fff0c91800"],
    ["a reserved bit", "fff8c91900"],
    ["a reserved size", "fff8091800"],
    ["a bad rate", "fff8cf1800"],
    ["reserved channels", "fff8c9b800"],
    ["a reserved sample size", "fff8c91600"],
    ["a bad number", "fff8c91880"],
  ])("%s", (_, hex) => {
    expect(flacFrameAt(withCrc(hex), 0)).toBeUndefined();
  });
});

describe("stated metadata", () => {
  test.each([0n, 1n, 2n ** 36n - 1n])("a stated length of %s samples is ignored", (told) => {
    const lying = Buffer.from(file);
    const at = 4 + 4 + 10;
    lying.writeBigUInt64BE((lying.readBigUInt64BE(at) & ~(2n ** 36n - 1n)) | told, at);
    expect(secondsOf(lying)).toBe(2.5);
  });

  test("the frames' rate overrides the stream's", () => {
    const lying = Buffer.from(file);
    lying.writeUInt16BE(0, 4 + 4 + 10);
    expect(secondsOf(lying)).toBe(2.5);
  });

  test("no metadata block is marked as last", () => {
    const lying = Buffer.from(file);
    lying.writeUInt8(0, 4);
    expect(secondsOf(lying)).toBe(2.5);
  });

  test("a streaming encoder does not state the length", () => {
    expect(secondsOf(encodedSample("streamed.flac"))).toBe(0.6);
  });

  test("other metadata blocks and a tag are skipped", () => {
    const info = Buffer.from(file.subarray(4, HEADERS_BYTES));
    info.writeUInt8(0, 0);
    const notes = Buffer.concat([Buffer.from([0x84, 0, 1, 0]), Buffer.alloc(256, 0xff)]);
    const tag = Buffer.from("ID3\x04\0\0\0\0\0\x05.....", "latin1");
    expect(secondsOf(tag, Buffer.from("fLaC"), info, notes, file.subarray(HEADERS_BYTES))).toBe(2.5);
  });
});

test("garbage and mismatched frames are skipped", () => {
  const stray = withCrc("fff8c91800");
  const frames = file.subarray(HEADERS_BYTES);
  expect(secondsOf(file, stray, Buffer.alloc(99, 0xff), stray, frames)).toBe(5);
});

test("STT-01 bytes from a mismatched frame to the next counted frame are reported as skipped", () => {
  const stray = withCrc("fff8c91800");
  const passed = (...parts: Buffer[]) => {
    const meter = new FlacMeter();
    meter.push(Buffer.concat(parts));
    return meter.skippedBytes();
  };
  expect(passed(file)).toBe(0);
  expect(passed(file, stray, Buffer.alloc(99), file.subarray(HEADERS_BYTES))).toBe(stray.length + 99);
});

test("a file whose first frame differs from all others is not measured", () => {
  const others = Array.from({ length: 50 }, () => Buffer.concat([withCrc("fff8c91800"), Buffer.alloc(99)]));
  expect(
    secondsOf(file.subarray(0, HEADERS_BYTES), withCrc("fff8100800"), Buffer.alloc(99), ...others),
  ).toBeUndefined();
});

describe("STT-01 frames with a rate among frames that refer to the stream's rate", () => {
  const info = Buffer.from(file.subarray(0, HEADERS_BYTES));
  info.writeUInt32BE(((16_000 << 12) | (15 << 4)) >>> 0, 4 + 4 + 10);
  const body = Buffer.alloc(99);
  const short = Buffer.concat([withCrc("fff8100801"), body]);
  const mixed = (long: string) =>
    Array.from({ length: 30 }, () => [...Array<Buffer>(25).fill(short), withCrc(long), body]).flat();

  test("belong to one stream if the rates agree", () => {
    expect(secondsOf(info, ...mixed("fff8750801fffe"))).toBeCloseTo((30 * (25 * 192 + 65_535)) / 16_000, 9);
  });

  test("a few long frames with another rate make the duration unknown", () => {
    expect(secondsOf(info, ...mixed("fff8760801fffe"))).toBeUndefined();
  });

  const at = (rateHz: number) => {
    const told = Buffer.from(info);
    told.writeUInt32BE(rateHz * 4_096 + (15 << 4), 4 + 4 + 10);
    return told;
  };
  const frames = (hex: string, count: number) =>
    Array<Buffer[]>(count)
      .fill([withCrc(hex), body])
      .flat();

  test("frames after one with another rate may be played at it: duration is unknown", () => {
    const [untold, told] = ["fff8c00801", "fff8c50801"];
    expect(secondsOf(at(655_350), ...frames(untold, 101))).toBeCloseTo((101 * 4_096) / 655_350, 9);
    expect(secondsOf(at(655_350), ...frames(untold, 1), ...frames(told, 1), ...frames(untold, 100))).toBeUndefined();
    const back = withCrc("fff8ce0801ffff");
    expect(
      secondsOf(at(655_350), ...frames(untold, 1), ...frames(told, 1), back, body, ...frames(untold, 100)),
    ).toBeUndefined();
  });

  test("without a stream rate the duration is unknown", () => {
    expect(secondsOf(at(0), ...frames("fff8c50801", 20))).toBeCloseTo((20 * 4_096) / 16_000, 9);
    expect(secondsOf(at(0), ...frames("fff8c50801", 20), ...frames("fff8c00801", 100))).toBeUndefined();
    expect(secondsOf(at(0), ...frames("fff8c00801", 100))).toBeUndefined();
  });

  test("mismatched frames beyond the tolerance make the duration unknown", () => {
    const long = (count: number) => frames("fff8740801fffe", count);
    expect(secondsOf(info, ...frames("fff8c50801", 800), ...long(1))).toBeCloseTo((800 * 4_096) / 16_000, 9);
    expect(secondsOf(info, ...frames("fff8c50801", 800), ...long(8))).toBeUndefined();
  });

  test("false sync words, with or without a rate, change nothing", () => {
    const chances = [...frames("fff8741801fffe", 1), ...frames("fff8c01801", 2)];
    expect(secondsOf(info, ...frames("fff8c50801", 800), ...chances)).toBeCloseTo((800 * 4_096) / 16_000, 9);
  });
});

test("only received frames count", () => {
  const half = secondsOf(file.subarray(0, file.length / 2)) ?? 0;
  expect(half).toBeGreaterThan(1.1);
  expect(half).toBeLessThan(1.5);
  expect(secondsOf(file.subarray(0, HEADERS_BYTES))).toBe(0);
});

test("input without the magic bytes is not FLAC", () => {
  expect(secondsOf(file.subarray(1))).toBeUndefined();
  expect(secondsOf(file.subarray(HEADERS_BYTES))).toBeUndefined();
});
