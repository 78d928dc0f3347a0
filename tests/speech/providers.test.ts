import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadCatalogue } from "../../src/domain/catalogue/load.ts";
import { catalogueFiles } from "../../src/io/catalogue-files.ts";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { allProven } from "../support/proofs.ts";
import { SEED_CATALOGUE } from "../support/recordings.ts";
import { loadExchange, scriptOf } from "../support/replay.ts";
import { connectedTo, QUIET } from "../support/scene.ts";
import { speak } from "../support/speech.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

const PROVIDERS = ["openai", "mistral", "google-ai-studio", "anthropic"] as const;

type Scene = { readonly gateway: TestGateway; readonly upstreams: Map<string, Upstream>; close(): Promise<void> };

async function connected(env: Record<string, string> = {}): Promise<Scene> {
  const upstreams = new Map<string, Upstream>();
  for (const provider of PROVIDERS) upstreams.set(provider, await startUpstream());
  const gateway = await startGateway({ env: { ...connectedTo(upstreams), ...QUIET, ...env }, prepare: allProven });
  const close = async () => {
    await gateway.close();
    await Promise.all([...upstreams.values()].map((upstream) => upstream.close()));
  };
  return { gateway, upstreams, close };
}

const RECORDED = [
  { name: "openai-mp3", provider: "openai", model: "openai/gpt-4o-mini-tts", format: "mp3" },
  { name: "mistral-json-base64", provider: "mistral", model: "mistral/voxtral-mini-tts-2603", format: "mp3" },
  { name: "gemini-pcm", provider: "google-ai-studio", model: "google/gemini-2.5-flash-tts", format: "pcm" },
] as const;

/** The provider's audio, extracted from the recording manually. */
function audioIn(body: Buffer, name: string): Buffer {
  if (name === "openai-mp3") return body;
  const json = JSON.parse(body.toString("utf8"));
  const base64 = name === "gemini-pcm" ? json.candidates[0].content.parts[0].inlineData.data : json.audio_data;
  return Buffer.from(base64, "base64");
}

function replays(scene: () => Scene): void {
  test.each(RECORDED)(
    "TTS-01 $name: a recorded response gives its audio",
    async ({ name, provider, model, format }) => {
      const [recorded] = loadExchange(`audio-speech/${name}`).interactions;
      if (recorded === undefined) throw new Error(`${name} is empty`);
      const { gateway, upstreams } = scene();
      upstreams.get(provider)?.next(scriptOf(recorded));
      const tenant = await gateway.tenant();
      const input = "Ruby is a programming language designed for developer happiness.";
      const spoken = await speak(gateway.url, tenant.key, { model, input, voice: "x", response_format: format });
      expect(spoken.status, JSON.stringify(spoken.error)).toBe(200);
      expect(spoken.bytes.equals(audioIn(recorded.response.body, name))).toBe(true);
      const { detail, cost } = await gateway.manage("GET", `/requests/${spoken.id}`);
      expect(detail).toMatchObject({ characters: 64, format, bytes: spoken.bytes.length });
      expect(detail.seconds).toBeGreaterThan(0.5);
      expect(detail.seconds).toBeLessThan(8);
      expect(Number(cost)).toBeGreaterThan(0);
    },
  );
}

describe("the shipped catalogue", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await connected();
  });
  afterAll(() => scene.close());

  test("TTS-06 every speech endpoint has an interface", async () => {
    const loaded = await loadCatalogue([path.join(PROJECT_ROOT, "catalogue")], Date.now(), catalogueFiles);
    if ("problems" in loaded) throw new Error("the catalogue has problems");
    const speaking = [...loaded.snapshot.endpoints.values()].filter(({ surfaces }) => surfaces.includes("speech"));
    expect(speaking.filter(({ speech }) => speech === null).map(({ id }) => id)).toEqual([]);
    expect(speaking.length).toBeGreaterThanOrEqual(11);
  });

  test("TTS-04 the two kinds of models with fewer formats list them, and take neither setting", async () => {
    const { key } = await scene.gateway.tenant();
    const { body } = await scene.gateway.call(key, "/v1/models");
    const params = (id: string) => body.data.find((one: { id: string }) => one.id === id).svc_speech_params;
    const none = { speed: "none", instructions: "none" };
    expect(params("google/gemini-2.5-flash-tts")).toEqual({
      ...{ mp3: "none", opus: "none", aac: "none", flac: "none", wav: "all", pcm: "all" },
      ...none,
    });
    expect(params("mistral/voxtral-mini-tts-2603")).toEqual({
      ...{ mp3: "all", opus: "all", aac: "none", flac: "all", wav: "all", pcm: "all" },
      ...none,
    });
    expect(params("openai/tts-1")).toMatchObject({ aac: "all", speed: "all", instructions: "none" });
    expect(params("openai/gpt-4o-mini-tts")).toMatchObject({ speed: "all", instructions: "all" });
  });

  test("TTS-09 no provider of the model has a speech interface: 501; one has, but not for this model: 404", async () => {
    const { key } = await scene.gateway.tenant();
    const { body } = await scene.gateway.call(key, "/v1/models");
    const of = (provider: string) =>
      body.data.find(
        ({ svc_providers, svc_surfaces }: { svc_providers: string[]; svc_surfaces: string[] }) =>
          svc_providers.includes(provider) && !svc_surfaces.includes("speech"),
      ).id;
    const request = { input: "Hello.", voice: "x" };
    const claude = await speak(scene.gateway.url, key, { ...request, model: of("anthropic") });
    expect([claude.status, claude.error.code]).toEqual([501, "speech_not_supported"]);
    const other = await speak(scene.gateway.url, key, { ...request, model: of("mistral") });
    expect([other.status, other.error.code]).toEqual([404, "model_not_found"]);
    expect(await speak(scene.gateway.url, key, { ...request, model: "no/such-model" })).toMatchObject({
      status: 404,
      error: { code: "model_not_found" },
    });
  });

  describe("recorded traffic", () => replays(() => scene));
});

describe("a catalogue of seven flat lists", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await connected({ GATEWAY_CATALOGUE_DIR: SEED_CATALOGUE });
  });
  afterAll(() => scene.close());

  replays(() => scene);
});
