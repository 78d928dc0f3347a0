import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { synthesizeSpeech } from "../../src/sandbox/audio/speech.ts";
import { mp4, words } from "../support/audio/mp4.ts";
import type { Tenant } from "../support/gateway.ts";
import { openScene, type Scene } from "../support/scene.ts";
import { sound, transcribe } from "../support/transcriptions.ts";

/** A model whose replies report the duration of the audio. */
const REPORTS_DURATION = "openai/whisper-1";
/** A model whose replies do not always report it. */
const REPORTS_NO_DURATION = "openai/whisper-large-v3";
const AUDIO_SECONDS = 60;

let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openScene(["openai", "groq"]);
  const transcript = { text: "Hi", duration: AUDIO_SECONDS, usage: { type: "duration", seconds: AUDIO_SECONDS } };
  for (const provider of ["openai", "groq"] as const) scene.at(provider).always({ json: transcript });
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant({ credit: "10" });
});

type Fmt = {
  tag: number;
  rateHz: number;
  bytesPerSecond: number;
  blockBytes: number;
  bits: number;
  blockSamples: number;
};

function wav(fmt: Partial<Fmt>, dataBytes: number): Buffer {
  const { tag = 1, rateHz = 16_000, bytesPerSecond = 0x7fffffff, blockBytes = 1, bits = 0, blockSamples = 1 } = fmt;
  const header = Buffer.alloc(48);
  header.write("RIFF\0\0\0\0WAVEfmt ", "latin1");
  header.writeUInt32LE(20, 16);
  header.writeUInt16LE(tag, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(rateHz, 24);
  header.writeUInt32LE(bytesPerSecond, 28);
  header.writeUInt16LE(blockBytes, 32);
  header.writeUInt16LE(bits, 34);
  header.writeUInt16LE(2, 36);
  header.writeUInt16LE(blockSamples, 38);
  header.write("data", 40, "latin1");
  header.writeUInt32LE(dataBytes, 44);
  return Buffer.concat([header, Buffer.alloc(dataBytes, 0x11)]);
}

function element(id: string, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(id, "hex"), words(0x10000000 + body.length), body]);
}

/** Blocks one millisecond apart. */
function webm(codec: string, blockBytes: number, blocks: number): Buffer {
  const hex = (text: string) => Buffer.from(text, "hex");
  const shape = element("e1", element("b5", hex("467a0000")), element("9f", hex("01")), element("6264", hex("10")));
  const track = element(
    "ae",
    element("d7", hex("01")),
    element("83", hex("02")),
    element("86", Buffer.from(codec)),
    shape,
  );
  const times = Array.from({ length: blocks }, (_, time) => {
    const head = Buffer.from([0x81, 0, 0, 0x80]);
    head.writeInt16BE(time, 1);
    return element("a3", head, Buffer.alloc(blockBytes, 1));
  });
  const cluster = element("1f43b675", element("e7", hex("00")), ...times);
  return Buffer.concat([element("1a45dfa3"), element("18538067", element("1654ae6b", track), cluster)]);
}

/** A track with one packet, and another with a minute of packets. */
function twoTracks(): Buffer {
  const hex = (text: string) => Buffer.from(text, "hex");
  const track = (number: string) =>
    element("ae", element("d7", hex(number)), element("83", hex("02")), element("86", Buffer.from("A_OPUS")));
  const block = (number: string) => element("a3", hex(`${number}000080f8fffe`));
  const long = Array.from({ length: AUDIO_SECONDS * 50 }, () => block("82"));
  const cluster = element("1f43b675", element("e7", hex("00")), block("81"), ...long);
  const tracks = element("1654ae6b", track("01"), track("02"));
  return Buffer.concat([element("1a45dfa3"), element("18538067", tracks, cluster)]);
}

/** Consecutive frames, then frames with one byte between them. */
function brokenMp3(): Buffer {
  const bytes = synthesizeSpeech("mp3", AUDIO_SECONDS);
  const frames = Math.round(AUDIO_SECONDS / 0.024);
  const frameBytes = Math.floor(bytes.length / frames);
  const loose = Array.from({ length: frames }, (_, index) => [
    bytes.subarray(index * frameBytes, (index + 1) * frameBytes),
    Buffer.alloc(1),
  ]);
  return Buffer.concat([bytes.subarray(0, 4 * frameBytes), ...loose.flat()]);
}

