import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AudioFormat } from "../../src/language/audio/meter.ts";
import { CONTENT_TYPES } from "../../src/language/speech/call.ts";
import { synthesizeSpeech } from "../../src/sandbox/audio/speech.ts";
import type { Tenant } from "../support/gateway.ts";
import {
  EVERYTHING,
  FIVE,
  openSpeech,
  openSpeechCall,
  RAW,
  type SpeechProvider,
  type SpeechRow,
  type SpeechScene,
} from "../support/speech.ts";
import type { Script } from "../support/upstream.ts";

const REQUEST = { input: "A text to be said.", voice: "ada" };
const CHARACTERS = { per_1m_characters: 10 };
const TOKENS = { input_per_1m_tokens: 1, audio_output_per_1m_tokens: 10 };
const MP3 = synthesizeSpeech("mp3", 4);
const PCM = synthesizeSpeech("pcm", 1);

const row = (model: string, provider: SpeechProvider, more: Partial<SpeechRow> = {}): SpeechRow => ({
  model: `voice/${model}`,
  provider,
  speech: EVERYTHING,
  price: CHARACTERS,
  ...more,
});

let scene: SpeechScene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openSpeech([
    row("bytes", "alpha"),
    row("tokens", "alpha", { price: TOKENS }),
    row("five", "beta", { speech: { ...FIVE, stream: true } }),
    row("five-whole", "beta", { speech: FIVE }),
    row("raw", "gamma", { speech: { ...RAW, stream: true }, price: TOKENS }),
    row("raw-whole", "gamma", { speech: RAW, price: TOKENS }),
    row("several", "alpha"),
    row("several", "beta", { price: { per_1m_characters: 20 } }),
    row("minute", "alpha", { price: { per_minute_audio: 0.6 } }),
    row("lost", "nowhere"),
  ]);
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const plain = (bytes: Buffer, format: AudioFormat = "mp3"): Script => ({
  body: bytes,
  headers: { "content-type": CONTENT_TYPES[format] },
  framing: "chunked",
});
const sse = (event: unknown) => `data: ${JSON.stringify(event)}\n\n`;
const delta = (bytes: Buffer, field: string) => sse({ type: "speech.audio.delta", [field]: bytes.toString("base64") });
const DONE = sse({ type: "speech.audio.done", usage: { input_tokens: 7, output_tokens: 90, total_tokens: 97 } });
const pcmChunk = (bytes: Buffer, more: Record<string, unknown> = {}) => ({
  candidates: [
    {
      content: {
        parts: [{ inlineData: { mimeType: "audio/L16;codec=pcm;rate=24000", data: bytes.toString("base64") } }],
      },
      ...more,
    },
  ],
});
const LAST = { finishReason: "STOP" };
const FIGURES = { promptTokenCount: 7, candidatesTokenCount: 25, totalTokenCount: 32 };

type Way = {
  readonly model: string;
  readonly at: SpeechProvider;
  readonly format: AudioFormat;
  frames(half: [Buffer, Buffer]): [string | Buffer, string | Buffer];
  readonly headers?: Record<string, string>;
};

