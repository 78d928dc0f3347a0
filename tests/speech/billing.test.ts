import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { wavHeader } from "../../src/language/audio/pcm.ts";
import { synthesizeSpeech } from "../../src/sandbox/audio/speech.ts";
import type { Tenant } from "../support/gateway.ts";
import { nanosOf } from "../support/scene.ts";
import { EVERYTHING, openSpeech, openSpeechCall, RAW, type SpeechRow, type SpeechScene } from "../support/speech.ts";
import type { Script } from "../support/upstream.ts";

const PER_SECOND = 10_000_000n;
const TOKENS = { input_per_1m_tokens: 2, output_per_1m_tokens: 5, audio_output_per_1m_tokens: 10 };

const row = (model: string, price: SpeechRow["price"], more: Partial<SpeechRow> = {}): SpeechRow => ({
  model: `voice/${model}`,
  provider: "alpha",
  speech: EVERYTHING,
  price,
  ...more,
});

let scene: SpeechScene;
beforeAll(async () => {
  scene = await openSpeech([
    row("characters", { per_1m_characters: 15 }),
    row("minute", { per_minute_audio: 0.6 }),
    row("tokens", TOKENS),
    row("raw", TOKENS, { provider: "gamma", speech: { ...RAW, stream: true } }),
    row("all-three", { per_1m_characters: 15, per_minute_audio: 0.6, ...TOKENS }),
    row("two", { per_minute_audio: 0.6, ...TOKENS }),
    row("request", { per_1m_characters: 15, per_request: 0.001 }),
    row("order", { per_minute_audio: 0.03 }),
    row("order", { per_1m_characters: 1 }, { provider: "beta" }),
    row("order", { input_per_1m_tokens: 1, audio_output_per_1m_tokens: 12 }, { provider: "gamma", speech: RAW }),
  ]);
});
afterAll(() => scene.close());

const sse = (event: unknown) => `data: ${JSON.stringify(event)}\n\n`;
const EVENTS = { "content-type": "text/event-stream" };
const audio = (bytes: Buffer): Script => ({
  body: bytes,
  headers: { "content-type": "audio/anything" },
  framing: "chunked",
});
const events = (bytes: Buffer, usage?: unknown): Script => ({
  frames: [
    sse({ type: "speech.audio.delta", audio: bytes.toString("base64") }),
    sse({ type: "speech.audio.done", ...(usage === undefined ? {} : { usage }) }),
  ],
  headers: EVENTS,
});

async function spoken(model: string, script: Script, more: Record<string, unknown> = {}) {
  const tenant = await scene.gateway.tenant();
  scene.at("alpha").next(script);
  const answer = await scene.speak(tenant.key, { model: `voice/${model}`, input: "Hello.", voice: "ada", ...more });
  expect(answer.status, JSON.stringify(answer.error)).toBe(200);
  return { ...answer, tenant, charged: await scene.charged(tenant), row: await scene.row(answer.id) };
}

describe("by characters", () => {
  test.each([
    ["Hello.", 6n],
    ["né", 2n],
    ["🙂🙂🙂", 3n],
    ["👩‍👩‍👧", 5n],
    ["e\u0301", 2n],
  ])("TTS-07 %s is billed by its exact number of code points", async (input, points) => {
    const { charged, headers, row } = await spoken("characters", audio(synthesizeSpeech("mp3", 3)), { input });
    expect(charged).toEqual([points * 15_000n]);
    expect(headers.get("x-svc-input-characters")).toBe(String(points));
    expect(row.detail.characters).toBe(Number(points));
  });

  test("TTS-07 a lone surrogate counts as one code point", async () => {
    const { charged } = await spoken("characters", audio(synthesizeSpeech("mp3", 3)), { input: "a\udc00\udc00\ud83d" });
    expect(charged).toEqual([4n * 15_000n]);
  });

  test("TTS-07 format and duration of the audio do not matter, aac included", async () => {
    for (const format of ["aac", "opus", "wav"] as const) {
      const { charged } = await spoken("characters", audio(synthesizeSpeech(format, 30)), { response_format: format });
      expect(charged).toEqual([90_000n]);
    }
  });

  test("TTS-07 a price per request is added", async () => {
    expect((await spoken("request", audio(synthesizeSpeech("mp3", 3)))).charged).toEqual([1_090_000n]);
  });
});

