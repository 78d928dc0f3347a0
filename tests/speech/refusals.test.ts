import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { synthesizeSpeech } from "../../src/sandbox/audio/speech.ts";
import type { Tenant } from "../support/gateway.ts";
import { EVERYTHING, FIVE, openSpeech, RAW, type SpeechScene } from "../support/speech.ts";

const MODEL = "voice/all";
const REQUEST = { model: MODEL, input: "Hello.", voice: "ada" };

let scene: SpeechScene;
let tenant: Tenant;
beforeAll(async () => {
  const characters = { per_1m_characters: 10 };
  scene = await openSpeech([
    { model: MODEL, provider: "alpha", speech: { ...EVERYTHING, max_input_chars: 20 }, price: characters },
    { model: MODEL, provider: "beta", speech: { ...FIVE, max_input_chars: 10 }, price: characters },
    {
      model: "voice/raw",
      provider: "gamma",
      speech: RAW,
      price: { input_per_1m_tokens: 1, audio_output_per_1m_tokens: 10 },
    },
    { model: "voice/five", provider: "beta", speech: FIVE, price: characters },
    { model: "voice/minute", provider: "alpha", speech: EVERYTHING, price: { per_minute_audio: 0.02 } },
    {
      model: "voice/both",
      provider: "alpha",
      speech: { ...EVERYTHING, instructions: false, max_input_chars: 50 },
      price: characters,
    },
    {
      model: "voice/both",
      provider: "gamma",
      speech: RAW,
      price: { input_per_1m_tokens: 1, audio_output_per_1m_tokens: 1 },
    },
  ]);
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

/** The refusal, after checking that no provider received a request. */
async function refused(body: Record<string, unknown>) {
  const before = (["alpha", "beta", "gamma"] as const).map((one) => scene.at(one).requests.length);
  const { status, error } = await scene.speak(tenant.key, body);
  expect((["alpha", "beta", "gamma"] as const).map((one) => scene.at(one).requests.length)).toEqual(before);
  return { status, code: error?.code, param: error?.param, message: error?.message };
}

describe("the fields", () => {
  test.each([
    ["speech_speed", { speech_speed: 1 }],
    ["stream", { stream: true }],
    ["provider", { provider: { only: ["alpha"] } }],
    ["stream_format", { stream_format: "sse" }],
  ])("TTS-02 %s is refused by name", async (param, more) => {
    expect(await refused({ ...REQUEST, ...more })).toMatchObject({ status: 400, code: "unsupported_parameter", param });
  });

  test.each([
    ["speed", { speed: 0.24 }],
    ["speed", { speed: 4.01 }],
    ["speed", { speed: "1" }],
    ["instructions", { instructions: "x".repeat(4097) }],
    ["response_format", { response_format: "ogg" }],
    ["stream_format", { stream_format: "bytes" }],
    ["voice", { voice: undefined }],
    ["voice", { voice: "" }],
    ["voice", { voice: { id: "voice_1" } }],
    ["input", { input: "" }],
    ["input", { input: undefined }],
    ["model", { model: undefined }],
  ])("TTS-02 TTS-11 %s out of range or malformed: %j", async (param, more) => {
    expect(await refused({ ...REQUEST, ...more })).toMatchObject({ status: 400, code: "invalid_value", param });
  });

  test("TTS-02 the limits of ranges, code points and explicit nulls are accepted", async () => {
    scene.at("alpha").always({ body: synthesizeSpeech("mp3", 1), headers: { "content-type": "audio/mpeg" } });
    for (const more of [
      { speed: 0.25 },
      { speed: 4 },
      { instructions: "🙂".repeat(4096) },
      { stream_format: "audio" },
      { speed: null, instructions: null, response_format: null, stream_format: null },
    ])
      expect((await scene.speak(tenant.key, { ...REQUEST, ...more })).status).toBe(200);
  });
});

describe("formats and settings", () => {
  test.each(["mp3", "opus", "aac", "flac"])(
    "TTS-04 raw samples cannot be served as %s, and both possible formats are named",
    async (format) => {
      const { message, ...rest } = await refused({ ...REQUEST, model: "voice/raw", response_format: format });
      expect(rest).toMatchObject({ status: 400, code: "speech_format_not_supported", param: "response_format" });
      expect(message).toContain("wav, pcm");
    },
  );

  test("TTS-11 no format means mp3, which a model of raw samples does not serve", async () => {
    const { code, message } = await refused({ ...REQUEST, model: "voice/raw" });
    expect(code).toBe("speech_format_not_supported");
    expect(message).toContain("wav, pcm");
  });

  test("TTS-04 the European provider has all formats but aac", async () => {
    const { code, message } = await refused({ ...REQUEST, model: "voice/five", response_format: "aac" });
    expect(code).toBe("speech_format_not_supported");
    expect(message).toContain("mp3, opus, flac, wav, pcm");
  });

  test.each(["speed", "instructions"])(
    "TTS-04 TTS-12 %s is refused by name where no endpoint takes it",
    async (param) => {
      for (const model of ["voice/raw", "voice/five"]) {
        const value = param === "speed" ? 1 : "calm";
        const refusal = await refused({ ...REQUEST, model, response_format: "wav", [param]: value });
        expect(refusal).toMatchObject({ status: 400, code: "unsupported_parameter", param });
        expect(refusal.message).toContain(model);
      }
    },
  );

  test("TTS-12 a value out of range is reported before an unsupported field", async () => {
    expect(await refused({ ...REQUEST, model: "voice/five", speed: 9 })).toMatchObject({
      code: "invalid_value",
      param: "speed",
    });
  });

  test("TTS-05 aac is refused where the price is per minute", async () => {
    const { code, message } = await refused({ ...REQUEST, model: "voice/minute", response_format: "aac" });
    expect(code).toBe("speech_format_not_supported");
    expect(message).toContain("mp3, opus, flac, wav, pcm");
  });

  test("TTS-06 a field that some endpoints take is routed there; a combination that none takes is refused by name", async () => {
    scene.at("alpha").always({ body: synthesizeSpeech("wav", 1), headers: { "content-type": "audio/wav" } });
    const fast = await scene.speak(tenant.key, { ...REQUEST, model: "voice/both", response_format: "wav", speed: 2 });
    expect([fast.status, fast.headers.get("x-svc-provider")]).toEqual([200, "alpha"]);
    const { code, message } = await refused({
      ...REQUEST,
      model: "voice/both",
      response_format: "mp3",
      instructions: "calm",
    });
    expect(code).toBe("unsupported_parameter");
    expect(message).toContain("instructions");
  });

  test("TTS-06 MOD-02 the model object lists all, some or none, its voices and its limit", async () => {
    const { body } = await scene.gateway.call(tenant.key, "/v1/models");
    const of = (id: string) => body.data.find((one: { id: string }) => one.id === id);
    expect(of(MODEL).svc_speech_params).toEqual({
      ...{ mp3: "all", opus: "all", aac: "some", flac: "all", wav: "all", pcm: "all" },
      ...{ speed: "some", instructions: "some" },
    });
    expect(of("voice/raw").svc_speech_params).toEqual({
      ...{ mp3: "none", opus: "none", aac: "none", flac: "none", wav: "all", pcm: "all" },
      ...{ speed: "none", instructions: "none" },
    });
    expect(of("voice/minute").svc_speech_params).toMatchObject({ aac: "none", mp3: "all" });
    expect(of("voice/both").svc_speech_params).toMatchObject({ speed: "some", instructions: "none" });
    expect(of(MODEL)).toMatchObject({ svc_max_input_chars: 20, svc_surfaces: ["speech"], svc_voices: [] });
    // An endpoint without a stated limit has none to report.
    for (const id of ["voice/raw", "voice/both"]) expect(of(id)).not.toHaveProperty("svc_max_input_chars");
  });
});

describe("the text", () => {
  test("TTS-03 a text over the limit is refused with the limit and the model; code points count", async () => {
    const { message, ...rest } = await refused({ ...REQUEST, input: "x".repeat(21) });
    expect(rest).toMatchObject({ status: 413, code: "speech_input_too_long", param: "input" });
    expect(message).toContain("20");
    expect(message).toContain(MODEL);
    scene.at("alpha").always({ body: synthesizeSpeech("mp3", 1), headers: { "content-type": "audio/mpeg" } });
    const emoji = await scene.speak(tenant.key, { ...REQUEST, input: "🙂".repeat(20) });
    expect([emoji.status, emoji.headers.get("x-svc-provider")]).toEqual([200, "alpha"]);
  });
});

describe("which models can be called", () => {
  test.each(["auto", "@demo/fast"])("TTS-09 %s is not a model here", async (model) => {
    expect(await refused({ ...REQUEST, model })).toMatchObject({
      status: 400,
      code: "router_not_supported",
      param: "model",
    });
  });

  test("TTS-09 a missing model, and one without speech", async () => {
    expect(await refused({ ...REQUEST, model: "voice/none" })).toMatchObject({ status: 404, code: "model_not_found" });
  });

  test("TTS-09 policy applies as on chat, with the same codes", async () => {
    const strict = await scene.gateway.tenant();
    await scene.gateway.manage("PATCH", `/workspaces/${strict.slug}/policy`, { countries: ["DE"] });
    const { status, error } = await scene.speak(strict.key, { ...REQUEST, model: "voice/minute" });
    expect([status, error.code]).toEqual([403, "compute_country_not_allowed"]);
  });

  test("ERR-10 the first error is the one reported", async () => {
    const order: [Record<string, unknown>, string][] = [
      [{ model: "auto", speed: 9, what: 1, response_format: "aac" }, "unsupported_parameter"],
      [{ model: "auto", speed: 9 }, "invalid_value"],
      [{ model: "auto" }, "router_not_supported"],
      [{ model: "voice/none", response_format: "aac" }, "model_not_found"],
      [{ model: "voice/five", response_format: "aac", input: "x".repeat(1000) }, "speech_format_not_supported"],
    ];
    for (const [more, code] of order) expect((await refused({ ...REQUEST, ...more })).code).toBe(code);
  });
});
