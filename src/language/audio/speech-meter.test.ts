import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodedSample, encodedSamples } from "../../../tests/support/audio/samples.ts";
import { loadExchange } from "../../../tests/support/replay.ts";
import { synthesizeSpeech } from "../../sandbox/audio/speech.ts";
import { adtsMeter } from "./adts.ts";
import { fileMeter } from "./file-meter.ts";
import { FlacMeter } from "./flac.ts";
import { type AudioMeter, billedSeconds } from "./meter.ts";
import { mp3Meter } from "./mp3.ts";
import { Mp4Meter } from "./mp4.ts";
import { OggMeter } from "./ogg.ts";
import { parsePcmMediaType, pcmMeter, SPEECH_PCM } from "./pcm.ts";
import { speechMeter } from "./speech-meter.ts";
import { WavMeter } from "./wav.ts";
import { WebmMeter } from "./webm.ts";

const METERS: readonly (readonly [string, () => AudioMeter])[] = [
  ["mp3", mp3Meter],
  ["adts", adtsMeter],
  ["ogg", () => new OggMeter()],
  ["flac", () => new FlacMeter()],
  ["wav", () => new WavMeter()],
  ["mp4", () => new Mp4Meter()],
  ["webm", () => new WebmMeter()],
  ["pcm", () => pcmMeter(SPEECH_PCM)],
  ["file", fileMeter],
];

const FILES: readonly (readonly [string, Buffer])[] = [
  ...encodedSamples().map(({ name, bytes }) => [name, bytes] as const),
  ...(["mp3", "opus", "aac", "flac", "wav"] as const).map(
    (format) => [`sandbox.${format}`, synthesizeSpeech(format, 1.3)] as const,
  ),
];

/** Encoders put silence in front and round up to whole frames; decoders that read their notes cut it off again. */
const ENCODER_DELAY_SECONDS = 0.22;

function secondsOf(bytes: Buffer, meter: AudioMeter = fileMeter()): number | undefined {
  meter.push(bytes);
  return meter.seconds();
}

function inPieces(bytes: Buffer, cuts: readonly number[], meter: AudioMeter = fileMeter()): number | undefined {
  let from = 0;
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    meter.push(bytes.subarray(from, cut));
    from = cut;
  }
  meter.push(bytes.subarray(from));
  return meter.seconds();
}

describe("files of real encoders", () => {
  test.each(encodedSamples())("$name has the duration that a decoder reports", ({ bytes, decodedSeconds }) => {
    expect(Math.abs((secondsOf(bytes) ?? 0) - decodedSeconds)).toBeLessThan(ENCODER_DELAY_SECONDS);
  });

  test.each([
    ["speech.opus", 1.3],
    ["long-packets.opus", 1.3],
    ["speech.ogg", 1.3],
    ["flac.ogg", 0.6],
    ["streamed.flac", 0.6],
    ["piped-list.wav", 0.1],
    ["float-extensible.wav", 0.05],
    ["stereo.mp3", 1.344],
    ["layer2.mp2", 1.332],
    ["adts.aac", 1.536],
  ])("%s is exact to the sample", (name, seconds) => {
    expect(secondsOf(encodedSample(name))).toBe(seconds);
  });
});

describe("any split", () => {
  test.each(FILES)("%s byte by byte", (_, bytes) => {
    const meter: AudioMeter = fileMeter();
    for (let at = 0; at < bytes.length; at++) meter.push(bytes.subarray(at, at + 1));
    expect(meter.seconds()).toBe(secondsOf(bytes));
  });

  test.each(FILES)("%s in random chunks", (_, bytes) => {
    const whole = secondsOf(bytes);
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), (cuts) => {
        expect(inPieces(bytes, cuts)).toBe(whole);
      }),
      { numRuns: 30 },
    );
  });

  test.each(METERS)("%s: the result for damaged files does not depend on the split", (_, make) => {
    fc.assert(
      fc.property(damaged(), fc.array(fc.nat(6_000), { maxLength: 8 }), (bytes, cuts) => {
        const inside = cuts.map((cut) => Math.min(cut, bytes.length));
        expect(inPieces(bytes, inside, make())).toBe(secondsOf(bytes, make()));
      }),
      { numRuns: 60 },
    );
  });
});

