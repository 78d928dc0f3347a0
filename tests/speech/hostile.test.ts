import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { wavHeader } from "../../src/language/audio/pcm.ts";
import { synthesizeSpeech } from "../../src/sandbox/audio/speech.ts";
import {
  EVERYTHING,
  openSpeech,
  openSpeechCall,
  type SpeechProvider,
  type SpeechRow,
  type SpeechScene,
} from "../support/speech.ts";
import type { Script } from "../support/upstream.ts";

const TOKENS = { input_per_1m_tokens: 2, audio_output_per_1m_tokens: 10 };
const MINUTE = { per_minute_audio: 0.6 };
const CHARACTERS = { per_1m_characters: 15 };

const row = (model: string, price: SpeechRow["price"], provider: SpeechProvider = "alpha"): SpeechRow => ({
  model: `voice/${model}`,
  provider,
  speech: EVERYTHING,
  price,
});

let scene: SpeechScene;
beforeAll(async () => {
  scene = await openSpeech(
    [
      row("characters", CHARACTERS),
      row("minute", MINUTE),
      row("tokens", TOKENS),
      row("priced", { per_minute_audio: 0.03 }),
      row("priced", { per_1m_characters: 1 }, "beta"),
      row("priced", { input_per_1m_tokens: 0.1, audio_output_per_1m_tokens: 500 }, "gamma"),
    ],
    { GATEWAY_REQUEST_TIMEOUT_MS: "6000" },
  );
});
afterAll(() => scene.close());

const audio = (body: Buffer): Script => ({ body, headers: { "content-type": "audio/any" }, framing: "chunked" });
const sse = (event: unknown) => `data: ${JSON.stringify(event)}\n\n`;
const requestFor = (model: string, more: Record<string, unknown> = {}) => ({
  model: `voice/${model}`,
  input: "Hello.",
  voice: "ada",
  ...more,
});

describe("implausible audio", () => {
  // A text of six characters takes a second to speak, not ten minutes.
  const endless = synthesizeSpeech("mp3", 600);
  const slowed = Buffer.concat([wavHeader({ rateHz: 1, channels: 1 }), synthesizeSpeech("pcm", 1)]);

  test.each([
    ["minute", "audio without an end", endless, "mp3"],
    ["characters", "audio without an end", endless, "mp3"],
    ["minute", "a header that makes a second last for hours", slowed, "wav"],
  ])("TTS-07 by %s, %s: cut and not charged", async (model, _what, bytes, response_format) => {
    const tenant = await scene.gateway.tenant();
    scene.at("alpha").next(audio(bytes));
    const ending = await openSpeechCall(scene.gateway.url, tenant.key, requestFor(model, { response_format })).then(
      (call) => {
        call.response.resume();
        return call.status === 200 ? call.over : "refused";
      },
    );
    expect(ending).not.toBe("whole");
    const [logged] = await scene.rowsOnce(tenant, 1);
    expect(logged.error_code).toBe("upstream_error");
    expect(await scene.charged(tenant)).toEqual([]);
  });

  test.each(["minute", "characters"])("TTS-07 by %s, a file without samples is not audio", async (model) => {
    const tenant = await scene.gateway.tenant();
    scene.at("alpha").next(audio(wavHeader({ rateHz: 24_000, channels: 1 }, 0)));
    const answer = await scene.speak(tenant.key, requestFor(model, { response_format: "wav" }));
    expect(answer.status).toBe(502);
    expect(await scene.charged(tenant)).toEqual([]);
  });

  test("TTS-07 a slow voice is not cut: four times the hold is still plausible", async () => {
    const tenant = await scene.gateway.tenant();
    scene.at("alpha").next(audio(synthesizeSpeech("mp3", 60)));
    expect((await scene.speak(tenant.key, requestFor("minute"))).status).toBe(200);
    expect(await scene.charged(tenant)).toEqual([600_000_000n]);
  });
});

describe("implausible usage", () => {
  test.each([
    { input_tokens: 2, output_tokens: 900_000_000 },
    { input_tokens: 900_000_000, output_tokens: 20 },
    { input_tokens: -1, output_tokens: 20 },
    { input_tokens: 2, output_tokens: 2.5 },
    { input_tokens: "2", output_tokens: 20 },
  ])("TTS-07 %j is not billed: the audio is, at less than the hold", async (usage) => {
    const tenant = await scene.gateway.tenant();
    scene.at("alpha").next({
      frames: [
        sse({ type: "speech.audio.delta", audio: synthesizeSpeech("mp3", 2).toString("base64") }),
        sse({ type: "speech.audio.done", usage }),
      ],
      headers: { "content-type": "text/event-stream" },
    });
    const answer = await scene.speak(tenant.key, requestFor("tokens"));
    expect(answer.status).toBe(200);
    const { usage: billed } = await scene.row(answer.id);
    expect(billed.estimated).toBe(true);
    expect(billed.output_tokens).toBeLessThanOrEqual(42);
    const [charged = 0n] = await scene.charged(tenant);
    expect(charged).toBeLessThan(1_000_000n);
  });
});

describe("callers", () => {
  test("TTS-07 a client that stops reading at the deadline counts as disconnected and pays for what was sent", async () => {
    const tenant = await scene.gateway.tenant();
    // More than the buffers in between hold, so that the gateway waits for its caller.
    const input = "word ".repeat(4000);
    const long = Buffer.concat(Array.from({ length: 24 }, () => synthesizeSpeech("pcm", 60)));
    scene.at("alpha").next(audio(long));
    const call = await openSpeechCall(
      scene.gateway.url,
      tenant.key,
      requestFor("minute", { input, response_format: "pcm" }),
    );
    await call.chunk();
    const [logged] = await scene.rowsOnce(tenant, 1);
    expect(logged).toMatchObject({ status: 499, error_code: "client_disconnected" });
    const [charged = 0n] = await scene.charged(tenant);
    expect(charged).toBeGreaterThan(0n);
    // Nothing more arrives, however long the caller waits.
    call.response.resume();
    expect(await call.over).toBe("cut");
  });

  test("BILL-09 the same idempotency key again: 409, never text instead of audio", async () => {
    const tenant = await scene.gateway.tenant();
    scene.at("alpha").next(audio(synthesizeSpeech("mp3", 2)));
    const key = { "idempotency-key": "once" };
    expect((await scene.speak(tenant.key, requestFor("characters"), key)).status).toBe(200);
    const again = await scene.speak(tenant.key, requestFor("characters"), key);
    expect(again.status).toBe(409);
    expect(again.error.code).toBe("idempotent_replay");
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(await scene.charged(tenant)).toHaveLength(1);
  });

  test("ERR-05 a wallet that does not cover a speech request: the refusal names the remedy", async () => {
    const tenant = await scene.gateway.tenant({ credit: "0" });
    const { status, error } = await scene.speak(tenant.key, requestFor("minute"));
    expect(status).toBe(402);
    expect(error.message).toContain("send a shorter text");
    expect(error.message).not.toContain("max_tokens");
  });
});

test("MOD-01 the price of a speech model is that of its cheapest endpoint per minute of speech", async () => {
  const tenant = await scene.gateway.tenant();
  const { body } = await scene.gateway.call(tenant.key, "/v1/models/voice/priced");
  expect(body.pricing).toMatchObject({ per_1m_characters: "1", input_per_1m_tokens: null });
  const shown = await scene.gateway.call(tenant.key, "/v1/models/voice/minute");
  expect(shown.body.pricing).toMatchObject({ per_minute_audio: "0.6" });
});
