import { describe, expect, test } from "vitest";
import { box, words } from "../../../tests/support/audio/mp4.ts";
import { encodedSample } from "../../../tests/support/audio/samples.ts";
import { Mp4Meter } from "./mp4.ts";

function secondsOf(bytes: Buffer): number | undefined {
  const meter = new Mp4Meter();
  meter.push(bytes);
  return meter.seconds();
}

type Trak = { id?: number; handler?: string; unitsPerSecond?: number; stts?: Buffer; more?: Buffer; edits?: Buffer };

const NOTHING = Buffer.alloc(0);
/** What the samples are, and how many of them have a size. */
const codec = (name: string, told: Buffer = NOTHING) => box("stsd", words(0, 1), box(name, Buffer.alloc(28), told));
const sizes = (count: number, bytes = 40) => box("stsz", words(0, bytes, count));
const descriptor = (tag: number, ...parts: Buffer[]) => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag, 0x80, 0x80, body.length]), body]);
};
/** What a decoder of AAC is told; the configuration is that of LC at 8 kHz, mono. */
const esds = (config = "1588", type = 0x40) => {
  const decoder = descriptor(4, Buffer.from([type]), Buffer.alloc(12), descriptor(5, Buffer.from(config, "hex")));
  return box("esds", words(0), descriptor(3, Buffer.alloc(3), decoder));
};
const AAC = codec("mp4a", esds());
const alac = (rateHz: number) => box("alac", words(0, 4_096), Buffer.alloc(16), words(rateHz));

/** A track of sound at 8 kHz unless told. */
function trak(told: Trak = {}): Buffer {
  const { id = 1, handler = "soun", unitsPerSecond = 8_000, stts = table([100, 1_024]), more = AAC } = told;
  const { edits = NOTHING } = told;
  const tkhd = box("tkhd", words(0, 0, 0, id));
  const mdhd = box("mdhd", words(0, 0, 0, unitsPerSecond, 999_999_999, 0));
  const hdlr = box("hdlr", words(0, 0), Buffer.from(handler, "latin1"), words(0, 0, 0));
  return box("trak", tkhd, edits, box("mdia", mdhd, hdlr, box("minf", box("stbl", more, box("stts", stts)))));
}

function table(...entries: [samples: number, units: number][]): Buffer {
  return words(0, entries.length, ...entries.flat());
}

function both(...parts: Buffer[]): Buffer {
  return Buffer.concat(parts);
}

const FTYP = box("ftyp", Buffer.from("M4A \0\0\0\0", "latin1"));
const DATA = box("mdat", Buffer.alloc(5_000));

describe("tables", () => {
  test("the sample table states the duration, not the track header", () => {
    expect(secondsOf(Buffer.concat([FTYP, box("moov", trak()), DATA]))).toBe(12.8);
  });

  test("tables after the data are read", () => {
    expect(secondsOf(Buffer.concat([FTYP, DATA, box("moov", trak())]))).toBe(12.8);
    expect(secondsOf(Buffer.concat([FTYP, DATA]))).toBeUndefined();
  });

  test("runs of different samples add up", () => {
    const stts = table([10, 1_024], [5, 1_000], [1, 260]);
    expect(secondsOf(Buffer.concat([FTYP, box("moov", trak({ stts })), DATA]))).toBe(15_500 / 8_000);
  });

  test("an entry count beyond the box does not read past it", () => {
    const stts = words(0, 1_000_000, 50, 1_024);
    expect(secondsOf(Buffer.concat([FTYP, box("moov", trak({ stts })), DATA]))).toBe(6.4);
  });

  test("bytes after the table are skipped", () => {
    const stts = words(0, 1, 50, 1_024, 7, 7, 7);
    const moov = box("moov", trak({ stts }), trak({ id: 2, stts: table([60, 1_024]) }));
    expect(secondsOf(Buffer.concat([FTYP, moov, DATA]))).toBe(7.68);
  });

  test("video tracks are not audio", () => {
    const video = trak({ handler: "vide", stts: table([4_000, 1_024]) });
    expect(secondsOf(Buffer.concat([FTYP, box("moov", video, trak({ id: 2 })), DATA]))).toBe(12.8);
    expect(secondsOf(Buffer.concat([FTYP, box("moov", video), DATA]))).toBeUndefined();
  });
});

