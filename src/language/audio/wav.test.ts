import { describe, expect, test } from "vitest";
import { synthesizeSpeech } from "../../sandbox/audio/speech.ts";
import { WavMeter } from "./wav.ts";

const SECOND = Buffer.alloc(16_000, 1);

function chunk(name: string, body: Buffer, told = body.length): Buffer {
  const header = Buffer.alloc(8);
  header.write(name, 0, "latin1");
  header.writeUInt32LE(told, 4);
  return Buffer.concat([header, body, Buffer.alloc(told === body.length ? body.length % 2 : 0)]);
}

type Fmt = {
  tag?: number;
  channels?: number;
  bits?: number;
  rateHz?: number;
  bytesPerSecond?: number;
  blockBytes?: number;
  subFormat?: number;
  validBits?: number;
};

/** 8 kHz, mono, 16 bits unless told. */
function fmt(told: Fmt = {}): Buffer {
  const { tag = 1, channels = 1, bits = 16, rateHz = 8_000, bytesPerSecond = 16_000, subFormat } = told;
  const body = Buffer.alloc(subFormat === undefined ? 16 : 40);
  body.writeUInt16LE(tag, 0);
  body.writeUInt16LE(channels, 2);
  body.writeUInt32LE(rateHz, 4);
  body.writeUInt32LE(bytesPerSecond, 8);
  body.writeUInt16LE(told.blockBytes ?? (channels * bits) / 8, 12);
  body.writeUInt16LE(bits, 14);
  if (subFormat !== undefined) {
    body.writeUInt16LE(22, 16);
    body.writeUInt16LE(told.validBits ?? 0, 18);
    body.writeUInt16LE(subFormat, 24);
  }
  return chunk("fmt ", body);
}

function riff(chunks: readonly Buffer[], told = 0xffffffff, name = "RIFF"): Buffer {
  const header = Buffer.alloc(12);
  header.write(name, 0, "latin1");
  header.writeUInt32LE(told, 4);
  header.write("WAVE", 8, "latin1");
  return Buffer.concat([header, ...chunks]);
}

function secondsOf(bytes: Buffer): number | undefined {
  const meter = new WavMeter();
  meter.push(bytes);
  return meter.seconds();
}

describe("wrong lengths", () => {
  test.each([0, 0xffffffff, 0xfffffffe, 0x7fffffff, 4, 15_999, 16_000, 16_001, 1_000_000])(
    "data that says %i bytes",
    (told) => {
      expect(secondsOf(riff([fmt(), chunk("data", SECOND, told)]))).toBeCloseTo(1, 3);
    },
  );

  test.each([0, 1, 36, 0xffffffff])("a stated file size of %i bytes is ignored", (told) => {
    expect(secondsOf(riff([fmt(), chunk("data", SECOND)], told))).toBe(1);
  });

  test.each([0, 1, 999_999])("a byte rate of %i is ignored for PCM", (bytesPerSecond) => {
    expect(secondsOf(riff([fmt({ bytesPerSecond }), chunk("data", SECOND)]))).toBe(1);
  });

  test("a second fmt chunk is ignored", () => {
    const fast = fmt();
    fast.writeUInt32LE(2_000_000_000, 12);
    expect(secondsOf(riff([fmt(), chunk("data", SECOND), chunk("LIST", Buffer.from("abcd")), fast]))).toBe(1);
    expect(secondsOf(riff([fmt(), fast, chunk("data", SECOND)]))).toBe(1);
    expect(secondsOf(riff([fmt({ tag: 0x45, bits: 2 }), fmt(), chunk("data", SECOND)]))).toBeUndefined();
  });

  test("data that continues past its stated length is counted", () => {
    expect(secondsOf(riff([fmt(), chunk("data", SECOND, 8_000)]))).toBe(1);
  });
});

describe("other chunks", () => {
  test("before and after the data are not audio", () => {
    const list = chunk("LIST", Buffer.alloc(501, 1));
    expect(secondsOf(riff([chunk("JUNK", Buffer.alloc(28)), fmt(), list, chunk("data", SECOND), list, list]))).toBe(1);
  });

  test("after data of odd length follow a padding byte", () => {
    const data = chunk("data", Buffer.alloc(15_999, 1));
    const file = riff([fmt({ bits: 8 }), data, chunk("LIST", Buffer.alloc(500))]);
    expect(secondsOf(file)).toBe(15_999 / 8_000);
  });

  test("a second data chunk counts", () => {
    expect(secondsOf(riff([fmt(), chunk("data", SECOND), chunk("data", SECOND)]))).toBe(2);
  });

  test("without a fmt chunk the duration is unknown", () => {
    expect(secondsOf(riff([chunk("data", SECOND)]))).toBeUndefined();
  });
});

