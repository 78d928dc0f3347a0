import { describe, expect, test } from "vitest";
import { parsePcmMediaType, pcmMeter, SPEECH_PCM, wavHeader } from "./pcm.ts";
import { WavMeter } from "./wav.ts";

describe("sample rate of raw PCM", () => {
  test.each([
    ["audio/L16;codec=pcm;rate=24000", { rateHz: 24_000, channels: 1 }],
    ["audio/l16; rate=16000; channels=2", { rateHz: 16_000, channels: 2 }],
    ['audio/pcm;rate="44100"', { rateHz: 44_100, channels: 1 }],
    ["audio/pcm", SPEECH_PCM],
    ["audio/L16;rate=0", SPEECH_PCM],
    ["audio/L16;rate=99999999;channels=-1", SPEECH_PCM],
    ["audio/L16;bitrate=8000", SPEECH_PCM],
  ])("%s", (type, shape) => {
    expect(parsePcmMediaType(type)).toEqual(shape);
  });

  test.each(["audio/mpeg", "audio/wav", "text/plain; rate=24000", ""])("%s is not raw PCM", (type) => {
    expect(parsePcmMediaType(type)).toBeUndefined();
  });
});

test("whole samples are counted, and empty input is not audio", () => {
  const meter = pcmMeter({ rateHz: 16_000, channels: 2 });
  expect(meter.seconds()).toBeUndefined();
  meter.push(Buffer.alloc(64_001));
  expect(meter.seconds()).toBe(1);
  meter.push(Buffer.alloc(31_999));
  expect(meter.seconds()).toBe(1.5);
});

describe("the WAV header", () => {
  test("states the exact length when it is known", () => {
    const header = wavHeader(SPEECH_PCM, 48_000);
    expect(header.toString("hex")).toBe(
      "52494646a4bb000057415645666d7420100000000100010" + "0c05d000080bb000002001000" + "6461746180bb0000",
    );
  });

  test("uses placeholders for a stream", () => {
    const header = wavHeader({ rateHz: 44_100, channels: 2 });
    expect(header.length).toBe(44);
    expect([header.readUInt32LE(4), header.readUInt32LE(40)]).toEqual([0xffffffff, 0xffffffff]);
    expect([header.readUInt16LE(22), header.readUInt32LE(24), header.readUInt32LE(28)]).toEqual([2, 44_100, 176_400]);
  });

  test("uses placeholders for a length that does not fit", () => {
    expect(wavHeader(SPEECH_PCM, 5 * 2 ** 30).readUInt32LE(40)).toBe(0xffffffff);
  });

  test.each([undefined, 96_000, 0])("the meter reads it back (length %s)", (told) => {
    const meter = new WavMeter();
    meter.push(wavHeader(SPEECH_PCM, told));
    expect(meter.seconds()).toBe(0);
    meter.push(Buffer.alloc(96_000));
    expect(meter.seconds()).toBe(2);
  });
});