describe("per second", () => {
  test.each([
    [0.1, 1n],
    [1.4, 1n],
    [1.5, 2n],
    [2.5, 3n],
    [61.2, 61n],
  ])("TTS-07 %d s of audio are %d", async (seconds, billed) => {
    const { charged, headers, row } = await spoken("minute", audio(synthesizeSpeech("pcm", seconds)), {
      response_format: "pcm",
    });
    expect(charged).toEqual([billed * PER_SECOND]);
    expect(headers.has("x-svc-input-characters")).toBe(false);
    expect(row.detail.seconds).toBe(seconds);
  });

  test("TTS-07 every measurable format is measured from the audio itself", async () => {
    for (const format of ["mp3", "opus", "flac", "wav", "pcm"] as const) {
      const { charged } = await spoken("minute", audio(synthesizeSpeech(format, 7)), { response_format: format });
      expect(charged, format).toEqual([7n * PER_SECOND]);
    }
  });

  test("TTS-07 headers with a false duration are ignored", async () => {
    const samples = synthesizeSpeech("pcm", 5);
    for (const claimed of [2, 48_000 * 3600]) {
      const falseHeader = Buffer.concat([wavHeader({ rateHz: 24_000, channels: 1 }, claimed), samples]);
      const { charged } = await spoken("minute", audio(falseHeader), { response_format: "wav" });
      expect(charged).toEqual([5n * PER_SECOND]);
    }
    const { charged } = await spoken(
      "minute",
      { ...audio(samples), headers: { "x-audio-seconds": "1" } },
      { response_format: "pcm" },
    );
    expect(charged).toEqual([5n * PER_SECOND]);
  });
});

describe("by tokens", () => {
  test("TTS-07 text input and audio output, as the provider reports them", async () => {
    const usage = { input_tokens: 100, output_tokens: 1000, total_tokens: 1100 };
    const { charged, bytes, row } = await spoken("tokens", events(synthesizeSpeech("mp3", 3), usage));
    expect(charged).toEqual([100n * 2000n + 1000n * 10_000n]);
    expect(bytes.equals(synthesizeSpeech("mp3", 3))).toBe(true);
    expect(row.usage).toMatchObject({ input_tokens: 100, output_tokens: 1000 });
    const named = { prompt_tokens: 100, completion_tokens: 1000 };
    expect((await spoken("tokens", events(synthesizeSpeech("mp3", 3), named))).charged).toEqual(charged);
  });

  test("TTS-07 Gemini's usage of the last chunk", async () => {
    const tenant = await scene.gateway.tenant();
    const chunk = (figures: unknown, more = {}) =>
      sse({
        candidates: [
          {
            content: {
              parts: [
                {
                  inlineData: { mimeType: "audio/L16;rate=24000", data: synthesizeSpeech("pcm", 1).toString("base64") },
                },
              ],
            },
            ...more,
          },
        ],
        usageMetadata: figures,
      });
    scene.at("gamma").next({
      frames: [
        chunk({ promptTokenCount: 50, candidatesTokenCount: 25, totalTokenCount: 75 }),
        chunk({ promptTokenCount: 50, candidatesTokenCount: 60, totalTokenCount: 110 }, { finishReason: "STOP" }),
      ],
      headers: EVENTS,
    });
    const request = { model: "voice/raw", input: "Hello.", voice: "ada", response_format: "wav" };
    expect((await scene.speak(tenant.key, request)).status).toBe(200);
    expect(await scene.charged(tenant)).toEqual([50n * 2000n + 60n * 10_000n]);
  });

  test("TTS-07 a provider without usage is billed by an estimate below any real usage, marked as estimated", async () => {
    const { charged, row } = await spoken("tokens", audio(synthesizeSpeech("mp3", 3)), { input: "x".repeat(400) });
    expect(row.usage.estimated).toBe(true);
    // 20 tokens per second of audio; the text is estimated as on every surface.
    expect(charged[0]).toBe(BigInt(row.usage.input_tokens) * 2000n + BigInt(row.usage.output_tokens) * 10_000n);
    expect(row.usage.output_tokens).toBe(60);
  });
});

describe("several prices", () => {
  test("TTS-07 characters take precedence over seconds, seconds over tokens; prices are not added up", async () => {
    const usage = { input_tokens: 100, output_tokens: 1000, total_tokens: 1100 };
    expect((await spoken("all-three", events(synthesizeSpeech("mp3", 3), usage))).charged).toEqual([90_000n]);
    expect((await spoken("two", events(synthesizeSpeech("mp3", 3), usage))).charged).toEqual([3n * PER_SECOND]);
  });

  test("TTS-07 usage is requested only where tokens are billed", async () => {
    for (const [model, format] of [
      ["all-three", undefined],
      ["two", undefined],
      ["tokens", "sse"],
    ] as const) {
      await spoken(model, audio(synthesizeSpeech("mp3", 3)));
      expect(scene.at("alpha").requests.at(-1)?.json).toHaveProperty("model");
      const { stream_format } = JSON.parse(scene.at("alpha").requests.at(-1)?.raw.toString() ?? "{}");
      expect(stream_format).toBe(format);
    }
  });

  test("ROUTE-08 the endpoint that is cheapest in its own unit is first", async () => {
    const tenant = await scene.gateway.tenant();
    const request = { model: "voice/order", voice: "ada", response_format: "wav", input: "x".repeat(1500) };
    // 1500 characters: 0.0015; 100 seconds: 0.05; 2500 tokens: about 0.03.
    for (const provider of ["alpha", "beta", "gamma"] as const) scene.at(provider).always({ status: 503, json: {} });
    const { id } = await scene.speak(tenant.key, request);
    const { attempts } = await scene.row(id);
    expect(attempts.map((one: { provider: string }) => one.provider)).toEqual(["beta", "gamma", "alpha"]);
  });
});

