import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { DIALECT_SCRIPTS } from "../support/dialect-scripts.ts";
import type { Called, Json, Tenant } from "../support/gateway.ts";
import { frames, whole } from "../support/gemini.ts";
import { openScene, type Scene } from "../support/scene.ts";
import { chatFrames, chatJson, type Script } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;
const { D1, D3 } = DIALECT_SCRIPTS;
const EMAIL = "jane.doe@mail.example.eu";
const QUESTION = `Please write to ${EMAIL} today.`;
const RULES = { personal: { below: "L3", action: "pseudonymise" } };

beforeAll(async () => {
  scene = await openScene(["google-ai-studio", "deepinfra"]);
});
afterAll(() => scene?.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant({ credit: "1000" });
  await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { data_classes: RULES });
});

type UpstreamRequest = { readonly json: unknown; readonly path?: string };
/** The provider answers with the text that it received, character by character in a stream, and with a call. */
const googleEcho = ({ json, path = "" }: UpstreamRequest): Script => {
  const text: string = (json as Json).contents.at(-1).parts[0].text;
  const call = { functionCall: { id: "c1", name: "mail", args: { to: text } } };
  if (path.includes(":stream")) return { frames: frames([...[...text].map((char) => ({ text: char })), call]) };
  return { json: whole([{ text }, call]) };
};
const chatEcho = ({ json }: UpstreamRequest): Script => {
  const { messages, stream } = json as Json;
  const text: string = messages.at(-1).content;
  const call = { id: "c1", type: "function", function: { name: "mail", arguments: JSON.stringify({ to: text }) } };
  if (stream !== true) return { json: chatJson({ message: { role: "assistant", content: text, tool_calls: [call] } }) };
  return { frames: chatFrames([...text, { tool_calls: [{ index: 0, ...call }] }]) };
};
const OPERATIONS = [":generateContent", ":streamGenerateContent?alt=sse", ":streamGenerateContent"];

const ask = (model: string, operation: string, more: object = {}): Promise<Called> =>
  scene.gateway.call("", `/v1beta/models/${model}${operation}`, {
    headers: { "x-goog-api-key": tenant.key },
    body: {
      contents: [{ parts: [{ text: QUESTION }] }],
      tools: [{ functionDeclarations: [{ name: "mail", parameters: { type: "OBJECT", properties: {} } }] }],
      ...more,
    },
  });
function partsIn({ text }: Called): Json[] {
  const answers = text.startsWith("data: ")
    ? text.split("\r\n\r\n").flatMap((event) => (event === "" ? [] : [JSON.parse(event.slice(6))]))
    : [JSON.parse(text)].flat();
  return answers.flatMap((answer: Json) => answer.candidates?.[0]?.content?.parts ?? []);
}

describe("pseudonyms in the Gemini dialect", () => {
  test.each([
    ["unchanged bytes", D3],
    ["translation", D1],
  ] as const)(
    "CLASS-03 GEM-01 by %s the provider gets stand-ins and the caller originals",
    async (_, { model, provider }) => {
      scene.at(provider).always(provider === "deepinfra" ? chatEcho : googleEcho);
      for (const operation of OPERATIONS) {
        const called = await ask(model, operation);
        expect([called.status, called.headers.get("x-svc-data-action")]).toEqual([200, "pseudonymised"]);
        const parts = partsIn(called);
        expect(parts.map(({ text = "" }) => text).join("")).toBe(QUESTION);
        expect(parts.find(({ functionCall }) => functionCall)?.functionCall.args).toEqual({ to: QUESTION });
        const sent = scene.at(provider).requests.at(-1);
        expect(sent?.raw.toString()).toMatch(/Please write to [a-z0-9]+@example\.(com|net|org) today\./);
        expect(sent?.raw.toString()).not.toContain(EMAIL);
      }
      const bodies = scene.at(provider).requests.map(({ raw }) => /[a-z0-9]+@example\.\w+/.exec(raw.toString())?.[0]);
      expect(new Set(bodies.slice(-OPERATIONS.length)).size).toBe(1);
    },
  );

  test("CLASS-03 GEM-01 log probabilities exclude low endpoints, and a rule of a request counts in every operation", async () => {
    const before = scene.at("google-ai-studio").requests.length;
    const config = { responseLogprobs: true };
    for (const generation of [{ generationConfig: config }, { generation_config: { response_logprobs: true } }])
      expect((await ask(D3.model, ":generateContent", generation)).status).toBe(403);
    const blocked = { data_classes: { personal: { action: "block" } } };
    const content = { parts: [{ text: QUESTION }] };
    const embed = (operation: string, body: object) =>
      scene.gateway.call(tenant.key, `/v1beta/models/google/gemini-embedding-001${operation}`, { body });
    for (const refused of [
      await ask(D3.model, ":generateContent", blocked),
      await ask(D3.model, ":countTokens", { tools: undefined, ...blocked }),
      await embed(":embedContent", { content, ...blocked }),
      await embed(":batchEmbedContents", { requests: [{ content }], ...blocked }),
    ])
      expect([refused.status, refused.body.error.details[0].metadata.code]).toEqual([403, "data_class_not_permitted"]);
    const image = { inline_data: { mime_type: "image/png", data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB" } };
    const uninspected = { data_classes: { uninspected: { action: "block" } }, contents: [{ parts: [image] }] };
    expect((await ask(D3.model, ":generateContent", uninspected)).status).toBe(403);
    expect(scene.at("google-ai-studio").requests.length).toBe(before);
  });
});