const EVENTS = { "content-type": "text/event-stream" };
const WAYS: Way[] = [
  { model: "bytes", at: "alpha", format: "mp3", frames: (half) => half, headers: { "content-type": "audio/mpeg" } },
  {
    model: "tokens",
    at: "alpha",
    format: "mp3",
    frames: ([a, b]) => [delta(a, "audio"), delta(b, "audio") + DONE],
    headers: EVENTS,
  },
  {
    model: "five",
    at: "beta",
    format: "mp3",
    frames: ([a, b]) => [delta(a, "audio_data"), delta(b, "audio_data") + DONE],
    headers: EVENTS,
  },
  {
    model: "raw",
    at: "gamma",
    format: "pcm",
    frames: ([a, b]) => [sse(pcmChunk(a)), sse({ ...pcmChunk(b, LAST), usageMetadata: FIGURES })],
    headers: EVENTS,
  },
  {
    model: "five-whole",
    at: "beta",
    format: "mp3",
    frames([a, b]) {
      const text = JSON.stringify({ audio_data: Buffer.concat([a, b]).toString("base64") });
      return [text.slice(0, text.length >> 1), text.slice(text.length >> 1)];
    },
    headers: { "content-type": "application/json" },
  },
  {
    model: "raw-whole",
    at: "gamma",
    format: "pcm",
    frames([a, b]) {
      const text = JSON.stringify({ ...pcmChunk(Buffer.concat([a, b]), LAST), usageMetadata: FIGURES }, undefined, 2);
      return [text.slice(0, text.length >> 1), text.slice(text.length >> 1)];
    },
    headers: { "content-type": "application/json; charset=UTF-8" },
  },
];

describe("streaming", () => {
  test.each(WAYS)("TTS-01 $model: the caller has the first chunk before the provider sends its last", async (way) => {
    const audio = way.format === "mp3" ? MP3 : PCM;
    const { promise: received, resolve } = Promise.withResolvers<void>();
    const [first, last] = way.frames([audio.subarray(0, audio.length >> 1), audio.subarray(audio.length >> 1)]);
    scene.at(way.at).next({ frames: [first, { data: last, afterMs: 0, gate: received }], headers: way.headers ?? {} });
    const request = { ...REQUEST, model: `voice/${way.model}`, response_format: way.format };
    const call = await openSpeechCall(scene.gateway.url, tenant.key, request);
    expect([call.status, call.headers["content-type"]]).toEqual([200, CONTENT_TYPES[way.format]]);
    const chunks = [await call.chunk()];
    expect(chunks[0]?.length).toBeGreaterThan(0);
    resolve();
    for await (const chunk of call.response) chunks.push(chunk);
    expect(await call.over).toBe("whole");
    expect(Buffer.concat(chunks).equals(audio)).toBe(true);
  });

  test("TTS-01 a provider that sends single bytes gives the same audio", async () => {
    const short = synthesizeSpeech("mp3", 0.5);
    scene.at("alpha").next({ ...plain(short), slices: "bytes" });
    const bare = await scene.speak(tenant.key, { ...REQUEST, model: "voice/bytes" });
    expect(bare.bytes.equals(short)).toBe(true);
    const body = JSON.stringify({ audio_data: short.toString("base64").replaceAll("/", "\\/") });
    scene
      .at("beta")
      .next({ body, headers: { "content-type": "application/json" }, slices: "bytes", framing: "chunked" });
    const whole = await scene.speak(tenant.key, { ...REQUEST, model: "voice/five-whole" });
    expect(whole.bytes.equals(short)).toBe(true);
  });

  test("TTS-01 a slow reader applies backpressure to the provider and loses nothing", async () => {
    const piece = Buffer.concat(Array.from({ length: 64 }, () => MP3));
    const begin = async () => {
      const sent = { pieces: 0 };
      function* pieces() {
        for (; sent.pieces < 64; sent.pieces += 1) yield piece;
      }
      scene.at("alpha").next({ frames: pieces(), headers: { "content-type": "audio/mpeg" } });
      // Hours of audio need a long text.
      const input = "word ".repeat(3000);
      const call = await openSpeechCall(scene.gateway.url, tenant.key, { ...REQUEST, input, model: "voice/bytes" });
      await call.chunk();
      return { call, sent };
    };
    const read = async ({ call }: Awaited<ReturnType<typeof begin>>) => {
      let bytes = 0;
      for await (const chunk of call.response) bytes += chunk.length;
      expect(await call.over).toBe("whole");
      expect(bytes).toBeGreaterThan(piece.length * 60);
    };
    const slow = await begin();
    // As long as another reader takes for all of it. It is more than socket buffers hold.
    await read(await begin());
    expect(slow.sent.pieces).toBeLessThan(64);
    await read(slow);
  });
});