describe("layouts", () => {
  test.each<[string, Fmt, number]>([
    ["8 bits", { bits: 8 }, 2],
    ["24 bits, two channels", { bits: 24, channels: 2 }, 1 / 3],
    ["floating", { tag: 3, bits: 32 }, 0.5],
    ["extensible", { tag: 0xfffe, bits: 32, subFormat: 3 }, 0.5],
    ["16 valid bits of 16", { tag: 0xfffe, bits: 16, subFormat: 1, validBits: 16 }, 1],
    ["20 valid bits of 24", { tag: 0xfffe, bits: 24, subFormat: 1, validBits: 20 }, 2 / 3],
    ["24 valid bits of 32", { tag: 0xfffe, bits: 32, subFormat: 1, validBits: 24 }, 0.5],
    ["A-law", { tag: 6, bits: 8 }, 2],
    ["mu-law, whatever its header says of bits", { tag: 7, bits: 512 }, 2],
    ["ADPCM of IMA, blocks of 505 samples", { tag: 0x11, bits: 4, blockBytes: 256 }, (62 * 505) / 8_000],
    ["the same in two channels", { tag: 0x11, bits: 4, channels: 2, blockBytes: 512 }, (31 * 505) / 8_000],
    ["ADPCM of Microsoft, blocks of 500 samples", { tag: 0x02, bits: 4, blockBytes: 256 }, (62 * 500) / 8_000],
    ["GSM", { tag: 0x31, bits: 0, blockBytes: 65 }, (246 * 320) / 8_000],
  ])("STT-01 %s", (_, layout, seconds) => {
    expect(secondsOf(riff([fmt(layout), chunk("data", SECOND)]))).toBeCloseTo(seconds, 3);
  });

  test.each<[string, Fmt]>([
    ["no channels", { channels: 0 }],
    ["more channels than speech has", { channels: 9 }],
    ["no bits", { bits: 0 }],
    ["samples wider than any", { bits: 512 }],
    ["samples with fewer valid bytes", { tag: 0xfffe, bits: 64, subFormat: 1, validBits: 8 }],
    ["the same with two of three", { tag: 0xfffe, bits: 24, subFormat: 1, validBits: 16 }],
    [
      "24 valid bits of 32 in blocks of three bytes",
      { tag: 0xfffe, bits: 32, subFormat: 1, validBits: 24, blockBytes: 3 },
    ],
    ["ADPCM with fewer valid bits", { tag: 0xfffe, bits: 4, subFormat: 0x11, validBits: 2, blockBytes: 256 }],
    ["a rate that nothing has", { rateHz: 2_000_000_000 }],
    ["one that no speech has", { rateHz: 192_001 }],
    ["MP3, of which the header tells a byte rate alone", { tag: 0x55, bits: 0, bytesPerSecond: 4_000 }],
    ["G.722", { tag: 0x28f, bits: 4 }],
    ["AAC", { tag: 0xff }],
    ["ADPCM of other widths", { tag: 0x11, bits: 3, blockBytes: 256 }],
    ["ADPCM in blocks that are no more than their heads", { tag: 0x11, bits: 4, blockBytes: 3 }],
    ["GSM in blocks of another size", { tag: 0x31, bits: 0, blockBytes: 41 }],
  ])("STT-01 %s: duration is unknown", (_, layout) => {
    expect(secondsOf(riff([fmt(layout), chunk("data", SECOND)]))).toBeUndefined();
  });

  /** A header, and bytes up to the length that it tells. */
  const frames = (bytes: number, header: string) =>
    Buffer.concat(
      Array.from({ length: 20 }, () => Buffer.alloc(bytes, Buffer.from(header.padEnd(bytes * 2, "5a"), "hex"))),
    );

  test.each<[string, Buffer]>([
    ["MP3", synthesizeSpeech("mp3", 2)],
    ["AAC", synthesizeSpeech("aac", 2)],
    ["AAC in LOAS", frames(100, "56e061")],
    ["AC-3", frames(128, "0b77000000404000")],
    ["AC-3 at 44.1 kHz", frames(140, "0b77000041404000")],
    ["AC-3 with its bytes swapped", frames(128, "770b000040000040")],
    ["E-AC-3", frames(64, "0b77001f00800000")],
    ["DTS", frames(96, "7ffe8001fc3c05f0")],
    ["DTS with its bytes swapped", frames(96, "fe7f01803cfcf005")],
    ["DTS in words of 14 bits", frames(110, "1fffe80007f03c053c00")],
    ["the same with its bytes swapped", frames(110, "ff1f00e8f007053c003c")],
  ])("STT-01 %s frames declared as samples: duration is unknown", (_, coded) => {
    for (const data of [coded, Buffer.concat([Buffer.alloc(300_001), coded]), Buffer.concat([SECOND, SECOND, coded])]) {
      expect(secondsOf(riff([fmt(), chunk("data", data)]))).toBeUndefined();
      expect(secondsOf(riff([fmt(), chunk("data", data, 4)]))).toBeUndefined();
    }
  });

  test("STT-01 three coded frames at the start suffice for detection", () => {
    const frame = synthesizeSpeech("mp3", 0.024);
    const apart = Array.from({ length: 50 }, () => [frame, Buffer.alloc(1)]).flat();
    expect(secondsOf(riff([fmt(), chunk("data", Buffer.concat([frame, frame, ...apart]))]))).toBeUndefined();
    expect(secondsOf(riff([fmt(), chunk("data", Buffer.concat(apart))]))).toBeGreaterThan(0);
  });

  test.each([8, 64, 500, 8_000, 32_000])(
    "STT-01 noise with amplitude up to %i is not detected as coded frames",
    (loudness) => {
      let seed = 1;
      const noise = Buffer.alloc(1_000_000);
      for (let at = 0; at < noise.length; at += 2) {
        seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
        noise.writeInt16LE(Math.round((seed / 2 ** 31 - 1) * loudness), at);
      }
      expect(secondsOf(riff([fmt(), chunk("data", noise)]))).toBe(62.5);
    },
  );

  test("RF64 with lengths in another chunk", () => {
    const file = riff([chunk("ds64", Buffer.alloc(28)), fmt(), chunk("data", SECOND, 0xffffffff)], 0xffffffff, "RF64");
    expect(secondsOf(file)).toBe(1);
  });
});

test("other RIFF files are not WAV", () => {
  const avi = riff([fmt(), chunk("data", SECOND)]);
  avi.write("AVI ", 8, "latin1");
  expect(secondsOf(avi)).toBeUndefined();
  expect(secondsOf(Buffer.from("RIFF"))).toBeUndefined();
});