/** Files of any kind with bytes changed, cut out, doubled or put in. */
function damaged(): fc.Arbitrary<Buffer> {
  const small = FILES.filter(([, bytes]) => bytes.length < 7_000).map(([, bytes]) => bytes);
  const damage = fc.record({
    at: fc.nat(6_000),
    drop: fc.nat(40),
    put: fc.uint8Array({ maxLength: 24 }),
  });
  return fc
    .tuple(fc.constantFrom(...small), fc.array(damage, { minLength: 1, maxLength: 6 }))
    .map(([file, damages]) =>
      damages.reduce(
        (bytes, { at, drop, put }) => Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + drop)]),
        file,
      ),
    );
}

describe("hostile bytes", () => {
  test.each(METERS)("%s never throws and returns a duration or undefined", (_, make) => {
    fc.assert(
      fc.property(
        fc.oneof(
          damaged(),
          fc.uint8Array({ maxLength: 3_000 }).map((bytes) => Buffer.from(bytes)),
        ),
        (bytes) => {
          const seconds = secondsOf(bytes, make());
          expect(seconds === undefined || (Number.isFinite(seconds) && seconds >= 0)).toBe(true);
        },
      ),
      { numRuns: 200 },
    );
  });

  const SPITEFUL: readonly (readonly [string, Buffer])[] = [
    ["sync marks only", Buffer.alloc(4_000_000, 0xff)],
    ["headers of MPEG only", Buffer.alloc(4_000_000, Buffer.from("fffbe864", "hex"))],
    ["headers of ADTS only", Buffer.alloc(4_000_000, Buffer.from("fff15043fffffc", "hex"))],
    [
      "empty pages of Ogg",
      Buffer.concat([synthesizeSpeech("opus", 0.5).subarray(0, 90), Buffer.alloc(4_000_000, "OggS")]),
    ],
    [
      "headers of FLAC only",
      Buffer.concat([Buffer.from("fLaC"), Buffer.alloc(4_000_000, Buffer.from("fff8c91800", "hex"))]),
    ],
    ["empty chunks of WAV", Buffer.concat([Buffer.from("RIFF\0\0\0\0WAVE"), Buffer.alloc(4_000_000, "LIST\0\0\0\0")])],
    ["empty boxes", Buffer.concat([Buffer.from("\0\0\0\x08ftyp"), Buffer.alloc(4_000_000, "\0\0\0\x08trak")])],
    [
      "empty elements",
      Buffer.concat([Buffer.from("1a45dfa380", "hex"), Buffer.alloc(4_000_000, Buffer.from("ae80", "hex"))]),
    ],
    ["zeros", Buffer.alloc(4_000_000)],
  ];

  test.each(SPITEFUL)("%s are read to the end by every meter", (_, bytes) => {
    for (const [, make] of METERS) {
      const seconds = secondsOf(bytes, make());
      expect(seconds === undefined || Number.isFinite(seconds)).toBe(true);
    }
  });
});

describe("truncated files", () => {
  test.each(FILES)("%s: more bytes never mean less audio, except for an incomplete end", (_, bytes) => {
    let before = 0;
    for (let cut = 0; cut <= bytes.length; cut += 37) {
      const seconds = secondsOf(bytes.subarray(0, cut)) ?? 0;
      expect(seconds).toBeGreaterThanOrEqual(before - 0.065);
      before = Math.max(before, seconds);
    }
    expect((secondsOf(bytes) ?? 0) + 0.065).toBeGreaterThanOrEqual(before);
  });

  test.each(["mp3", "opus", "flac", "wav", "pcm"] as const)("half of %s is half as long", (format) => {
    const bytes = synthesizeSpeech(format, 20);
    const meter = speechMeter(format);
    meter?.push(bytes.subarray(0, bytes.length / 2));
    expect(Math.abs((meter?.seconds() ?? 0) - 10)).toBeLessThan(0.3);
  });
});

describe("formats", () => {
  test("TTS-05 AAC has no meter", () => {
    expect(speechMeter("aac")).toBeUndefined();
  });

  test.each(["mp3", "opus", "flac", "wav"] as const)(
    "a meter of %s does not take another format for its own",
    (format) => {
      for (const other of (["mp3", "opus", "aac", "flac", "wav", "pcm"] as const).filter((one) => one !== format)) {
        expect(secondsOf(synthesizeSpeech(other, 1), speechMeter(format))).toBeUndefined();
      }
    },
  );

  test("raw samples use the stated rate", () => {
    expect(secondsOf(Buffer.alloc(32_000), speechMeter("pcm", { rateHz: 16_000, channels: 1 }))).toBe(1);
  });

  test.each(["", "a", "hello, this is no audio at all", "%PDF-1.7\n%âãÏÓ\n1 0 obj", "FORM\0\0\0\0AIFFCOMM"])(
    "a file that begins %j is not known",
    (text) => {
      expect(secondsOf(Buffer.from(text))).toBeUndefined();
    },
  );

  test("a file is identified by its bytes after a tag and padding", () => {
    const tag = Buffer.from("ID3\x04\0\0\0\0\0\x04abcd", "latin1");
    expect(secondsOf(Buffer.concat([tag, Buffer.alloc(99), synthesizeSpeech("mp3", 0.96)]))).toBe(0.96);
    expect(secondsOf(Buffer.concat([tag, synthesizeSpeech("aac", 1.024)]))).toBe(1.024);
    expect(secondsOf(Buffer.concat([tag, synthesizeSpeech("flac", 1.5)]))).toBe(1.5);
  });
});

