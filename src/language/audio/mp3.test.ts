import { describe, expect, test } from "vitest";
import { encodedSample } from "../../../tests/support/audio/samples.ts";
import { silentAac, silentMp3 } from "../../sandbox/audio/speech.ts";
import { adtsMeter } from "./adts.ts";
import { mp3Meter, mpegFrameAt } from "./mp3.ts";

function secondsOf(bytes: Buffer, meter = mp3Meter()): number | undefined {
  meter.push(bytes);
  return meter.seconds();
}

/** The frames of a file without what stands around them. */
function frames(file: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = file.indexOf(0xff); at >= 0 && at + 4 <= file.length; ) {
    const frame = mpegFrameAt(file, at);
    if (frame === undefined) break;
    found.push(file.subarray(at, at + frame.bytes));
    at += frame.bytes;
  }
  return found;
}

/** An ID3v2 tag that says it is as long as told. */
function tag(bytes: number, told = bytes): Buffer {
  const header = Buffer.from([
    0x49,
    0x44,
    0x33,
    4,
    0,
    0,
    (told >> 21) & 127,
    (told >> 14) & 127,
    (told >> 7) & 127,
    told & 127,
  ]);
  return Buffer.concat([header, Buffer.alloc(bytes, 0xff)]);
}

/** 24 ms each. */
const FRAME = silentMp3(0.024);
const TEN = silentMp3(0.24);

describe("headers", () => {
  test.each([
    ["MPEG 1 layer III, 128 kbit/s, 44.1 kHz", "fffb9064", 417, 1_152, 44_100],
    ["the same with padding", "fffb9264", 418, 1_152, 44_100],
    ["MPEG 1 layer III, 320 kbit/s, 48 kHz", "fffbe464", 960, 1_152, 48_000],
    ["MPEG 2 layer III, 32 kbit/s, 24 kHz", "fff344c4", 96, 576, 24_000],
    ["MPEG 2.5 layer III, 8 kbit/s, 8 kHz", "ffe318c4", 72, 576, 8_000],
    ["MPEG 1 layer II, 192 kbit/s, 48 kHz", "fffda404", 576, 1_152, 48_000],
    ["MPEG 1 layer I, 384 kbit/s, 44.1 kHz, padding", "ffffc200", 420, 384, 44_100],
  ])("%s", (_, header, bytes, samples, rateHz) => {
    expect(mpegFrameAt(Buffer.from(header, "hex"), 0)).toMatchObject({ bytes, samples, rateHz });
  });

  test.each([
    ["no sync", "7ffb9064"],
    ["a reserved version", "ffeb9064"],
    ["a reserved layer", "fff99064"],
    ["a free bit rate", "fffb0064"],
    ["a bad bit rate", "fffbf064"],
    ["a reserved rate", "fffb9c64"],
    ["a reserved emphasis", "fffb9066"],
  ])("%s is not a header", (_, header) => {
    expect(mpegFrameAt(Buffer.from(header, "hex"), 0)).toBeUndefined();
  });
});

describe("data that is not audio", () => {
  test("a Xing, Info or VBRI frame is not counted, whatever it states", () => {
    const real = encodedSample("xing-id3.mp3");
    const [note, ...audio] = frames(real.subarray(real.indexOf(Buffer.from([0xff, 0xe3]))));
    expect(note?.includes("Info") === true || note?.includes("Xing") === true).toBe(true);
    expect(secondsOf(real)).toBe((audio.length * 576) / 8_000);
    const lying = Buffer.from(real);
    lying.writeUInt32BE(0xffffff, lying.indexOf(note?.includes("Info") === true ? "Info" : "Xing") + 8);
    expect(secondsOf(lying)).toBe(secondsOf(real));
  });

  test("an info frame that is not first counts as audio, as in decoders", () => {
    const noted = Buffer.from(FRAME);
    noted.write("Xing", 4 + 9, "latin1");
    expect(secondsOf(Buffer.concat([TEN, noted, noted, TEN]))).toBeCloseTo(0.528, 9);
    expect(secondsOf(Buffer.concat([noted, TEN]))).toBe(0.24);
  });

  test.each(["TAG", "APETAGEX"])("a trailing %s", (name) => {
    const trailer = Buffer.alloc(128, 0x20);
    trailer.write(name, 0, "latin1");
    expect(secondsOf(Buffer.concat([TEN, trailer]))).toBe(0.24);
  });

  test("one or several leading tags", () => {
    expect(secondsOf(Buffer.concat([tag(300), tag(77), TEN]))).toBe(0.24);
  });

  test("a tag that states too short a length", () => {
    expect(secondsOf(Buffer.concat([tag(300, 20), TEN]))).toBe(0.24);
  });

  test("a tag between frames hides no later frames, whatever length it states", () => {
    expect(secondsOf(Buffer.concat([TEN, tag(0, 2 ** 27), TEN]))).toBe(0.48);
  });
});

