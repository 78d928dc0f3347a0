import { describe, expect, test } from "vitest";
import { WebmMeter } from "./webm.ts";

function secondsOf(...parts: Buffer[]): number | undefined {
  const meter = new WebmMeter();
  meter.push(Buffer.concat(parts));
  return meter.seconds();
}

function element(id: string, body: Buffer | string = ""): Buffer {
  const bytes = typeof body === "string" ? Buffer.from(body, "latin1") : body;
  const size = Buffer.alloc(4);
  size.writeUInt32BE(0x10000000 + bytes.length);
  return Buffer.concat([Buffer.from(id, "hex"), size, bytes]);
}

/** As a recorder writes it that does not know how much will follow. */
function endless(id: string): Buffer {
  return Buffer.from(`${id}01ffffffffffffff`, "hex");
}

function track(number: number, type: number, codec: string, ...more: Buffer[]): Buffer {
  const told = [element("d7", Buffer.from([number])), element("83", Buffer.from([type])), element("86", codec)];
  return element("ae", Buffer.concat([...told, ...more]));
}

/** 16 kHz, mono, 16 bits unless told. */
function samples({ rate = "467a0000", channels = "01", bits = "10" } = {}): Buffer {
  const [hertz, count, width] = [rate, channels, bits].map((value) => Buffer.from(value, "hex"));
  return element("e1", Buffer.concat([element("b5", hertz), element("9f", count), element("6264", width)]));
}

function cluster(time: number): Buffer {
  const at = Buffer.alloc(8);
  at.writeBigUInt64BE(BigInt(time));
  return Buffer.concat([endless("1f43b675"), element("e7", at)]);
}

function block(number: number, time: number, flags = 0x80, packet = "f8fffe"): Buffer {
  const head = Buffer.from([0x80 | number, 0, 0, flags]);
  head.writeInt16BE(time, 1);
  return element("a3", Buffer.concat([head, Buffer.from(packet, "hex")]));
}

const START = Buffer.concat([element("1a45dfa3", "\x42\x82\x84webm"), endless("18538067")]);
const OPUS = Buffer.concat([START, element("1654ae6b", track(1, 2, "A_OPUS"))]);
const VORBIS = Buffer.concat([START, element("1654ae6b", track(1, 2, "A_VORBIS", vorbis(0x9a)))]);

/** The three headers of Vorbis at 16 kHz, with the sizes of its short and its long blocks, as powers of two. */
function vorbis(sizes: number, commentBytes = 300): Buffer {
  const first = Buffer.alloc(30);
  first.write("\x01vorbis", 0, "latin1");
  first.writeUInt32LE(16_000, 12);
  first.writeUInt8(((sizes & 15) << 4) | (sizes >>> 4), 28);
  return element(
    "63a2",
    Buffer.concat([Buffer.from([2, 30, 255, commentBytes - 255]), first, Buffer.alloc(commentBytes + 40)]),
  );
}

describe("Opus", () => {
  test("packets count, not timestamps", () => {
    expect(secondsOf(OPUS, cluster(0), block(1, 0), block(1, 20), cluster(5_000_000), block(1, 0))).toBe(0.06);
  });

  test("packets in block groups count, video does not", () => {
    const tracks = element("1654ae6b", Buffer.concat([track(1, 1, "V_VP8"), track(2, 2, "A_OPUS")]));
    const inGroup = element("a0", Buffer.concat([element("a1", block(2, 20).subarray(5)), element("9b", "\x14")]));
    expect(secondsOf(START, tracks, cluster(0), block(1, 0), block(2, 0), inGroup, block(1, 30))).toBe(0.04);
  });
});