describe("forged files", () => {
  test("STT-01 too many tracks: duration is unknown", () => {
    const beside = (count: number) => Array.from({ length: count }, (_, id) => trak({ id: id + 1 }));
    expect(secondsOf(Buffer.concat([FTYP, box("moov", ...beside(16)), DATA]))).toBe(12.8);
    expect(secondsOf(Buffer.concat([FTYP, box("moov", ...beside(17)), DATA]))).toBeUndefined();
  });

  test.each([
    ["more samples than the file has bytes", { stts: table([4_000_000_000, 1_024]) }],
    ["samples that last for hours", { stts: table([10, 4_000_000_000]) }],
    ["no units at all", { unitsPerSecond: 0 }],
    ["a clock that runs a thousand times too fast", { unitsPerSecond: 8_000_000 }],
    ["one that is a little faster than its codec", { unitsPerSecond: 9_000 }],
    ["one that leaves room for less than all blocks of E-AC-3", { unitsPerSecond: 48_000, more: codec("ec-3") }],
    ["the same with frames without loss", { unitsPerSecond: 64_000, more: codec("alac", alac(8_000)) }],
    ["more samples with a size than with a time", { stts: table([1, 1_024]), more: both(AAC, sizes(100)) }],
    ["samples so large that there are several in one", { more: both(AAC, sizes(100, 1_537)) }],
    [
      "the same, each with its size",
      { stts: table([2, 1_024]), more: both(AAC, box("stsz", words(0, 0, 2, 9, 9_999))) },
    ],
    ["the same in another table", { more: both(AAC, box("stz2", words(0, 16, 100))) }],
    ["AAC that does not say at which rate", { more: codec("mp4a") }],
    ["AAC that is of another length", { more: codec("mp4a", esds("bd88")) }],
    ["two rates of AAC", { more: codec("mp4a", both(esds("1008"), esds())) }],
    ["one of them in room that is free", { more: codec("mp4a", both(box("free", esds("1008")), esds())) }],
    [
      "one of them behind much of that",
      { more: codec("mp4a", both(esds("1008"), box("free", Buffer.alloc(4_096)), esds())) },
    ],
    ["a rate that stands only in free room", { more: codec("mp4a", box("free", esds())) }],
    ["what a decoder is told, cut off", { more: codec("mp4a", both(esds(), words(99, 0))) }],
    ["two rates without loss", { more: codec("alac", both(box("free", alac(64_000)), alac(8_000))) }],
    ["MP3 that calls itself AAC", { more: codec("mp4a", esds("1588", 0x6b)) }],
    ["frames without loss that do not say how long they are", { more: codec("alac") }],
    ["plain samples, whose clock is all there is", { more: codec("sowt") }],
    ["the same in mu-law", { more: codec("ulaw") }],
    ["FLAC", { more: codec("fLaC") }],
    ["packets of Opus, each of any length up to 120 ms", { more: codec("Opus") }],
    ["no codec at all", { more: NOTHING }],
    ["two codecs", { more: box("stsd", words(0, 2), box("mp4a", Buffer.alloc(28), esds()), box("mp4a")) }],
  ])("STT-01 %s: duration is unknown", (_, told) => {
    expect(secondsOf(Buffer.concat([FTYP, box("moov", trak(told)), DATA]))).toBeUndefined();
  });

  test("a plausible codec and sizes are accepted", () => {
    const lasts = (more: Buffer, unitsPerSecond = 8_000) =>
      secondsOf(Buffer.concat([FTYP, box("moov", trak({ more, unitsPerSecond })), DATA]));
    expect(lasts(both(AAC, sizes(100)))).toBe(12.8);
    expect(lasts(codec("mp4a", esds("1188")), 48_000)).toBeCloseTo(2.13);
    expect(lasts(codec("alac", alac(32_000)))).toBe(12.8);
    expect(lasts(codec("ec-3"), 32_000)).toBe(3.2);
  });

  test("the decoder config is found behind other boxes and in QuickTime's wave box", () => {
    const lasts = (more: Buffer) => secondsOf(Buffer.concat([FTYP, box("moov", trak({ more })), DATA]));
    expect(lasts(codec("mp4a", both(box("btrt", Buffer.alloc(12)), esds(), Buffer.alloc(4))))).toBe(12.8);
    expect(lasts(codec("mp4a", both(box("chan", Buffer.alloc(400)), esds())))).toBe(12.8);
    const told = (name: string, inner: Buffer) => {
      const fields = Buffer.alloc(44);
      fields.writeUInt16BE(1, 8);
      const wave = box("wave", box("frma", Buffer.from(name)), box(name, words(0)), inner, words(8, 0));
      return box("stsd", words(0, 1), box(name, fields, wave));
    };
    expect(lasts(told("mp4a", esds()))).toBe(12.8);
    expect(lasts(told("mp4a", both(esds(), esds("1008"))))).toBeUndefined();
  });

  test("one implausible track makes the duration unknown", () => {
    const fast = trak({ id: 2, unitsPerSecond: 8_000_000 });
    expect(secondsOf(Buffer.concat([FTYP, box("moov", trak(), fast), DATA]))).toBeUndefined();
  });

  test("a box shorter than its header ends parsing", () => {
    expect(secondsOf(Buffer.concat([FTYP, box("moov", trak()), words(3), DATA]))).toBe(12.8);
  });

  test("an unknown first box is not MP4", () => {
    expect(secondsOf(Buffer.concat([box("abcd"), FTYP, box("moov", trak()), DATA]))).toBeUndefined();
  });
});