describe("holds and disconnects", () => {
  const holdOf = async (tenant: Tenant) =>
    nanosOf((await scene.gateway.manage("GET", `/workspaces/${tenant.slug}/wallet`)).held);

  test("BILL-03 characters are reserved exactly, seconds and tokens by the maximum for the text", async () => {
    const { promise: gate, resolve } = Promise.withResolvers<void>();
    const input = "x".repeat(300);
    const reserved: bigint[] = [];
    const calls: Promise<unknown>[] = [];
    for (const model of ["characters", "minute", "tokens"]) {
      const tenant = await scene.gateway.tenant();
      const seen = scene.at("alpha").requests.length;
      scene.at("alpha").next({ ...audio(synthesizeSpeech("mp3", 20)), gate });
      calls.push(scene.speak(tenant.key, { model: `voice/${model}`, input, voice: "ada", speed: 0.5 }));
      await scene.at("alpha").arrived(seen + 1);
      reserved.push(await holdOf(tenant));
    }
    resolve();
    await Promise.all(calls);
    expect(reserved[0]).toBe(300n * 15_000n);
    // One second per three characters plus five, at half the speed.
    expect(reserved[1]).toBe(210n * PER_SECOND);
    expect(reserved[2]).toBeGreaterThan(210n * 32n * 10_000n);
  });

  test("ERR-05 a wallet that does not cover it: 402, and no provider is called", async () => {
    const poor = await scene.gateway.tenant({ credit: "0.001" });
    const seen = scene.at("alpha").requests.length;
    const { status, error } = await scene.speak(poor.key, {
      model: "voice/minute",
      input: "x".repeat(300),
      voice: "ada",
    });
    expect([status, error.code]).toEqual([402, "insufficient_credits"]);
    expect(scene.at("alpha").requests).toHaveLength(seen);
  });

  test.each([
    ["characters", 16n * 15_000n],
    ["minute", 2n * PER_SECOND],
    ["tokens", undefined],
  ])("TTS-07 a client that disconnects pays by %s for what was sent", async (model, expected) => {
    const tenant = await scene.gateway.tenant();
    const first = synthesizeSpeech("mp3", 2);
    const { promise: gate } = Promise.withResolvers<void>();
    const seen = scene.at("alpha").requests.length;
    const frame = model === "tokens" ? sse({ type: "speech.audio.delta", audio: first.toString("base64") }) : first;
    const headers = model === "tokens" ? EVENTS : { "content-type": "audio/mpeg" };
    scene.at("alpha").next({ frames: [frame, { data: "never", afterMs: 0, gate }], headers });
    const request = { model: `voice/${model}`, input: "A text, 16 signs", voice: "ada" };
    const call = await openSpeechCall(scene.gateway.url, tenant.key, request);
    await call.chunk();
    call.hangUp();
    const upstream = await scene.at("alpha").arrived(seen + 1);
    expect(await upstream.over).toBe("aborted");
    const [logged] = await scene.rowsOnce(tenant, 1);
    expect(logged).toMatchObject({ status: 499, error_code: "client_disconnected" });
    const charged = await scene.charged(tenant);
    const { usage } = await scene.row(logged.id);
    if (expected !== undefined) {
      expect(charged).toEqual([expected]);
      expect(usage).toMatchObject({ input_tokens: 0, estimated: false });
    } else {
      // Two seconds at 20 tokens each, and the text; marked as estimated.
      expect(usage).toMatchObject({ output_tokens: 40, estimated: true });
      expect(charged).toEqual([40n * 10_000n + BigInt(usage.input_tokens) * 2000n]);
    }
  });

  test("TTS-07 a client that disconnects before any audio pays nothing", async () => {
    const tenant = await scene.gateway.tenant();
    const { promise: gate } = Promise.withResolvers<void>();
    const seen = scene.at("alpha").requests.length;
    scene.at("alpha").next({ ...audio(synthesizeSpeech("mp3", 2)), gate });
    const left = new AbortController();
    const call = fetch(`${scene.gateway.url}/v1/audio/speech`, {
      method: "POST",
      headers: { authorization: `Bearer ${tenant.key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "voice/characters", input: "Hello.", voice: "ada" }),
      signal: left.signal,
    });
    await scene.at("alpha").arrived(seen + 1);
    left.abort();
    await expect(call).rejects.toThrow();
    const [logged] = await scene.rowsOnce(tenant, 1);
    expect(logged.status).toBe(499);
    expect(await scene.charged(tenant)).toEqual([]);
  });
});