describe("damage", () => {
  test("garbage between frames, also with sync words in it", () => {
    const garbage = Buffer.from("fffb9064fffb90fffffffff344c400112233", "hex");
    expect(secondsOf(Buffer.concat([garbage, TEN, garbage, TEN, garbage]))).toBe(0.48);
  });

  test("an incomplete frame does not count", () => {
    expect(secondsOf(TEN.subarray(0, TEN.length - 1))).toBe(0.216);
    expect(secondsOf(TEN.subarray(0, TEN.length - 95))).toBe(0.216);
  });

  test("a single frame", () => {
    expect(secondsOf(FRAME)).toBe(0.024);
    expect(secondsOf(FRAME.subarray(0, 50))).toBeUndefined();
  });

  test("a change of sample rate within the file", () => {
    const [, ...other] = frames(encodedSample("stereo.mp3"));
    expect(secondsOf(Buffer.concat([TEN, ...other]))).toBeCloseTo(0.24 + (other.length * 1_152) / 48_000, 9);
  });
});

describe("STT-01 skipped frames", () => {
  const frame = (header: string) => {
    const bytes = Buffer.alloc(mpegFrameAt(Buffer.from(header, "hex"), 0)?.bytes ?? 100, 0x11);
    bytes.write(header, "hex");
    return bytes;
  };
  const times = (count: number, ...some: Buffer[]) => Buffer.concat(Array.from({ length: count }, () => some).flat());
  /** 5.2 s in more bytes than all that follows. */
  const FAT = times(200, frame("fffbe0c4"));

  test.each([
    ["of which no two in a row are alike", times(400, frame("fff314c4"), frame("fff318c4"))],
    ["with a byte between them", times(400, frame("fff314c4"), Buffer.alloc(1))],
    ["of a free bit rate", times(400, frame("fffb00c4"))],
  ])("%s may be played: duration is unknown", (_, frames) => {
    expect(frames.length).toBeLessThan(FAT.length);
    expect(secondsOf(Buffer.concat([FAT, frames]))).toBeUndefined();
  });

  test("an image in a trailing tag or between concatenated files is not audio", () => {
    const picture = Buffer.from(Array.from({ length: 60_000 }, (_, at) => (at * at * 31 + at * 7) >>> 5));
    const closing = Buffer.concat([Buffer.from("APETAGEX"), picture]);
    const seconds = secondsOf(FAT) ?? 0;
    expect(secondsOf(Buffer.concat([FAT, closing]))).toBe(seconds);
    expect(secondsOf(Buffer.concat([FAT, tag(300), picture, FAT]))).toBeCloseTo(2 * seconds, 9);
  });
});

describe("ADTS", () => {
  test("counts complete frames only", () => {
    const bytes = silentAac(1.024);
    expect(secondsOf(bytes, adtsMeter())).toBe(1.024);
    expect(secondsOf(bytes.subarray(0, -1), adtsMeter())).toBeCloseTo(1.024 - 1_024 / 24_000, 9);
    expect(secondsOf(Buffer.concat([tag(99), bytes, Buffer.from("fff150"), bytes]), adtsMeter())).toBeCloseTo(2.048, 9);
  });

  test("ADTS and MPEG audio are not confused", () => {
    expect(secondsOf(silentAac(1))).toBeUndefined();
    expect(secondsOf(silentMp3(1), adtsMeter())).toBeUndefined();
  });
});
