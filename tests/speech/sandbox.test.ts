import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { couldBeFormat } from "../../src/language/audio/format-sniffer.ts";
import { speechMeter } from "../../src/language/audio/speech-meter.ts";
import { speechSeconds, synthesizeSpeech } from "../../src/sandbox/audio/speech.ts";
import { filesWith } from "../edge/child.ts";
import { eventually } from "../support/eventually.ts";
import { gatewayForTest, type Json, startGateway, type TestGateway } from "../support/gateway.ts";
import { openSpeechCall, speak } from "../support/speech.ts";

const MODEL = "sandbox/speak";
const TEXT = "A sentence of more than forty characters, spoken by a model.";

let gateway: TestGateway;
let client: OpenAI;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RPM_TEST: "100000", GATEWAY_RPM_IP: "0" } });
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(() => gateway.close());

const ask = (more: Record<string, unknown> = {}) =>
  speak(gateway.url, gateway.key, { model: MODEL, input: TEXT, voice: "ada", ...more });
const floor = (level: string) =>
  gateway.manage("PATCH", "/workspaces/demo/policy", { floor: level === "none" ? null : level });
const row = (id: string): Promise<Json> => gateway.manage("GET", `/requests/${id}`);

describe("the official client", () => {
  test.each(["mp3", "opus", "aac", "flac", "wav", "pcm"] as const)(
    "TTS-01 TTS-11 audio.speech.create gives %s",
    async (format) => {
      const response = await client.audio.speech.create({
        model: MODEL,
        input: TEXT,
        voice: "ada",
        response_format: format,
      });
      const bytes = Buffer.from(await response.arrayBuffer());
      expect(couldBeFormat(format, bytes)).toBe(true);
      expect(bytes.equals(synthesizeSpeech(format, speechSeconds(TEXT)))).toBe(true);
    },
  );

  test("TTS-01 the body can be read as a stream of several chunks", async () => {
    const response = await client.audio.speech.create({
      model: MODEL,
      input: TEXT,
      voice: "ada",
      response_format: "pcm",
    });
    const pieces: Uint8Array[] = [];
    for await (const piece of response.body ?? []) pieces.push(piece);
    expect(pieces.length).toBeGreaterThan(1);
    expect(Buffer.concat(pieces).equals(synthesizeSpeech("pcm", speechSeconds(TEXT)))).toBe(true);
  });

  test("a refusal is the client's own error", async () => {
    const long = client.audio.speech.create({ model: MODEL, input: "x".repeat(9000), voice: "ada" });
    await expect(long).rejects.toMatchObject({ status: 413, code: "speech_input_too_long" });
  });
});

describe("three interfaces, three units", () => {
  test.each([
    ["none", "sandbox-us", "mp3", true],
    ["L2", "sandbox-de", "wav", false],
    ["L3", "sandbox-fr", "mp3", false],
  ])("TTS-07 TTS-08 TTS-10 with the floor %s %s serves %s", async (level, provider, format, byCharacters) => {
    await floor(level);
    try {
      const { status, headers, bytes, id } = await ask({ response_format: format });
      expect([status, headers.get("x-svc-provider")]).toEqual([200, provider]);
      expect(headers.has("x-svc-input-characters")).toBe(byCharacters);
      const meter = speechMeter(format === "mp3" ? "mp3" : "wav");
      meter?.push(bytes);
      const { detail, cost, usage } = await row(id);
      const seconds = meter?.seconds() ?? 0;
      expect(seconds).toBeCloseTo(speechSeconds(TEXT), 1);
      expect(detail).toEqual({
        characters: TEXT.length,
        format,
        voice: "ada",
        seconds: Math.round(seconds * 1000) / 1000,
        bytes: bytes.length,
      });
      expect(Number(cost)).toBeGreaterThan(0);
      expect(usage.characters).toBe(TEXT.length);
    } finally {
      await floor("none");
    }
  });

  test("TTS-06 ERR-13 speed is supported by some endpoints, and the request is routed there; all serve wav", async () => {
    const { body } = await gateway.call(gateway.key, `/v1/models/${MODEL}`);
    expect(body.svc_speech_params).toEqual({
      ...{ mp3: "some", opus: "some", aac: "some", flac: "some", wav: "all", pcm: "all" },
      ...{ speed: "some", instructions: "some" },
    });
    expect(body.svc_voices).toEqual(["ada", "bo", "cleo", "dora"]);
    expect(body).toMatchObject({ svc_max_input_chars: 8192, svc_surfaces: ["speech"] });
    const fast = await ask({ speed: 2, response_format: "pcm" });
    expect(fast.headers.get("x-svc-provider")).toBe("sandbox-us");
    expect(fast.bytes.length).toBeCloseTo(synthesizeSpeech("pcm", speechSeconds(TEXT) / 2).length, -2);
    await floor("L2");
    try {
      // The endpoints at the floor serve the request without speed.
      const refused = await ask({ speed: 2, response_format: "pcm" });
      expect(refused).toMatchObject({ status: 400, error: { code: "unsupported_parameter", param: "speed" } });
      expect(refused.error.message).toContain("sovereignty_floor_not_met");
      expect((await ask({ response_format: "pcm" })).status).toBe(200);
    } finally {
      await floor("none");
    }
  });

  test("TTS-03 a text that is too long for one endpoint is routed to the others", async () => {
    const { status, headers } = await ask({ input: "x".repeat(5000) });
    expect([status, headers.get("x-svc-provider")]).toEqual([200, "sandbox-fr"]);
  });
});

