import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/kit/json.ts";
import { DIALECT_SCRIPTS } from "../support/dialect-scripts.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { openScene, type Provider, type Scene } from "../support/scene.ts";
import { responseWith, SPOKEN, THINKING_WITH_TOOLS } from "../support/through-responses.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUg==";
const PDF = "JVBERi0xLjcK";
const WAV = "UklGRiQAAABXQVZF";

/** All non-text parts that a caller can send, by their name in the table below. */
const PARTS = {
  "image inside": { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } },
  "image by address": { type: "image_url", image_url: { url: "https://media.example/a.png" } },
  audio: { type: "input_audio", input_audio: { data: WAV, format: "wav" } },
  file: { type: "file", file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${PDF}` } },
  "uploaded file": { type: "file", file: { file_id: "file-1" } },
} as const;
type PartName = keyof typeof PARTS;

type Case = {
  readonly dialect: keyof typeof DIALECT_SCRIPTS;
  readonly provider: Provider;
  readonly model: string;
  /** What the provider receives for the part; a part that is not listed is refused. */
  readonly taken: Partial<Record<PartName, JsonObject>>;
};

const asSent = (...names: PartName[]) => Object.fromEntries(names.map((name) => [name, PARTS[name]]));
const inline = (mimeType: string, data: string) => ({ inlineData: { mimeType, data } });

const CASES: readonly Case[] = [
  { dialect: "D1", provider: "deepinfra", model: "openai/gpt-oss-120b", taken: {} },
  {
    dialect: "D1",
    provider: "deepinfra",
    model: "alibaba/qwen3.5-397b-a17b",
    taken: asSent("image inside", "image by address", "audio"),
  },
  {
    dialect: "D1",
    provider: "openai",
    model: "openai/gpt-4.1",
    taken: asSent("image inside", "image by address", "file"),
  },
  {
    dialect: "D2",
    provider: "anthropic",
    model: "anthropic/claude-sonnet-4-6",
    taken: {
      "image inside": { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
      "image by address": { type: "image", source: { type: "url", url: "https://media.example/a.png" } },
      file: {
        type: "document",
        source: { type: "base64", media_type: "application/pdf", data: PDF },
        title: "a.pdf",
      },
    },
  },
  {
    dialect: "D3",
    provider: "google-ai-studio",
    model: "google/gemini-2.5-flash",
    taken: {
      "image inside": inline("image/png", PNG),
      audio: inline("audio/wav", WAV),
      file: inline("application/pdf", PDF),
    },
  },
  {
    dialect: "D3",
    provider: "google-ai-studio",
    model: "google/gemini-4-argon",
    taken: { "image inside": inline("image/png", PNG), file: inline("application/pdf", PDF) },
  },
  {
    dialect: "D4",
    provider: "aws-bedrock",
    model: "amazon/nova-2-lite",
    taken: {
      "image inside": { image: { format: "png", source: { bytes: PNG } } },
      file: { document: { format: "pdf", name: "a", source: { bytes: PDF } } },
    },
  },
  { dialect: "D4", provider: "aws-bedrock", model: "amazon/nova-micro", taken: {} },
];

const PROVIDERS: readonly Provider[] = ["deepinfra", "openai", "anthropic", "google-ai-studio", "aws-bedrock"];
let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openScene(PROVIDERS);
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const callsOf = () => PROVIDERS.map((provider) => scene.at(provider).requests.length);

const rows = CASES.flatMap((one) =>
  Object.entries(PARTS).map(([name, part]) => {
    const [, seen] = Object.entries(one.taken).find(([taken]) => taken === name) ?? [];
    return { ...one, name, part, seen, outcome: seen === undefined ? "is refused with its path" : "reaches it" };
  }),
);

describe("non-text parts", () => {
  test.each(rows)("CHAT-02 $dialect $model: $name $outcome", async ({ dialect, provider, model, name, part, seen }) => {
    await only(provider);
    scene.at(provider).always(DIALECT_SCRIPTS[dialect].whole({ text: "Seen." }));
    const before = callsOf();
    const content = [{ type: "text", text: "Look." }, part];
    const { status, body } = await scene.chat(tenant.key, { model, messages: [{ role: "user", content }] });
    if (seen === undefined) {
      expect(status, name).toBe(400);
      expect(body.error).toMatchObject({ code: "unsupported_parameter", param: "messages.0.content.1" });
      expect(body.error.message).toContain(model);
      expect(callsOf()).toEqual(before);
      return;
    }
    expect(status, JSON.stringify(body)).toBe(200);
    const received: Json = scene.at(provider).requests.at(-1)?.json;
    expect(partsIn(received)).toContainEqual(seen);
  });

  test.each(["google/gemini-2.5-flash", "amazon/nova-2-lite"])(
    "CHAT-02 %s: a file by URL is refused with its path and not fetched",
    async (model) => {
      await only(model.startsWith("google") ? "google-ai-studio" : "aws-bedrock");
      const before = callsOf();
      const part = { type: "file", file: { filename: "a.pdf", file_data: "https://media.example/a.pdf" } };
      const { status, body } = await scene.chat(tenant.key, { model, messages: [{ role: "user", content: [part] }] });
      expect([status, body.error.param]).toEqual([400, "messages.0.content.0"]);
      expect(callsOf()).toEqual(before);
    },
  );
});

/** A model of several of these providers is called at one. */
async function only(provider: Provider): Promise<void> {
  const blocked_providers = PROVIDERS.filter((other) => other !== provider);
  await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { blocked_providers });
}

/** The parts of the user turn, in any dialect. */
function partsIn(body: Json): Json[] {
  return body.messages === undefined ? body.contents[0].parts : body.messages[0].content;
}

describe("image detail", () => {
  let caller: Tenant;
  beforeAll(async () => {
    caller = await scene.gateway.tenant();
  });
  const url = `data:image/png;base64,${PNG}`;
  const chatPart = (detail: string) => ({ type: "image_url", image_url: { url, detail } });
  const item = (detail: string) => ({
    role: "user",
    content: [{ type: "input_image", image_url: url, detail }],
  });
  const respond = (model: string, detail: string) =>
    scene.gateway.call(caller.key, "/v1/responses", { body: { model, input: [item(detail)], store: false } });
  const noteOf = async (answer: Awaited<ReturnType<typeof respond>>) => {
    expect(answer.status, answer.text).toBe(200);
    return (await scene.row(answer.headers.get("x-svc-request-id") ?? "")).omitted;
  };
  const sentTo = (provider: Provider): Json => scene.at(provider).requests.at(-1)?.json;

  test.each([
    ["low", { url, detail: "low" }, []],
    ["auto", { url }, []],
    ["original", { url }, ["input[].content[].detail"]],
  ])(
    "RESP-02 PARAM-04 %s of a responses caller at an endpoint of chat completions",
    async (detail, image_url, note) => {
      scene.at("deepinfra").next(DIALECT_SCRIPTS.D1.whole({ text: "x" }));
      const answer = await respond("alibaba/qwen3.5-397b-a17b", detail);
      expect(await noteOf(answer)).toEqual(note);
      expect(sentTo("deepinfra").messages[0].content).toEqual([{ type: "image_url", image_url }]);
    },
  );

  test("PARAM-04 a dialect without image detail omits it, and the log records it", async () => {
    scene.at("anthropic").next(DIALECT_SCRIPTS.D2.whole({ text: "x" }));
    expect(await noteOf(await respond("anthropic/claude-sonnet-4-6", "low"))).toEqual(["input[].content[].detail"]);
    expect(JSON.stringify(sentTo("anthropic"))).not.toContain("detail");
  });

  test.each(["low", "auto"])("CHAT-02 %s of a chat caller whose call goes to the responses API", async (detail) => {
    scene.at("openai").next(responseWith(...SPOKEN));
    const messages = [{ role: "user", content: [chatPart(detail)] }];
    const answer = await scene.chat(caller.key, { ...THINKING_WITH_TOOLS, messages });
    expect(await noteOf(answer)).toEqual([]);
    expect(sentTo("openai").input[0].content).toEqual([{ type: "input_image", image_url: url, detail }]);
  });
});