describe("requests", () => {
  test("TTS-11 OpenAI's format: default mp3, the voice unchanged, nothing that was not sent", async () => {
    scene.at("alpha").next(plain(MP3));
    await scene.speak(tenant.key, { ...REQUEST, model: "voice/bytes" });
    expect(scene.at("alpha").requests.at(-1)).toMatchObject({ method: "POST", path: "/v1/audio/speech" });
    expect(scene.at("alpha").requests.at(-1)?.json).toEqual({
      model: "bytes-upstream",
      input: REQUEST.input,
      voice: "ada",
      response_format: "mp3",
    });
    scene.at("alpha").next({ frames: [delta(MP3, "audio"), DONE], headers: EVENTS });
    await scene.speak(tenant.key, { ...REQUEST, model: "voice/tokens", speed: 1.5, instructions: "calm" });
    expect(scene.at("alpha").requests.at(-1)?.json).toMatchObject({
      speed: 1.5,
      instructions: "calm",
      stream_format: "sse",
    });
  });

  test("TTS-11 Mistral's and Gemini's formats", async () => {
    scene.at("beta").next({ frames: [delta(MP3, "audio_data"), DONE], headers: EVENTS });
    await scene.speak(tenant.key, { ...REQUEST, model: "voice/five", voice: "Ä 1" });
    expect(scene.at("beta").requests.at(-1)?.json).toEqual({
      model: "five-upstream",
      input: REQUEST.input,
      voice_id: "Ä 1",
      response_format: "mp3",
      stream: true,
    });
    scene.at("gamma").next({ json: { ...pcmChunk(PCM, LAST), usageMetadata: FIGURES } });
    await scene.speak(tenant.key, { ...REQUEST, model: "voice/raw-whole", response_format: "pcm" });
    const { path, headers, json } = scene.at("gamma").requests.at(-1) ?? {};
    expect(path).toBe("/v1/models/raw-whole-upstream:generateContent");
    expect(headers?.["x-goog-api-key"]).toBeDefined();
    expect(json).toEqual({
      contents: [{ role: "user", parts: [{ text: REQUEST.input }] }],
      generationConfig: {
        responseModalities: ["AUDIO"],
        speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: "ada" } } },
      },
    });
  });

  test.each([
    ["mp3", "audio/mpeg"],
    ["opus", "audio/opus"],
    ["aac", "audio/aac"],
    ["flac", "audio/flac"],
    ["wav", "audio/wav"],
    ["pcm", "audio/pcm"],
  ] as const)("TTS-11 %s has its exact content type, %s", async (format, type) => {
    const audio = synthesizeSpeech(format, 1);
    scene.at("alpha").next(plain(audio, format));
    const spoken = await scene.speak(tenant.key, { ...REQUEST, model: "voice/bytes", response_format: format });
    expect(spoken.headers.get("content-type")).toBe(type);
    expect(spoken.bytes.equals(audio)).toBe(true);
  });

  test("TTS-04 raw samples become a WAV file with the provider's sample rate", async () => {
    const inline = { mimeType: "audio/L16;codec=pcm;rate=16000", data: PCM.toString("base64") };
    const candidates = [{ content: { parts: [{ inlineData: inline }] }, ...LAST }];
    scene.at("gamma").next({ json: { candidates, usageMetadata: FIGURES } });
    const { bytes, id } = await scene.speak(tenant.key, {
      ...REQUEST,
      model: "voice/raw-whole",
      response_format: "wav",
    });
    expect(bytes.subarray(0, 4).toString()).toBe("RIFF");
    expect(bytes.readUInt32LE(24)).toBe(16_000);
    expect(bytes.subarray(44).equals(PCM)).toBe(true);
    expect([bytes.readUInt32LE(4), bytes.readUInt32LE(40)]).toEqual([PCM.length + 36, PCM.length]);
    expect((await scene.row(id)).detail).toMatchObject({ seconds: PCM.length / 2 / 16_000, bytes: bytes.length });
  });

  test("TTS-04 a provider that sends a file instead of samples is accepted", async () => {
    const wav = synthesizeSpeech("wav", 1);
    const inline = { mimeType: "audio/wav", data: wav.toString("base64") };
    const json = { candidates: [{ content: { parts: [{ inlineData: inline }] }, ...LAST }], usageMetadata: FIGURES };
    scene.at("gamma").next({ json });
    const samples = await scene.speak(tenant.key, { ...REQUEST, model: "voice/raw-whole", response_format: "pcm" });
    expect(samples.bytes.equals(wav.subarray(44))).toBe(true);
    scene.at("gamma").next({ json });
    const file = await scene.speak(tenant.key, { ...REQUEST, model: "voice/raw-whole", response_format: "wav" });
    expect(file.bytes.equals(wav)).toBe(true);
  });

  test("TTS-10 HDR-03 the headers of rule 10 and no other gateway header", async () => {
    scene.at("alpha").next(plain(MP3));
    const { headers, id } = await scene.speak(tenant.key, { ...REQUEST, model: "voice/bytes", input: "né 🙂" });
    const own = [...headers.keys()].filter((name) => name.startsWith("x-svc-") || name.startsWith("x-ratelimit-"));
    expect(own.sort()).toEqual([
      "x-ratelimit-limit",
      "x-ratelimit-remaining",
      "x-ratelimit-reset",
      "x-svc-compute-countries",
      "x-svc-compute-country",
      "x-svc-input-characters",
      "x-svc-model",
      "x-svc-provider",
      "x-svc-request-id",
      "x-svc-sovereignty-level",
    ]);
    expect(headers.get("x-svc-input-characters")).toBe("4");
    expect(headers.get("x-svc-compute-country")).toBe("FR");
    expect(id).toMatch(/^req_/);
  });

  test("TTS-10 HDR-03 no country if unknown, no characters if they are not billed", async () => {
    scene.at("nowhere").next(plain(MP3));
    const lost = await scene.speak(tenant.key, { ...REQUEST, model: "voice/lost" });
    expect(lost.headers.has("x-svc-compute-country")).toBe(false);
    expect(lost.headers.has("x-svc-compute-countries")).toBe(false);
    scene.at("alpha").next(plain(MP3));
    const timed = await scene.speak(tenant.key, { ...REQUEST, model: "voice/minute" });
    expect(timed.headers.has("x-svc-input-characters")).toBe(false);
  });
});