const ima = { tag: 0x11, blockBytes: 256, bits: 4 };
const CASES: readonly (readonly [string, string, Buffer])[] = [
  ["MP3 in WAV by its byte rate", "a.wav", wav({ tag: 0x55, rateHz: 44_100 }, 960_000)],
  ["G.722 in WAV by its byte rate", "a.wav", wav({ tag: 0x28f, bits: 4 }, 480_000)],
  ["AAC in WAV by its byte rate", "a.wav", wav({ tag: 0xff, bits: 16 }, 480_000)],
  [
    "MP3 declared as samples",
    "a.wav",
    Buffer.concat([wav({ rateHz: 768_000, bits: 16 }, 0), synthesizeSpeech("mp3", 60)]),
  ],
  ["ADPCM by the samples of a block", "a.wav", wav(ima, 480_000)],
  ["mu-law by its bits", "a.wav", wav({ tag: 7, rateHz: 8_000, bits: 512 }, 480_000)],
  [
    "plain samples in MP4 by their clock",
    "a.m4a",
    mp4("sowt", { samples: 960_000, bytes: 2, units: 1, unitsPerSecond: 16_000_000 }),
  ],
  [
    "mu-law in MP4 by its clock",
    "a.m4a",
    mp4("ulaw", { samples: 480_000, bytes: 1, units: 1, unitsPerSecond: 8_000_000 }),
  ],
  ["FLAC in MP4 by its clock", "a.m4a", mp4("fLaC", { samples: 234, bytes: 3_000, units: 1, unitsPerSecond: 16_000 })],
  [
    "AAC in MP4 by its clock",
    "a.m4a",
    mp4("mp4a", { samples: 937, bytes: 200, units: 1_024, unitsPerSecond: 102_400 }),
  ],
  [
    "AAC in MP4 by frames in one sample",
    "a.m4a",
    mp4("mp4a", { samples: 1, bytes: 187_400, units: 1_024, unitsPerSecond: 16_000 }),
  ],
  ["Opus in MP4 by its clock", "a.m4a", mp4("Opus", { samples: 500, bytes: 240, units: 960, unitsPerSecond: 48_000 })],
  ["plain samples in WebM by their times", "a.webm", webm("A_PCM/INT/LIT", 32_000, 60)],
  ["FLAC in WebM by its times", "a.webm", webm("A_FLAC", 4_000, 240)],
  ["Vorbis in WebM by its times", "a.webm", webm("A_VORBIS", 120, 3_000)],
  ["Opus in WebM by its first track", "a.webm", twoTracks()],
  [
    "FLAC without frames",
    "a.flac",
    Buffer.concat([synthesizeSpeech("flac", 1).subarray(0, 42), Buffer.alloc(1_900_000, 1)]),
  ],
  ["MP3 frames that are hardly consecutive", "a.mp3", brokenMp3()],
];

async function billed(model: string, name: string, bytes: Buffer): Promise<number | undefined> {
  const answer = await transcribe(scene.gateway, tenant.key, [["model", model]], { name, bytes });
  if (answer.status === 200) return answer.body.usage.seconds;
  expect([answer.status, answer.body.error.code, answer.body.error.param]).toEqual([400, "invalid_value", "file"]);
  return undefined;
}

test.each(CASES)(
  "STT-01 BILL-02 %s: no header makes it cheaper than the duration that the provider reports",
  async (_, name, bytes) => {
    expect(await billed(REPORTS_DURATION, name, bytes)).toBeGreaterThan(AUDIO_SECONDS * 0.95);
    expect((await billed(REPORTS_NO_DURATION, name, bytes)) ?? AUDIO_SECONDS).toBeGreaterThan(AUDIO_SECONDS * 0.95);
  },
);

test.each(CASES)("BILL-03 %s: the hold covers it", async (_, name, bytes) => {
  const poor = await scene.gateway.tenant({ credit: "0.004" });
  const before = scene.at("openai").requests.length;
  const answer = await transcribe(scene.gateway, poor.key, [["model", REPORTS_DURATION]], { name, bytes });
  expect([answer.status, answer.body.error.code]).toEqual([402, "insufficient_credits"]);
  expect(scene.at("openai").requests.length).toBe(before);
});

test("STT-01 a reported duration is capped by the file's samples and frames, and by its size", async () => {
  expect(await billed(REPORTS_DURATION, "a.wav", sound(2))).toBe(2);
  expect(await billed(REPORTS_DURATION, "a.mp3", synthesizeSpeech("mp3", 24))).toBe(24);
  const short = mp4("mp4a", { samples: 16, bytes: 200, units: 1_024, unitsPerSecond: 16_000 });
  expect(await billed(REPORTS_DURATION, "a.m4a", short)).toBeCloseTo(1.024 * 1.05 + 1 + short.length / 500, 3);
  // Without a measurement only the size is known, and a sparse file is legitimate.
  const sparse = mp4("Opus", { samples: 500, bytes: 30, units: 5_760, unitsPerSecond: 48_000 });
  expect(await billed(REPORTS_DURATION, "a.m4a", sparse)).toBe(Math.ceil(sparse.length / 500));
});

test("STT-01 a provider that reports more than the file's clock is believed, and its duration is passed on", async () => {
  const fields = [
    ["model", REPORTS_DURATION],
    ["response_format", "verbose_json"],
  ] as const;
  scene
    .at("openai")
    .next({ json: { text: "", duration: 59.6, segments: [], usage: { type: "duration", seconds: 60 } } });
  const bytes = mp4("mp4a", { samples: 150, bytes: 1_200, units: 1_024, unitsPerSecond: 16_000 });
  const answer = await transcribe(scene.gateway, tenant.key, fields, { name: "a.m4a", bytes });
  expect([answer.body.duration, answer.body.usage.seconds]).toEqual([59.6, 60]);
});
