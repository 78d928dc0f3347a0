import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/kit/json.ts";
import { DIALECT_SCRIPTS } from "../support/dialect-scripts.ts";
import { type Json, startGateway, type Tenant } from "../support/gateway.ts";
import { openScene, type Scene } from "../support/scene.ts";
import { chatJson } from "../support/upstream.ts";

const { D1 } = DIALECT_SCRIPTS;
const HELLO = { contents: [{ role: "user", parts: [{ text: "Hello, how are you today?" }] }] };

let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openScene(["deepinfra"]);
  tenant = await scene.gateway.tenant({ credit: "1000" });
});
afterAll(() => scene?.close());

const at = (model: string, operation = "generateContent") => `/v1beta/models/${model}:${operation}`;

describe("paths and keys", () => {
  const raw = (path: string, headers: Record<string, string>, body: JsonObject = HELLO, method = "POST") =>
    scene.gateway.call("", path, { body, headers, method });

  test("GEM-01 a model may have slashes, also encoded, or no creator, and a router may serve it", async () => {
    const [, bare = ""] = D1.model.split("/");
    for (const name of [D1.model, encodeURIComponent(D1.model), bare]) {
      scene.at("deepinfra").next({ json: chatJson() });
      expect((await scene.gateway.call(tenant.key, at(name), { body: HELLO })).headers.get("x-svc-model")).toBe(
        D1.model,
      );
    }
    const { status, body } = await scene.gateway.call(tenant.key, at("no/such-model"), { body: HELLO });
    expect([status, body.error.status, body.error.details[0].reason]).toEqual([404, "NOT_FOUND", "MODEL_NOT_FOUND"]);
  });

  test("GEM-01 AUTH-01 the key is taken from four places in order, from the last two only here", async () => {
    const path = at(D1.model);
    const bad = "sk_svc_live_wrong";
    const status = async (where: string, headers: Record<string, string>) => {
      scene.at("deepinfra").always({ json: chatJson() });
      return (await raw(where, headers)).status;
    };
    const { key } = tenant;
    expect(await status(path, { "x-goog-api-key": key })).toBe(200);
    expect(await status(`${path}?key=${key}`, {})).toBe(200);
    expect(await status(`${path}?key=${key}`, { "x-goog-api-key": "" })).toBe(200);
    expect(await status(`${path}?key=${bad}`, { "x-goog-api-key": key })).toBe(200);
    expect(await status(path, { "x-goog-api-key": bad, "x-api-key": key })).toBe(200);
    expect(await status(path, { "x-api-key": bad, authorization: `Bearer ${key}` })).toBe(200);
    expect(await status(path, { "x-goog-api-key": key, authorization: `Bearer ${bad}` })).toBe(401);
    const chat = { model: D1.model, messages: [{ role: "user", content: "hi" }] };
    for (const headers of [{ "x-goog-api-key": key }, {}])
      expect((await raw(`/v1/chat/completions?key=${key}`, headers, chat)).status).toBe(401);
    const { body } = await raw(path, { "x-goog-api-key": bad });
    expect(body.error).toMatchObject({
      code: 401,
      status: "UNAUTHENTICATED",
      details: [{ reason: "API_KEY_INVALID" }],
    });
  });

  test("GEM-01 the versions v1 and v1alpha of Google's clients work, and v1/models stays OpenAI's for others", async () => {
    for (const version of ["v1", "v1alpha"]) {
      scene.at("deepinfra").next({ json: chatJson() });
      const path = `/${version}/models/${D1.model}:generateContent`;
      expect((await raw(path, { "x-goog-api-key": tenant.key })).status).toBe(200);
    }
    const list = (headers: Record<string, string>) => scene.gateway.call(tenant.key, "/v1/models", { headers });
    expect((await list({})).body.object).toBe("list");
    const google = await fetch(`${scene.gateway.url}/v1/models`, {
      headers: { "x-goog-api-key": tenant.key, "x-goog-api-client": "google-genai-sdk/3.1.0 gl-node/v24" },
    });
    expect(((await google.json()) as Json).models[0].name).toMatch(/^models\//);
    // The query parameter counts only below /v1beta.
    expect((await raw(`/v1/models/${D1.model}:generateContent?key=${tenant.key}`, {})).status).toBe(401);
  });

  test("GEM-01 unknown paths and methods of the dialect have its shape and a hint", async () => {
    const doubled = await scene.gateway.call(tenant.key, "/v1beta/v1beta/models/a:generateContent", { body: HELLO });
    expect([doubled.status, doubled.body.error.status]).toEqual([404, "NOT_FOUND"]);
    expect(doubled.body.error.message).toContain("must not end in /v1beta");
    for (const action of ["predict", "fly", "generate_content"]) {
      const other = await scene.gateway.call(tenant.key, at(D1.model, action), { body: HELLO });
      expect([other.status, other.body.error.status]).toEqual([404, "NOT_FOUND"]);
      for (const known of ["generateContent", "streamGenerateContent", "countTokens", "embedContent"])
        expect(other.body.error.message).toContain(`:${known}`);
    }
    const put = await raw(at(D1.model), { "x-goog-api-key": tenant.key }, HELLO, "PUT");
    expect([put.status, put.body.error.status]).toEqual([405, "UNIMPLEMENTED"]);
    const tuned = await scene.gateway.call(tenant.key, "/v1beta/tunedModels/a:generateContent", { body: HELLO });
    expect([tuned.status, tuned.body.error.status]).toEqual([404, "NOT_FOUND"]);
  });

  test("GEM-01 a call is logged as gemini, charged once, and never run again under one Idempotency-Key", async () => {
    const own = await scene.gateway.tenant({ credit: "10" });
    scene.at("deepinfra").next({ json: chatJson() });
    const send = () =>
      scene.gateway.call(own.key, at(D1.model), { body: HELLO, headers: { "idempotency-key": "one" } });
    const first = await send();
    expect(first.status).toBe(200);
    const again = await send();
    expect([again.status, again.body.error.details[0].reason]).toEqual([409, "IDEMPOTENT_REPLAY"]);
    expect(await scene.charges(own)).toHaveLength(1);
    const row = await scene.row(first.headers.get("x-svc-request-id") ?? "");
    expect(row).toMatchObject({ surface: "gemini", status: 200, model: D1.model, model_requested: D1.model });
  });

  test("GEM-01 POL-02 data classes are found in every part of a request", async () => {
    const own = await scene.gateway.tenant({ credit: "10" });
    await scene.gateway.manage("PATCH", `/workspaces/${own.slug}/policy`, {
      data_classes: { personal: { floor: "L4" } },
    });
    const mail = "Write to erika.mustermann@example.org please";
    const call = { functionCall: { name: "f", args: { to: mail } } };
    const result = { functionResponse: { name: "f", response: { to: mail } } };
    for (const body of [
      { contents: [{ parts: [{ text: mail }] }] },
      { ...HELLO, system_instruction: { parts: [{ text: mail }] } },
      {
        contents: [
          ...HELLO.contents,
          { role: "model", parts: [call] },
          { parts: [{ functionResponse: { name: "f", response: {} } }] },
        ],
      },
      {
        contents: [...HELLO.contents, { role: "model", parts: [{ functionCall: { name: "f" } }] }, { parts: [result] }],
      },
      { ...HELLO, tools: [{ functionDeclarations: [{ name: "f", description: mail }] }] },
    ]) {
      const refused = await scene.gateway.call(own.key, at(D1.model), { body });
      expect([refused.status, refused.body.error?.details?.[0].reason]).toEqual([403, "SOVEREIGNTY_FLOOR_NOT_MET"]);
    }
  });

  test("GEM-01 a disabled dialect responds with gemini_not_enabled and is in no list", async () => {
    const off = await startGateway({ env: { GATEWAY_GEMINI: "off" } });
    try {
      const { key } = await off.tenant();
      const refused = await off.call(key, at("sandbox/chat"), { body: HELLO });
      expect([refused.status, refused.body.error.details[0].metadata.code]).toEqual([404, "gemini_not_enabled"]);
      const { data } = (await off.call(key, "/v1/models")).body;
      expect(data.some(({ svc_surfaces: surfaces }: Json) => surfaces.includes("gemini"))).toBe(false);
    } finally {
      await off.close();
    }
  });
});