describe("skipped bytes", () => {
  const passedIn = (bytes: Buffer) => {
    const meter = fileMeter();
    meter.push(bytes);
    return meter.skippedBytes();
  };
  const mp3 = synthesizeSpeech("mp3", 2.4);

  test("STT-01 are zero for PCM and consecutive frames, and up to the file size elsewhere", () => {
    const tag = Buffer.from("ID3\x04\0\0\0\0\0\x04abcd", "latin1");
    for (const format of ["wav", "mp3", "aac", "flac"] as const) expect(passedIn(synthesizeSpeech(format, 2))).toBe(0);
    expect(passedIn(Buffer.concat([tag, mp3]))).toBe(0);
    expect(passedIn(Buffer.concat([mp3, Buffer.alloc(999), mp3]))).toBe(999);
    for (const name of ["moov-first.m4a", "vorbis.webm", "speech.ogg"]) {
      const bytes = encodedSample(name);
      expect(passedIn(bytes)).toBe(bytes.length);
    }
    expect(passedIn(Buffer.from("hello, this is no audio at all"))).toBe(30);
  });

  test("STT-01 a file that is mostly skipped or has no duration is not measured", () => {
    expect(secondsOf(Buffer.concat([mp3, Buffer.alloc(mp3.length - 1)]))).toBe(2.4);
    expect(secondsOf(Buffer.concat([mp3, Buffer.alloc(mp3.length + 1)]))).toBeUndefined();
    const flac = synthesizeSpeech("flac", 2);
    expect(secondsOf(Buffer.concat([flac.subarray(0, 42), Buffer.alloc(100_000, 1)]))).toBeUndefined();
    expect(secondsOf(synthesizeSpeech("wav", 0))).toBeUndefined();
  });
});

describe("recorded audio", () => {
  const answer = (name: string): Buffer => loadExchange(name).interactions[0]?.response.body ?? Buffer.alloc(0);
  /** The base64 behind a name, and what stands before it: read by hand, as no reader of ours is on trial here. */
  const inside = (name: string, field: string): Buffer => {
    const text = answer(name).toString("utf8");
    return Buffer.from(new RegExp(`"${field}"\\s*:\\s*"([^"]*)"`).exec(text)?.[1] ?? "", "base64");
  };

  test("openai: 223 frames of 576 samples at 24 kHz, as a decoder counts them", () => {
    const seconds = secondsOf(answer("audio-speech/openai-mp3"), speechMeter("mp3"));
    expect(seconds).toBe(5.352);
    expect(billedSeconds(seconds ?? 0)).toBe(5);
  });

  test("mistral: 125 frames of 576 samples at 22.05 kHz behind a tag", () => {
    const bytes = inside("audio-speech/mistral-json-base64", "audio_data");
    expect(secondsOf(bytes, speechMeter("mp3"))).toBe((125 * 576) / 22_050);
  });

  test("gemini: raw samples of two bytes at the rate its type tells", () => {
    const bytes = inside("audio-speech/gemini-pcm", "data");
    const shape = parsePcmMediaType("audio/L16;codec=pcm;rate=24000");
    expect(bytes.length).toBeGreaterThan(24_000);
    expect(secondsOf(bytes, speechMeter("pcm", shape))).toBe(bytes.length / 2 / 24_000);
  });

  test("an uploaded WAV file whose header tells no length: 3.7 s, for which the provider counted 4", () => {
    const body =
      loadExchange("audio-transcription/openai-whisper-json").interactions[0]?.request.body ?? Buffer.alloc(0);
    const from = body.indexOf("RIFF");
    expect(secondsOf(body.subarray(from, body.lastIndexOf("\r\n--")))).toBe(3.7);
    expect(billedSeconds(3.7)).toBe(4);
  });
});