describe("models that fail on purpose", () => {
  test("a different format than requested: the next endpoint serves", async () => {
    const { status, headers, bytes, id } = await ask({ model: "sandbox/speak-other-format" });
    expect([status, headers.get("x-svc-provider")]).toEqual([200, "sandbox-fr"]);
    expect(couldBeFormat("mp3", bytes)).toBe(true);
    expect((await row(id)).attempts).toHaveLength(2);
  });

  test("an HTML page from every endpoint: 502", async () => {
    expect(await ask({ model: "sandbox/speak-html" })).toMatchObject({
      status: 502,
      error: { code: "upstream_error" },
    });
  });

  test("a broken upstream connection breaks the caller's too", async () => {
    const call = await openSpeechCall(gateway.url, gateway.key, {
      model: "sandbox/speak-cut",
      input: TEXT,
      voice: "ada",
    });
    call.response.resume();
    expect(await call.over).toBe("cut");
  });
});

describe("stored data", () => {
  test("TTS-08 TTS-12 a capture window stores text and parameters, and no audio is on disk", async () => {
    const tenant = await gateway.tenant();
    await gateway.manage("POST", `/workspaces/${tenant.slug}/capture-windows`, { minutes: 5 });
    const request = { model: MODEL, input: TEXT, voice: "ada", response_format: "pcm", instructions: "calm" };
    const { id, bytes } = await speak(gateway.url, tenant.key, request);
    const captured = await eventually(async () => {
      const { captured: found } = await row(id);
      if (found === undefined || found === null) throw new Error("not kept yet");
      return found;
    });
    expect(captured.request).toEqual(request);
    expect(captured.answer).toBeNull();
    const sample = bytes.subarray(4000, 4064);
    expect(filesWith(gateway.dataDir, [sample])).toEqual([]);
  });

  test("BILL-09 the same Idempotency-Key is not charged twice", async () => {
    const headers = { "idempotency-key": "speech-1" };
    const body = { model: MODEL, input: TEXT, voice: "ada" };
    const first = await speak(gateway.url, gateway.key, body, headers);
    expect(first.status).toBe(200);
    const again = await fetch(`${gateway.url}/v1/audio/speech`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    await again.arrayBuffer();
  });
});

describe("access", () => {
  test("SCOPE-01 inference:audio grants access, another scope does not", async () => {
    const audio = await gateway.tenant({ key: { scopes: ["inference:audio"] } });
    const chat = await gateway.tenant({ key: { scopes: ["inference:chat"] } });
    const body = { model: MODEL, input: "Hello.", voice: "ada" };
    expect((await speak(gateway.url, audio.key, body)).status).toBe(200);
    expect(await speak(gateway.url, chat.key, body)).toMatchObject({
      status: 403,
      error: { code: "insufficient_scope" },
    });
  });

  test("MOD-01 models that only speak or transcribe list the billing unit of their cheapest endpoint", async () => {
    const response = await fetch(`${gateway.url}/v1/public/models?surface=transcriptions,speech&limit=100`);
    const shown: Json = await response.json();
    expect(shown.data.length, JSON.stringify(shown)).toBeGreaterThan(1);
    const audio = ["speech", "transcriptions"];
    for (const { id, surfaces, endpoints, lowest_price } of shown.data)
      if (surfaces.length === 1 && audio.includes(surfaces[0]))
        expect(lowest_price !== null, id).toBe(endpoints.some(({ price }: Json) => price !== null));
  });

  test("TTS-09 a model without speech is not found, with the reason", async () => {
    const { status, error } = await ask({ model: "sandbox/chat" });
    expect([status, error.code]).toEqual([404, "model_not_found"]);
    expect(error.message).toContain("speech");
  });

  test("TTS-09 turned off: 404 before any other check, and no model lists the surface", async () => {
    const off = await gatewayForTest({ env: { GATEWAY_SPEECH: "off" } });
    const refused = await off.call(off.key, "/v1/audio/speech", { body: "no json at all" });
    expect([refused.status, refused.body.error.code]).toEqual([404, "audio_not_enabled"]);
    const { body } = await off.call(off.key, "/v1/models");
    expect(body.data.filter((model: Json) => model.svc_surfaces.includes("speech"))).toEqual([]);
    expect(body.data.length).toBeGreaterThan(0);
  });
});