describe("edit lists", () => {
  const EMPTY = 0xffffffff;
  const ONCE = 0x10000;
  const short = (...entries: [lasts: number, from: number][]) =>
    box("edts", box("elst", words(0, entries.length, ...entries.flatMap((entry) => [...entry, ONCE]))));
  const long = (...entries: [lasts: number, from: number][]) => {
    const wide = entries.flatMap(([lasts, from]) => [0, lasts, from === EMPTY ? EMPTY : 0, from, ONCE]);
    return box("edts", box("elst", words(0x01000000, entries.length, ...wide)));
  };
  const mvhd = box("mvhd", words(0, 0, 0, 1_000, 0));
  const lasts = (edits: Buffer) => secondsOf(Buffer.concat([FTYP, box("moov", mvhd, trak({ edits })), DATA]));

  test("STT-01 an initial pause and one full edit change nothing", () => {
    for (const edits of [short, long]) {
      expect(lasts(edits([12_800, 0]))).toBe(12.8);
      expect(lasts(edits([2_000, EMPTY], [12_672, 1_024]))).toBe(12.8);
      expect(lasts(edits([0, 1_024]))).toBe(12.8);
    }
  });

  test("STT-01 with disjoint edits the full media counts", () => {
    for (const edits of [short, long]) {
      expect(lasts(edits([4_000, 0], [6_000, 54_400]))).toBe(12.8);
      expect(lasts(edits([6_000, 54_400], [4_000, 0]))).toBe(12.8);
      expect(lasts(edits([6_401, 0], [6_399, 51_200]))).toBe(12.8);
      expect(lasts(edits([4_000, 0], [6_000, 31_000]))).toBeUndefined();
      expect(lasts(edits([12_000, 0], [1_000, 96_000]))).toBeUndefined();
      expect(lasts(edits([4_000, 0], [0, 54_400]))).toBeUndefined();
      const many = (count: number) =>
        edits(...Array.from({ length: count }, (_, i) => [10, i * 160] as [number, number]));
      expect(lasts(many(256))).toBe(12.8);
      expect(lasts(many(257))).toBeUndefined();
    }
  });

  test("STT-01 edits may exceed the media by rounding, up to the tolerance", () => {
    const parts = (unitsPerSecond: number, stts: Buffer, ...entries: [lasts: number, from: number][]) => {
      const movie = box("mvhd", words(0, 0, 0, unitsPerSecond, 0));
      return secondsOf(Buffer.concat([FTYP, box("moov", movie, trak({ stts, edits: short(...entries) })), DATA]));
    };
    const stts = table([79, 1_024]);
    expect(parts(600, stts, [3_000, 0], [3_067, 40_000])).toBe(10.112);
    expect(parts(600, stts, [3_000, 0], [3_069, 40_000])).toBe(10.112);
    expect(parts(600, stts, [3_000, 0], [3_070, 40_000])).toBeUndefined();
    const again = Array.from({ length: 100 }, (): [number, number] => [1, 0]);
    expect(parts(1, stts, ...again)).toBeUndefined();
  });

  test("STT-01 edits that repeat or exceed the media: duration is unknown", () => {
    for (const edits of [short, long]) {
      expect(lasts(edits([12_800, 0], [12_800, 0]))).toBeUndefined();
      expect(lasts(edits([60_000, 0]))).toBeUndefined();
    }
    expect(lasts(Buffer.concat([short([12_800, 0]), short([12_800, 0])]))).toBeUndefined();
  });
});

