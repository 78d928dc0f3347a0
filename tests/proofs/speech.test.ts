import { describe, expect, onTestFinished, test } from "vitest";
import { synthesizeSpeech } from "../../src/sandbox/audio/speech.ts";
import { gatewayForTest, type Json } from "../support/gateway.ts";
import { connectedTo } from "../support/scene.ts";
import { type ReplySource, type Script, startUpstream } from "../support/upstream.ts";

const MODEL = "openai/gpt-4o-mini-tts";
const ENDPOINT = `openai:global:${MODEL}`;

/** Audio in events with usage, as OpenAI sends it. */
function spoken(audio: Buffer, usage: unknown = { input_tokens: 12, output_tokens: 40, total_tokens: 52 }): Script {
  const events = [
    { type: "speech.audio.delta", audio: audio.toString("base64") },
    { type: "speech.audio.done", usage },
  ];
  return {
    headers: { "content-type": "text/event-stream" },
    body: events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""),
  };
}

async function openAt(source: ReplySource) {
  const upstream = await startUpstream(source);
  onTestFinished(() => upstream.close());
  const env = { ...connectedTo(new Map([["openai", upstream]])), GATEWAY_SANDBOX: "off", GATEWAY_RPM_IP: "0" };
  const gateway = await gatewayForTest({ env });
  const tenant = await gateway.tenant();
  return {
    upstream,
    gateway,
    tenant,
    speak: () =>
      gateway.call(tenant.key, "/v1/audio/speech", { body: { model: MODEL, input: "Hello.", voice: "alloy" } }),
    probe: (): Promise<Json> => gateway.manage("POST", "/probes", { endpoint: ENDPOINT, surface: "speech" }),
    listed: async (): Promise<Json> =>
      (await gateway.call(tenant.key, "/v1/models")).body.data.find(({ id }: Json) => id === MODEL)?.svc_surfaces,
  };
}

describe("TTS-09 a speech model", () => {
  test("is neither listed nor called before real audio was received, and is after that", async () => {
    const { upstream, gateway, tenant, speak, probe, listed } = await openAt(spoken(synthesizeSpeech("mp3", 1.2)));
    expect(await listed()).toBeUndefined();
    const before = await speak();
    expect([before.status, before.body.error.code]).toEqual([404, "model_not_found"]);
    expect(before.body.error.message).toContain("has no valid proof on speech");
    expect(upstream.requests).toHaveLength(0);
    const { ok, data } = await probe();
    expect([ok, data.length]).toEqual([true, 1]);
    expect(data[0]).toMatchObject({ surface: "speech", result: "proven", input_tokens: 12, output_tokens: 40 });
    expect(data[0].audio_seconds).toBeCloseTo(1.2, 1);
    expect(await listed()).toEqual(["speech"]);
    expect((await speak()).status).toBe(200);
    const rows = (await gateway.manage("GET", `/workspaces/${tenant.slug}/requests`)).data;
    expect(rows.map(({ status }: Json) => status)).toEqual([200, 404]);
  });

  const LIARS: readonly [string, ReplySource, RegExp][] = [
    ["sends a page as audio", spoken(Buffer.from("<!doctype html><html><body>Sign in to go on.</body></html>")), /./],
    ["sends a page", { body: "<html></html>", headers: { "content-type": "audio/mpeg" } }, /./],
    ["sends another format", spoken(synthesizeSpeech("wav", 1)), /./],
    ["sends nothing", spoken(Buffer.alloc(0)), /./],
    ["sends less than a word takes", spoken(synthesizeSpeech("mp3", 0.1)), /lasts 0\.1\d s/],
    ["tells no figures that it is billed by", spoken(synthesizeSpeech("mp3", 1), null), /does not report usage/],
    ["says no", { status: 400, json: { error: { message: "canary-of-the-provider" } } }, /\(400\)/],
  ];
  test.each(LIARS)("is not served at a provider that %s", async (_what, source, reason) => {
    const { speak, probe, listed } = await openAt(source);
    const made = await probe();
    expect([made.ok, made.data[0].result]).toEqual([false, "failed"]);
    expect(made.data[0].reason).toMatch(reason);
    expect(JSON.stringify(made)).not.toContain("canary");
    expect(await listed()).toBeUndefined();
    expect((await speak()).status).toBe(404);
  });
});

test("DEC-02 TTS-09 simulated providers are proven before the gateway is ready", async () => {
  const gateway = await gatewayForTest();
  const { data } = await gateway.manage("GET", "/proofs");
  expect(new Set(data.map(({ surface }: Json) => surface))).toEqual(new Set(["decisions", "speech"]));
  expect(data.filter(({ proven }: Json) => !proven)).toEqual([]);
  expect(data.every(({ endpoint }: Json) => endpoint.startsWith("sandbox-"))).toBe(true);
  const models = (await gateway.call(gateway.key, "/v1/models")).body.data;
  const surfaces = new Map<string, string[]>(models.map(({ id, svc_surfaces }: Json) => [id, svc_surfaces]));
  expect(surfaces.get("sandbox/decide")).toContain("decisions");
  expect(surfaces.get("sandbox/speak")).toContain("speech");
  const probes = (await gateway.manage("GET", "/probes")).data;
  expect(probes.map(({ cause }: Json) => cause)).toEqual(data.map(() => "start"));
});