describe("failures", () => {
  const several = { ...REQUEST, model: "voice/several" };

  test.each<[string, Script]>([
    ["a status", { status: 503, json: { error: { message: "busy" } } }],
    [
      "a web page",
      { body: "<!doctype html><html><body>It works!</body></html>", headers: { "content-type": "text/html" } },
    ],
    [
      "text declared as audio",
      { body: '{"error": "nothing to hear here at all"}', headers: { "content-type": "audio/mpeg" } },
    ],
    ["another format", plain(synthesizeSpeech("wav", 1))],
    ["nothing", plain(Buffer.alloc(0))],
    ["a connection that breaks before any audio", { ...plain(MP3), end: { is: "cut", after: 20 } }],
  ])("TTS-01 HDR-03 %s before the first byte: the next endpoint serves", async (_what, script) => {
    scene.at("alpha").next(script);
    scene.at("beta").next(plain(MP3));
    const spoken = await scene.speak(tenant.key, several);
    expect([spoken.status, spoken.headers.get("x-svc-provider")]).toEqual([200, "beta"]);
    expect(spoken.bytes.equals(MP3)).toBe(true);
    // Both received the text, in two countries: neither alone is the place of processing.
    expect(spoken.headers.get("x-svc-compute-countries")).toBe("DE,FR");
    expect(spoken.headers.has("x-svc-compute-country")).toBe(false);
    expect((await scene.row(spoken.id)).attempts).toHaveLength(2);
  });

  test.each<[string, string, SpeechProvider, Script]>([
    [
      "text instead of samples",
      "raw-whole",
      "gamma",
      { json: pcmChunk(Buffer.from("<html><body>not found, sorry</body></html>"), LAST) },
    ],
    ["a blocked text", "raw-whole", "gamma", { json: { promptFeedback: { blockReason: "SAFETY" } } }],
    ["a model that refuses", "raw-whole", "gamma", { json: { candidates: [{ finishReason: "OTHER" }] } }],
    [
      "mp3 instead of samples",
      "raw-whole",
      "gamma",
      {
        json: {
          candidates: [
            { content: { parts: [{ inlineData: { mimeType: "audio/mpeg", data: MP3.toString("base64") } }] }, ...LAST },
          ],
        },
      },
    ],
    ["an object without audio", "five-whole", "beta", { json: { message: "hello" } }],
    [
      "an error in events",
      "five",
      "beta",
      { frames: [sse({ type: "error", error: { message: "overloaded", code: 503 } })], headers: EVENTS },
    ],
    ["events of nothing", "five", "beta", { frames: [DONE], headers: EVENTS }],
  ])("TTS-01 %s is an invalid response: 502, nothing charged", async (_what, model, at, script) => {
    const own = await scene.gateway.tenant();
    scene.at(at).next(script);
    const format = model.startsWith("raw") ? "pcm" : "mp3";
    const { status, error } = await scene.speak(own.key, {
      ...REQUEST,
      model: `voice/${model}`,
      response_format: format,
    });
    expect([status, error.code]).toEqual([502, "upstream_error"]);
    expect(await scene.charged(own)).toEqual([]);
  });

  test.each<[string, string, SpeechProvider, (begun: Promise<void>) => Script]>([
    ["bytes", "bytes", "alpha", () => ({ ...plain(MP3), end: { is: "cut", after: 5000 } })],
    ["events without the last one", "five", "beta", () => ({ frames: [delta(MP3, "audio_data")], headers: EVENTS })],
    [
      "an object without its end",
      "five-whole",
      "beta",
      () => ({
        body: JSON.stringify({ audio_data: MP3.toString("base64") }).slice(0, -9),
        headers: { "content-type": "application/json" },
      }),
    ],
    [
      "an error in the middle",
      "tokens",
      "alpha",
      // A failure that arrives with the first audio would be reported before the response begins.
      (gate) => ({
        frames: [delta(MP3, "audio"), { data: sse({ error: { message: "lost" } }), afterMs: 0, gate }],
        headers: EVENTS,
      }),
    ],
  ])(
    "TTS-01 %s that break off: the caller's response breaks too, and nothing is charged",
    async (_what, model, at, scripted) => {
      const own = await scene.gateway.tenant();
      const begun = Promise.withResolvers<void>();
      scene.at(at).next(scripted(begun.promise));
      const call = await openSpeechCall(scene.gateway.url, own.key, { ...REQUEST, model: `voice/${model}` });
      begun.resolve();
      expect(call.status).toBe(200);
      call.response.resume();
      expect(await call.over).toBe("cut");
      const [logged] = await scene.rowsOnce(own, 1);
      expect(logged).toMatchObject({ error_code: "upstream_error", cost: "0.00" });
      expect(await scene.charged(own)).toEqual([]);
    },
  );

  test("a provider's refusal of the text is passed on with its message", async () => {
    scene
      .at("alpha")
      .next({ status: 400, json: { error: { message: "no such voice", type: "invalid_request_error" } } });
    const { status, error } = await scene.speak(tenant.key, { ...REQUEST, model: "voice/bytes" });
    expect([status, error.code]).toEqual([400, "provider_error"]);
    expect(error.message).toContain("no such voice");
  });
});
