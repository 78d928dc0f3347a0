import { describe, expect, test } from "vitest";
import { encodedSample } from "../../../tests/support/audio/samples.ts";
import { silentOpus } from "../../sandbox/audio/opus.ts";
import { OggMeter } from "./ogg.ts";
import { opusPacketSamples } from "./opus.ts";

const FIRST = 2;
const LAST = 4;
const CONTINUED = 1;
const PACKET = Buffer.from([0xf8, 0xff, 0xfe]);

function secondsOf(...parts: Buffer[]): number | undefined {
  const meter = new OggMeter();
  meter.push(Buffer.concat(parts));
  return meter.seconds();
}

type Page = { flags?: number; granule?: bigint; serial?: number; laces?: number[] };

function page(body: Buffer, { flags = 0, granule = 0n, serial = 1, laces = [body.length] }: Page = {}): Buffer {
  const header = Buffer.alloc(27 + laces.length);
  header.write("OggS", 0, "latin1");
  header.writeUInt8(flags, 5);
  header.writeBigInt64LE(granule, 6);
  header.writeUInt32LE(serial, 14);
  header.writeUInt8(laces.length, 26);
  header.set(laces, 27);
  return Buffer.concat([header, body]);
}

function opening(serial = 1, preSkip = 0): Buffer {
  const head = Buffer.alloc(19);
  head.write("OpusHead\x01\x01", 0, "latin1");
  head.writeUInt16LE(preSkip, 10);
  return page(head, { flags: FIRST, serial });
}

function heads(serial = 1, preSkip = 0): Buffer {
  return Buffer.concat([opening(serial, preSkip), page(Buffer.from("OpusTags\0\0\0\0\0\0\0\0", "latin1"), { serial })]);
}

/** Packets of 20 ms. */
function audio(count: number, more: Page = {}): Buffer {
  return page(Buffer.alloc(count * 3, PACKET), { laces: Array<number>(count).fill(3), ...more });
}

describe("Opus packets", () => {
  test.each([
    ["20 ms at full band", "f8", 960],
    ["2.5 ms", "e0", 120],
    ["60 ms of speech", "18", 2_880],
    ["10 ms of both", "60", 480],
    ["two frames", "f9", 1_920],
    ["two frames of unlike size", "fa", 1_920],
    ["six frames told in the second byte", "fb06", 5_760],
    ["more than a packet may have", "fb07", 0],
    ["none at all", "fb00", 0],
    ["a second byte that is missing", "fb", 0],
    ["an empty packet", "", 0],
  ])("%s", (_, head, samples) => {
    expect(opusPacketSamples(Buffer.from(head, "hex"))).toBe(samples);
  });
});

describe("positions", () => {
  test("pre-skip samples are not counted", () => {
    expect(secondsOf(heads(1, 480), audio(50, { granule: 48_000n }))).toBe(0.99);
    expect(secondsOf(heads(1, 65_535), audio(50, { granule: 48_000n }))).toBe(0);
  });

  test("the last page's position ends the audio", () => {
    expect(secondsOf(heads(), audio(50, { granule: 48_000n }), audio(50, { granule: 72_000n, flags: LAST }))).toBe(1.5);
    expect(secondsOf(heads(), audio(50, { granule: 24_000n, flags: LAST }))).toBe(0.5);
  });

  test("the last page's position counts even without a packet", () => {
    const close = page(Buffer.alloc(0), { granule: 84_000n, flags: LAST, laces: [] });
    expect(secondsOf(heads(), audio(50, { granule: 48_000n }), audio(50, { granule: 96_000n }), close)).toBe(1.75);
  });

  test("a stream recorded midway does not start at zero", () => {
    const pages = [audio(50, { granule: 9_048_000n }), audio(50, { granule: 9_072_000n, flags: LAST })];
    expect(secondsOf(heads(), ...pages)).toBe(1.5);
  });

  test.each([0n, 1n, 2n ** 62n, -1n, -(2n ** 63n)])("an impossible position of %s is ignored", (granule) => {
    const pages = [
      audio(50, { granule: 48_000n }),
      audio(50, { granule: 96_000n }),
      audio(50, { granule, flags: LAST }),
    ];
    expect(secondsOf(heads(), ...pages)).toBe(3);
    expect(secondsOf(heads(), audio(50, { granule }), audio(50, { granule }))).toBe(2);
  });

  test("a last-page flag is ignored when more pages follow", () => {
    expect(secondsOf(heads(), audio(50, { granule: 1n, flags: LAST }), audio(50, { granule: 2n }))).toBe(2);
  });
});

describe("STT-01 samples outside the played range of chained streams", () => {
  const links = (count: number, preSkip: number, granule: bigint) =>
    Array.from({ length: count }, (_, serial) =>
      Buffer.concat([heads(serial, preSkip), audio(50, { serial, granule, flags: LAST })]),
    );

  test("are not counted in the amount that encoders produce", () => {
    expect(secondsOf(...links(30, 312, 48_000n))).toBeCloseTo(30 * (1 - 312 / 48_000), 9);
  });

  test.each([
    ["by what comes before their start", 65_535, 48_000n],
    ["by a little of that in each", 3_840, 48_000n],
    ["by where they end", 0, 0n],
  ])("%s: duration is unknown", (_, preSkip, granule) => {
    expect(secondsOf(...links(30, preSkip, granule))).toBeUndefined();
  });
});

