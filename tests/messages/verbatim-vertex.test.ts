import { generateKeyPairSync } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Json, startGateway, type TestGateway } from "../support/gateway.ts";
import { messageJson, messageStream } from "../support/messages.ts";
import { contentOf } from "../support/scene.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

/** Claude on Vertex: the same bodies through rawPredict, for messages and chat callers. */
const MODEL = "anthropic/claude-sonnet-5-5";
const MODELS_PATH = "/v1/projects/my-project/locations/eu/publishers/anthropic/models";
const HELLO = [{ role: "user", content: "Hello" }];
const ANSWER = messageJson([{ type: "text", text: "Hello there" }]);
const EVENTS = { "content-type": "text/event-stream" };

describe("Claude on Vertex", () => {
  let vertex: Upstream;
  let authority: Upstream;
  let gateway: TestGateway;
  let key: string;
  const account = path.join(os.tmpdir(), `vertex-claude-${process.pid}.json`);

  beforeAll(async () => {
    const { privateKey } = generateKeyPairSync("rsa", {
      modulusLength: 2048,
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
      publicKeyEncoding: { type: "spki", format: "pem" },
    });
    vertex = await startUpstream({ json: ANSWER });
    authority = await startUpstream({ json: { access_token: "ya29.token", expires_in: 3600, token_type: "Bearer" } });
    await writeFile(
      account,
      JSON.stringify({
        type: "service_account",
        project_id: "my-project",
        private_key_id: "key-1",
        private_key: privateKey,
        client_email: "gateway@my-project.iam.gserviceaccount.example",
        token_uri: `${authority.url}/token`,
      }),
    );
    gateway = await startGateway({
      env: {
        GATEWAY_SANDBOX: "off",
        PROVIDER_GOOGLE_VERTEX_CREDENTIALS_FILE: account,
        PROVIDER_GOOGLE_VERTEX_BASE_URL: vertex.url,
      },
    });
    key = (await gateway.tenant()).key;
  });
  afterAll(async () => {
    await Promise.all([gateway?.close(), vertex?.close(), authority?.close()]);
    await rm(account, { force: true });
  });

  const received = () => vertex.requests.at(-1);

  test("MSG-01 the body is sent to rawPredict with Vertex's version, the model in the path, filtered betas in the header", async () => {
    const text = `{"model":"${MODEL}", "max_tokens":5,"messages":[{"role":"user","content":"Caf\\u00e9"}],"novel":1.0}`;
    const { status, body, headers } = await gateway.call(key, "/v1/messages", {
      body: text,
      headers: { "anthropic-version": "2026-10-21", "anthropic-beta": "web-search-2025-03-05,files-api-2025-04-14" },
    });
    expect(status).toBe(200);
    expect(received()?.path).toBe(`${MODELS_PATH}/claude-sonnet-5-5:rawPredict`);
    expect(received()?.raw.toString()).toBe(
      '{"max_tokens":5,"messages":[{"role":"user","content":"Caf\\u00e9"}],"novel":1.0,"anthropic_version":"vertex-2023-10-16"}',
    );
    const sent = received()?.headers;
    expect(sent).toMatchObject({ authorization: "Bearer ya29.token", "anthropic-beta": "web-search-2025-03-05" });
    expect(sent).not.toHaveProperty("anthropic-version");
    expect(sent).not.toHaveProperty("x-api-key");
    expect(body).toEqual({ ...ANSWER, id: headers.get("x-svc-request-id") });
    expect(headers.get("x-svc-provider")).toBe("google-vertex");
  });

  test("MSG-01 unknown cache hints are dropped, also for token counts", async () => {
    const base = { max_tokens: 5, messages: [{ role: "user", content: "Hi" }] };
    const system = (cache_control: object) => [{ type: "text", text: "Be brief.", cache_control }];
    const mark = { type: "ephemeral" };
    const request = { model: MODEL, ...base, system: system({ ...mark, scope: "global" }), cache_control: mark };
    const beta = { "anthropic-beta": "prompt-caching-scope-2026-01-05" };
    for (const path of ["/v1/messages", "/v1/messages/count_tokens"]) {
      await gateway.call(key, path, { body: request, headers: beta });
      expect(received()?.json).toMatchObject({ messages: base.messages, system: system(mark) });
      expect(received()?.json).not.toHaveProperty("cache_control");
    }
  });

  test("MSG-01 a stream uses streamRawPredict and is returned unchanged", async () => {
    const source = messageStream(ANSWER, 3);
    vertex.next({ headers: EVENTS, body: source });
    const { text, headers } = await gateway.call(key, "/v1/messages", {
      body: { model: MODEL, max_tokens: 5, stream: true, messages: HELLO },
    });
    expect(received()?.path).toBe(`${MODELS_PATH}/claude-sonnet-5-5:streamRawPredict`);
    expect(received()?.json).toMatchObject({ stream: true });
    expect(text).toBe(source.toString().replace("msg_1", headers.get("x-svc-request-id") ?? ""));
  });

  test("CHAT-01 chat completions use the same URL", async () => {
    const whole = await gateway.call(key, "/v1/chat/completions", { body: { model: MODEL, messages: HELLO } });
    expect(whole.body.choices[0].message.content).toBe("Hello there");
    expect(received()?.path).toBe(`${MODELS_PATH}/claude-sonnet-5-5:rawPredict`);
    const sent: Json = received()?.json;
    expect(sent.anthropic_version).toBe("vertex-2023-10-16");
    expect(sent).not.toHaveProperty("model");

    vertex.next({ headers: EVENTS, body: messageStream(ANSWER, 3) });
    const stream = await gateway.call(key, "/v1/chat/completions", {
      body: { model: MODEL, messages: HELLO, stream: true },
    });
    expect(contentOf(stream.text)).toBe("Hello there");
    expect(received()?.path).toBe(`${MODELS_PATH}/claude-sonnet-5-5:streamRawPredict`);
  });

  test("MSG-03 tokens are counted at the shared URL for all models", async () => {
    vertex.next({ json: { input_tokens: 14 } });
    const { body } = await gateway.call(key, "/v1/messages/count_tokens", { body: { model: MODEL, messages: HELLO } });
    expect(body).toEqual({ input_tokens: 14 });
    expect(received()?.path).toBe(`${MODELS_PATH}/count-tokens:rawPredict`);
    expect(received()?.json).toEqual({
      model: "claude-sonnet-5-5",
      messages: HELLO,
      anthropic_version: "vertex-2023-10-16",
    });
  });

  test.each([
    [
      "the model's",
      { type: "error", error: { type: "invalid_request_error", message: "max_tokens: too large" } },
      "max_tokens: too large",
    ],
    ["Google's", [{ error: { code: 400, message: "Bad body", status: "INVALID_ARGUMENT" } }], "Bad body"],
  ])("ERR-06 a refusal in %s format is passed on", async (_, json, message) => {
    for (const where of ["/v1/messages", "/v1/chat/completions"]) {
      vertex.next({ status: 400, json });
      const { status, body } = await gateway.call(key, where, {
        body: { model: MODEL, max_tokens: 5, messages: HELLO },
      });
      expect(status).toBe(400);
      expect(body.error).toMatchObject({ code: "provider_error", message });
    }
  });
});