describe("STT-01 blocks whose duration is hidden", () => {
  const many = (stepMs: number, packet: string) =>
    Array.from({ length: 100 }, (_, index) => block(1, index * stepMs, 0x80, packet));

  test.each(["A_OPUS", "A_PCM/INT/LIT"])("encoded %s blocks have an unknown duration", (codec) => {
    const encodings = element("6d80", element("6240", element("5034", element("4254", "\x03"))));
    const file = (more: Buffer[]) => [START, element("1654ae6b", track(1, 2, codec, samples(), ...more)), cluster(0)];
    expect(secondsOf(...file([]), ...many(20, "f8fffe"))).toBeGreaterThan(0);
    expect(secondsOf(...file([encodings]), ...many(20, "f8fffe"))).toBeUndefined();
  });

  test("Opus packets far shorter than their timestamps are unknown, a pause is fine", () => {
    expect(secondsOf(OPUS, cluster(0), ...many(30, "f8fffe"))).toBe(2);
    expect(secondsOf(OPUS, cluster(0), ...many(120, "80fffe"))).toBeUndefined();
    expect(secondsOf(OPUS, cluster(0), ...many(300, "f8fffe"))).toBe(2);
  });
});

describe("several audio tracks", () => {
  const beside = (...tracks: Buffer[]) =>
    Buffer.concat([START, element("1654ae6b", Buffer.concat(tracks)), cluster(0)]);
  const [one, two] = [track(1, 2, "A_OPUS"), track(2, 2, "A_OPUS")];

  test("STT-01 the longest counts in any order", () => {
    const blocks = [block(1, 0), block(2, 0), block(2, 20), block(2, 40)];
    expect(secondsOf(beside(one, two), ...blocks)).toBe(0.06);
    expect(secondsOf(beside(two, one), ...blocks)).toBe(0.06);
    expect(secondsOf(beside(one, two), block(2, 0))).toBe(0.02);
  });

  test("STT-01 one unmeasurable track makes the duration unknown", () => {
    expect(secondsOf(beside(one, track(2, 2, "A_FLAC")), block(1, 0))).toBe(0.02);
    expect(secondsOf(beside(one, track(2, 2, "A_FLAC")), block(1, 0), block(2, 0))).toBeUndefined();
  });

  test("STT-01 track fields after its first block are ignored", () => {
    expect(secondsOf(beside(one), block(1, 0), element("83", "\x01"), block(1, 20))).toBe(0.04);
  });

  test("STT-01 too many tracks are not measured", () => {
    const many = (count: number) => Array.from({ length: count }, (_, at) => track(at + 1, 2, "A_OPUS"));
    expect(secondsOf(beside(...many(16)), block(16, 0))).toBe(0.02);
    expect(secondsOf(beside(...many(17)), block(1, 0))).toBeUndefined();
  });
});