describe("structure", () => {
  test("chained streams add up, even with equal serial numbers", () => {
    expect(secondsOf(silentOpus(1.5), silentOpus(2.25), silentOpus(0.5))).toBe(4.25);
  });

  test("an empty stream does not hide the next", () => {
    expect(secondsOf(heads(1), heads(2), audio(50, { serial: 2 }))).toBe(1);
  });

  const tags = (serial: number) => page(Buffer.from("OpusTags"), { serial });

  test("STT-01 the longest of concurrent streams is measured", () => {
    const beside = [opening(1), opening(2), tags(1), tags(2)];
    const [long, short] = [audio(50, { serial: 2 }), audio(25)];
    expect(secondsOf(...beside, short, long, short, long)).toBe(2);
    expect(secondsOf(...beside, short, long, short, long, heads(3), audio(50, { serial: 3 }))).toBe(3);
  });

  test("STT-01 video streams are ignored; an unknown stream makes the duration unknown", () => {
    const beside = (first: string) => [
      page(Buffer.from(first, "latin1"), { flags: FIRST, serial: 7 }),
      heads(),
      audio(50),
      page(Buffer.alloc(200), { serial: 7 }),
    ];
    expect(secondsOf(...beside("\x80theora\x03"))).toBe(1);
    expect(secondsOf(...beside("fishead\0"))).toBe(1);
    expect(secondsOf(...beside("Speex   1.2"))).toBeUndefined();
  });

  test("STT-01 a stream that continues after its end, never opens or opens twice is not measured", () => {
    expect(secondsOf(heads(1), audio(1), heads(2), audio(1, { serial: 2 }), audio(50))).toBeUndefined();
    expect(secondsOf(heads(1), audio(1), audio(50, { serial: 2 }))).toBeUndefined();
    expect(secondsOf(opening(1), opening(1), tags(1), audio(50))).toBeUndefined();
  });

  test("STT-01 too many concurrent streams are not measured", () => {
    const beside = (count: number) => [
      ...Array.from({ length: count }, (_, serial) => opening(serial)),
      ...Array.from({ length: count }, (_, serial) => audio(2, { serial })),
    ];
    expect(secondsOf(...beside(16))).toBe(0.02);
    expect(secondsOf(...beside(17))).toBeUndefined();
  });

  test("a packet that spans two pages counts once", () => {
    const long = Buffer.alloc(300, 0);
    long.writeUInt8(0xf8, 0);
    const begun = page(long.subarray(0, 255), { laces: [255], granule: -1n });
    const ended = page(long.subarray(255), { laces: [45], flags: CONTINUED });
    expect(secondsOf(heads(), begun)).toBe(0);
    expect(secondsOf(heads(), begun, ended)).toBe(0.02);
    expect(secondsOf(heads(), begun, audio(1))).toBe(0.02);
    expect(secondsOf(heads(), ended, audio(1))).toBe(0.02);
  });

  test("an empty lacing value ends a packet of 255 bytes, even on the next page", () => {
    const full = Buffer.alloc(255, 0xf8);
    expect(secondsOf(heads(), page(full, { laces: [255, 0] }))).toBe(0.02);
    const close = page(Buffer.alloc(0), { laces: [0], flags: CONTINUED });
    expect(secondsOf(heads(), page(full, { laces: [255] }), close, audio(1))).toBe(0.04);
  });

  test("garbage between pages is skipped", () => {
    const garbage = Buffer.from("OggOggSOggS\x01junkOggS\0\x09", "latin1");
    expect(secondsOf(heads(), garbage, audio(50), garbage, audio(50))).toBe(2);
  });

  test("an incomplete packet does not count", () => {
    const bytes = Buffer.concat([heads(), audio(50)]);
    expect(secondsOf(bytes.subarray(0, -1))).toBeCloseTo(0.98, 9);
    expect(secondsOf(bytes.subarray(0, -3))).toBeCloseTo(0.98, 9);
  });

  test("other Ogg contents have an unknown duration", () => {
    expect(secondsOf(page(Buffer.from("Speex   1.2"), { flags: FIRST }), audio(50))).toBeUndefined();
    expect(secondsOf(audio(50))).toBeUndefined();
  });
});

describe("Vorbis", () => {
  const real = encodedSample("speech.ogg");
  const pages = (): { at: number; granule: bigint }[] => {
    const found = [];
    for (let at = real.indexOf("OggS"); at >= 0; at = real.indexOf("OggS", at + 1)) {
      found.push({ at, granule: real.readBigInt64LE(at + 6) });
    }
    return found;
  };

  test("the last position states the duration", () => {
    expect(secondsOf(real)).toBe(Number(pages().at(-1)?.granule) / 8_000);
  });

  test.each([0n, 10n, 2n ** 50n])("a last position of %s is limited by the packets", (granule) => {
    const lying = Buffer.from(real);
    for (const { at, granule: was } of pages()) if (was > 0n) lying.writeBigInt64LE(granule, at + 6);
    const seconds = secondsOf(lying) ?? 0;
    expect(seconds).toBeGreaterThan(0.1);
    expect(seconds).toBeLessThan(3);
  });

  test("STT-01 positions that imply too many short blocks are rejected", () => {
    const first = Buffer.alloc(30);
    first.write("\x01vorbis", 0, "latin1");
    first.writeUInt32LE(16_000, 12);
    first.writeUInt8(0xb8, 28);
    const file = (samplesEach: number) => [
      page(first, { flags: FIRST }),
      page(Buffer.alloc(40), { laces: [20, 20] }),
      ...Array.from({ length: 20 }, (_, index) =>
        page(Buffer.alloc(250), { granule: BigInt((index + 1) * 50 * samplesEach), laces: Array<number>(50).fill(5) }),
      ),
    ];
    expect(secondsOf(...file(1_024))).toBe(64);
    expect(secondsOf(...file(700))).toBe(43.75);
    expect(secondsOf(...file(510))).toBe(31.875);
    expect(secondsOf(...file(400))).toBeUndefined();
    expect(secondsOf(...file(128))).toBeUndefined();
  });
});