describe("fragments", () => {
  const empty = { stts: table() };
  const moov = (more: Buffer) => Buffer.concat([FTYP, box("moov", trak(empty), more)]);
  const mvex = box("mvex", box("trex", words(0, 1, 1, 1_024, 0, 0)));
  const fragment = (tfhd: Buffer, ...truns: Buffer[]) =>
    Buffer.concat([box("moof", box("mfhd", words(0, 1)), box("traf", box("tfhd", tfhd), ...truns)), DATA]);

  test("use the file's default duration", () => {
    const one = fragment(words(0, 1), box("trun", words(0, 50)));
    expect(secondsOf(Buffer.concat([moov(mvex), one, one]))).toBe(12.8);
  });

  test("use the fragment's default duration", () => {
    const one = fragment(words(0x0b, 1, 0, 0, 1, 2_048), box("trun", words(0x201, 50, 0), Buffer.alloc(200)));
    expect(secondsOf(Buffer.concat([moov(mvex), one]))).toBe(12.8);
  });

  test("use each sample's duration", () => {
    const one = fragment(words(0, 1), box("trun", words(0x301, 2, 0, 1_024, 7, 1_376, 7)));
    expect(secondsOf(Buffer.concat([moov(mvex), one]))).toBe(0.3);
  });

  test("of another track are not counted", () => {
    const one = fragment(words(0, 9), box("trun", words(0, 50)));
    expect(secondsOf(Buffer.concat([moov(mvex), one]))).toBe(0);
  });

  test.each([
    ["the file's default", words(0, 1), words(0, 2), 9_999],
    ["the fragment's", words(0x18, 1, 1_024, 9_999), words(0, 2), 0],
    ["the sample's", words(0, 1), words(0x200, 2, 9, 9_999), 0],
    ["the sample's, behind its time", words(0, 1), words(0x300, 2, 1_024, 9, 1_024, 9_999), 0],
  ])("STT-01 with samples too large by %s are rejected", (_, tfhd, trun, bytes) => {
    const told = box("mvex", box("trex", words(0, 1, 1, 1_024, bytes, 0)));
    expect(secondsOf(Buffer.concat([moov(told), fragment(tfhd, box("trun", trun))]))).toBeUndefined();
  });

  test("with more samples than bytes are rejected", () => {
    const one = fragment(words(0, 1), box("trun", words(0, 4_000_000_000)));
    expect(secondsOf(Buffer.concat([moov(mvex), one]))).toBeUndefined();
  });
});

test("tables before or after the data give the same duration", () => {
  expect(secondsOf(encodedSample("moov-first.m4a"))).toBe(secondsOf(encodedSample("moov-last.m4a")));
});