describe("other codecs", () => {
  test("block timestamps count, and the last block lasts as long as the one before", () => {
    expect(secondsOf(VORBIS, cluster(1_000), block(1, 0), block(1, 30), cluster(1_060), block(1, 0))).toBeCloseTo(
      0.09,
      9,
    );
  });

  test("the timestamp scale is applied", () => {
    const slow = element("1549a966", element("2ad7b1", Buffer.from("989680", "hex")));
    expect(secondsOf(VORBIS, cluster(0), block(1, 0), block(1, 50))).toBeCloseTo(0.1, 9);
    expect(secondsOf(VORBIS, slow, cluster(0), block(1, 0), block(1, 50))).toBeCloseTo(1, 9);
  });

  test("timestamps that run too fast, stand still or go back are rejected", () => {
    const fast = element("1549a966", element("2ad7b1", Buffer.from([1])));
    const many = (timeOf: (index: number) => number) =>
      Array.from({ length: 100 }, (_, index) => block(1, timeOf(index)));
    expect(secondsOf(VORBIS, cluster(0), ...many((index) => index * 20))).toBeCloseTo(2, 9);
    expect(secondsOf(VORBIS, fast, cluster(0), ...many((index) => index * 20))).toBeUndefined();
    expect(secondsOf(VORBIS, cluster(0), ...many(() => 0))).toBeUndefined();
    expect(secondsOf(VORBIS, cluster(0), ...many((index) => -index))).toBeUndefined();
  });

  test("a timestamp jump in either direction is not audio", () => {
    const far = cluster(9_000_000_000);
    expect(
      secondsOf(VORBIS, cluster(0), block(1, 0), block(1, 30), far, block(1, 0), cluster(0), block(1, 0)),
    ).toBeCloseTo(0.06, 9);
  });

  test("STT-01 laced Opus packets have an unknown duration", () => {
    const laced = (time: number) => block(1, time, 0x82, "04f8");
    expect(secondsOf(OPUS, cluster(0), laced(0), laced(100))).toBeUndefined();
    expect(secondsOf(OPUS, cluster(0), block(1, 0), laced(20), block(1, 120))).toBeUndefined();
  });

  const clocked = (step: number, packet: string, ...told: [codec: string, ...more: Buffer[]]) =>
    secondsOf(
      START,
      element("1654ae6b", track(1, 2, ...told)),
      cluster(0),
      ...Array.from({ length: 100 }, (_, index) => block(1, index * step, 0x80, packet)),
    );
  const config = (hex: string) => element("63a2", Buffer.from(hex, "hex"));

  test("STT-01 AAC frames last as long as their config states", () => {
    expect(clocked(64, "00", "A_AAC", config("1408"))).toBeCloseTo(6.4, 9);
    expect(clocked(10, "00", "A_AAC", config("1408"))).toBeUndefined();
    expect(clocked(64, "00", "A_AAC")).toBeUndefined();
  });

  test("STT-01 blocks with an implausible bit rate are rejected", () => {
    expect(clocked(30, "00".repeat(1_000), "A_MPEG/L3")).toBeCloseTo(3, 9);
    expect(clocked(30, "00".repeat(3_000), "A_MPEG/L3")).toBeUndefined();
  });

  test("STT-01 Vorbis packets that average less than half a long block are rejected", () => {
    expect(clocked(16, "00", "A_VORBIS", vorbis(0x8b))).toBeUndefined();
    expect(clocked(32, "00", "A_VORBIS", vorbis(0x8b))).toBeCloseTo(3.2, 9);
    expect(clocked(16, "00", "A_VORBIS", vorbis(0x9a))).toBeCloseTo(1.6, 9);
    expect(clocked(1, "00", "A_VORBIS", vorbis(0x9a))).toBeUndefined();
    expect(clocked(32, "00", "A_VORBIS")).toBeUndefined();
    expect(clocked(32, "00", "A_VORBIS", config("021e"))).toBeUndefined();
  });

  test.each(["A_FLAC", "A_MS/ACM", "A_ALAC", ""])(
    "STT-01 %j blocks of variable length: duration is unknown",
    (codec) => {
      expect(clocked(64, "00", codec)).toBeUndefined();
    },
  );
});

describe("PCM", () => {
  const second = "0102".repeat(16_000);
  const plain = (shape: Parameters<typeof samples>[0], ...blocks: Buffer[]) =>
    secondsOf(
      START,
      element("1654ae6b", track(1, 2, "A_PCM/INT/LIT", samples(shape))),
      cluster(0),
      ...(blocks.length > 0
        ? blocks
        : [block(1, 0, 0x80, second), block(1, 1, 0x80, second), block(1, 2, 0x80, second)]),
    );

  test("STT-01 samples count, not timestamps", () => {
    expect(plain({})).toBe(3);
    expect(plain({ rate: "40cf400000000000" })).toBe(3);
    expect(plain({ channels: "02", bits: "20" })).toBe(0.75);
  });

  test("STT-01 truncated samples count as far as received", () => {
    const one = block(1, 0, 0x80, second);
    expect(plain({}, one, one.subarray(0, one.length - 16_000))).toBe(1.5);
    for (const hex of ["ec1ffffffe00", "ec1fffffff00"]) expect(plain({}, one, Buffer.from(hex, "hex"))).toBe(1);
  });

  test.each([
    { bits: "00" },
    { bits: "ff" },
    { channels: "00" },
    { channels: "09" },
    { rate: "00000000" },
    { rate: "7fc00000" },
    { rate: "01" },
  ])("STT-01 an impossible format is not measured: %j", (shape) => {
    expect(plain(shape)).toBeUndefined();
  });
});

test("without an audio block the duration is unknown", () => {
  expect(secondsOf(OPUS, cluster(0), block(3, 0))).toBeUndefined();
  expect(secondsOf(OPUS.subarray(1), cluster(0), block(1, 0))).toBeUndefined();
});
