import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createHttpClient } from "../../src/http1/client/http-client.ts";
import { CredentialRefusedError } from "../../src/io/upstream/credential-secrets.ts";
import { createMintedCredential, parseServiceAccountKey } from "../../src/io/upstream/google-service-account.ts";
import { systemTimers } from "../../src/kit/timers.ts";
import { ConfigError } from "../../src/settings/config.ts";
import { gatewayForTest, type Json, startGateway, type TestGateway } from "../support/gateway.ts";
import { chunk, frame, frames, whole } from "../support/gemini.ts";
import { contentOf } from "../support/scene.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

const { privateKey, publicKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" },
});
const EMAIL = "gateway@my-project.iam.gserviceaccount.example";
const MODEL = "google/gemini-2.5-flash";

const keyFile = (tokenUri: string, more: object = {}) =>
  JSON.stringify({
    type: "service_account",
    project_id: "my-project",
    private_key_id: "key-1",
    private_key: privateKey,
    client_email: EMAIL,
    token_uri: tokenUri,
    ...more,
  });

function tokenAnswer(token: string, expires_in = 3600) {
  return { json: { access_token: token, expires_in, token_type: "Bearer" } };
}

async function fileWith(text: string): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "vertex-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = path.join(folder, "account.json");
  await writeFile(file, text);
  return file;
}

/** The parts of a signed token request, after its signature was checked. */
function statementIn(form: Buffer): { header: Json; claims: Json; grant: string | null } {
  const fields = new URLSearchParams(form.toString());
  const [header = "", claims = "", signature = ""] = (fields.get("assertion") ?? "").split(".");
  const signed = verify(
    "RSA-SHA256",
    Buffer.from(`${header}.${claims}`),
    createPublicKey(publicKey),
    Buffer.from(signature, "base64url"),
  );
  expect(signed).toBe(true);
  const read = (part: string): Json => JSON.parse(Buffer.from(part, "base64url").toString());
  return { header: read(header), claims: read(claims), grant: fields.get("grant_type") };
}

describe("Vertex AI", () => {
  let vertex: Upstream;
  let authority: Upstream;
  let gateway: TestGateway;
  let key: string;
  const account = path.join(os.tmpdir(), `vertex-account-${process.pid}.json`);

  beforeAll(async () => {
    vertex = await startUpstream({ json: whole([{ text: "Hello" }]) });
    authority = await startUpstream(tokenAnswer("ya29.first"));
    await writeFile(account, keyFile(`${authority.url}/token`));
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
    await Promise.all([gateway.close(), vertex.close(), authority.close()]);
    await rm(account, { force: true });
  });

  const chat = (more: object = {}) =>
    gateway.call(key, "/v1/chat/completions", {
      body: { model: MODEL, messages: [{ role: "user", content: "Hi" }], ...more },
    });

  test("CHAT-01 models are called in the account's project and the endpoint's region with the account's token", async () => {
    const { status, body, headers } = await chat();
    expect([status, body.choices[0].message.content]).toEqual([200, "Hello"]);
    expect(headers.get("x-svc-provider")).toBe("google-vertex");
    const received = vertex.requests.at(-1);
    expect(received?.path).toBe(
      "/v1/projects/my-project/locations/eu/publishers/google/models/gemini-2.5-flash:generateContent",
    );
    expect(received?.headers.authorization).toBe("Bearer ya29.first");
    expect(received?.headers).not.toHaveProperty("x-goog-api-key");
  });

  test("EMB-01 embeddings too, one text per request, normalized if shortened", async () => {
    vertex.next({
      json: { predictions: [{ embeddings: { values: [3, 4], statistics: { truncated: false, token_count: 3 } } }] },
    });
    const body = { model: "google/gemini-embedding-001", input: "hi", dimensions: 2 };
    const answer = await gateway.call(key, "/v1/embeddings", { body });
    expect(answer.body).toMatchObject({ data: [{ embedding: [0.6, 0.8] }], usage: { prompt_tokens: 3 } });
    const received = vertex.requests.at(-1);
    expect(received?.path).toBe(
      "/v1/projects/my-project/locations/eu/publishers/google/models/gemini-embedding-001:predict",
    );
    expect(received?.headers.authorization).toBe("Bearer ya29.first");
    expect(received?.json).toEqual({
      instances: [{ content: "hi" }],
      parameters: { autoTruncate: false, outputDimensionality: 2 },
    });
  });

  test("the account's token request is signed with its key and valid for one hour and one audience", () => {
    const { header, claims, grant } = statementIn(authority.requests[0]?.raw ?? Buffer.alloc(0));
    expect(grant).toBe("urn:ietf:params:oauth:grant-type:jwt-bearer");
    expect(header).toEqual({ alg: "RS256", typ: "JWT", kid: "key-1" });
    expect(claims).toEqual({
      iss: EMAIL,
      scope: "https://www.googleapis.com/auth/cloud-platform",
      aud: `${authority.url}/token`,
      iat: expect.any(Number),
      exp: claims.iat + 3600,
    });
  });

  test("CHAT-01 a stream uses the same URL, and one token serves all requests", async () => {
    vertex.next({ frames: frames([{ text: "Hello" }, { text: " there" }]) });
    const { text } = await chat({ stream: true });
    expect(contentOf(text)).toBe("Hello there");
    expect(vertex.requests.at(-1)?.path).toMatch(/:streamGenerateContent\?alt=sse$/);
    await Promise.all([chat(), chat(), chat()]);
    expect(authority.requests).toHaveLength(1);
  });

  test("ERR-06 ERR-09 a token that the provider echoes in its refusal is redacted, whole or streamed", async () => {
    authority.always(tokenAnswer("plain-looking-token-0001"));
    const other = await startGateway({
      env: {
        GATEWAY_SANDBOX: "off",
        PROVIDER_GOOGLE_VERTEX_CREDENTIALS_FILE: account,
        PROVIDER_GOOGLE_VERTEX_BASE_URL: vertex.url,
      },
    });
    try {
      const caller = (await other.tenant()).key;
      for (const stream of [false, true]) {
        const message = "the caller plain-looking-token-0001 sent a bad part";
        vertex.next({ status: 400, json: { error: { code: 400, message, status: "INVALID_ARGUMENT" } } });
        const { status, body } = await other.call(caller, "/v1/chat/completions", {
          body: { model: MODEL, messages: [{ role: "user", content: "Hi" }], stream },
        });
        expect([status, body.error.message]).toEqual([400, "the caller [redacted] sent a bad part"]);
      }
    } finally {
      await other.close();
    }
  });

  test("ERR-07 ERR-09 without a token the provider is not called, and nothing about the account is shown", async () => {
    const refusing = await startUpstream({ status: 400, json: { error: "invalid_grant", error_description: EMAIL } });
    const silent = await startUpstream();
    onTestFinished(() => Promise.all([refusing.close(), silent.close()]).then(() => undefined));
    const other = await gatewayForTest({
      env: {
        GATEWAY_SANDBOX: "off",
        PROVIDER_GOOGLE_VERTEX_CREDENTIALS_FILE: await fileWith(keyFile(`${refusing.url}/token`)),
        PROVIDER_GOOGLE_VERTEX_BASE_URL: silent.url,
      },
    });
    const tenant = await other.tenant();
    const { status, text, body } = await other.call(tenant.key, "/v1/chat/completions", {
      body: { model: MODEL, messages: [{ role: "user", content: "Hi" }] },
    });
    expect([status, body.error.code]).toEqual([502, "upstream_error"]);
    expect(text).not.toContain(EMAIL);
    expect(silent.requests).toHaveLength(0);
  });

  test("ROUTE-04 a failed tool call is retried at the next endpoint, whole and in a stream", async () => {
    const studio = await startUpstream();
    onTestFinished(() => studio.close());
    const both = await gatewayForTest({
      env: {
        GATEWAY_SANDBOX: "off",
        PROVIDER_GOOGLE_AI_STUDIO_API_KEY: "key",
        PROVIDER_GOOGLE_AI_STUDIO_BASE_URL: studio.url,
        PROVIDER_GOOGLE_VERTEX_CREDENTIALS_FILE: account,
        PROVIDER_GOOGLE_VERTEX_BASE_URL: vertex.url,
      },
    });
    const tenant = await both.tenant();
    const failure = chunk([], { finish: "MALFORMED_FUNCTION_CALL" });
    for (const stream of [false, true]) {
      studio.next(stream ? { frames: [frame(failure)] } : { json: failure });
      if (stream) vertex.next({ frames: frames([{ text: "Hello" }]) });
      const { status, headers } = await both.call(tenant.key, "/v1/chat/completions", {
        body: { model: MODEL, messages: [{ role: "user", content: "Hi" }], stream },
      });
      expect([status, headers.get("x-svc-provider")]).toEqual([200, "google-vertex"]);
    }
    expect(studio.requests).toHaveLength(2);
  });

  test("an invalid key file stops the start, and the message does not show its content", async () => {
    for (const text of ["{oops", "{}", keyFile("http://127.0.0.1/token", { private_key: "SECRET-CANARY" })]) {
      const started = startGateway({
        env: { GATEWAY_SANDBOX: "off", PROVIDER_GOOGLE_VERTEX_CREDENTIALS_FILE: await fileWith(text) },
      });
      const error = await started.catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ConfigError);
      expect(String(error)).toMatch(/PROVIDER_GOOGLE_VERTEX_CREDENTIALS: it/);
      expect(String(error)).not.toContain("CANARY");
    }
  });

  test("OPS-05 a plain key instead of the key file stops the start, and the message says what to set instead", async () => {
    const started = startGateway({ env: { GATEWAY_SANDBOX: "off", PROVIDER_GOOGLE_VERTEX_API_KEY: "AIza-CANARY-1" } });
    const error = await started.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConfigError);
    expect(String(error)).toMatch(/PROVIDER_GOOGLE_VERTEX_API_KEY: .*PROVIDER_GOOGLE_VERTEX_CREDENTIALS_FILE/);
    expect(String(error)).not.toContain("CANARY");
  });

  test("the listed setting of a provider is the one that connects it, and no plain key is kept", async () => {
    const plain = await gatewayForTest({ env: { GATEWAY_SANDBOX: "off" } });
    const { data } = await plain.manage("GET", "/providers");
    const settings = data.map(({ slug, setting }: Json) => [slug, setting]);
    expect(Object.fromEntries(settings)).toMatchObject({
      "google-vertex": "PROVIDER_GOOGLE_VERTEX_CREDENTIALS_FILE",
      "google-ai-studio": "PROVIDER_GOOGLE_AI_STUDIO_API_KEY",
    });
    const file = await fileWith("AIza-CANARY-1");
    const refused = await plain.cli("provider", "connect", "google-vertex", "--key-file", file, "--no-test");
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("google-vertex does not support plain keys"),
    });
    expect(refused.stderr).not.toContain("CANARY");
    const connected = await plain.cli("provider", "connect", "google-ai-studio", "--key-file", file, "--no-test");
    expect(connected.code).toBe(0);
  });
});

describe("tokens of a service account", () => {
  async function minted(nowMs: { value: number }) {
    const authority = await startUpstream(tokenAnswer("first"));
    const limits = { connections: 8, connectTimeoutMs: 1000, firstByteTimeoutMs: 1000, idleTimeoutMs: 1000 };
    const transport = createHttpClient(limits);
    onTestFinished(() => Promise.all([authority.close(), transport.close()]).then(() => undefined));
    const account = parseServiceAccountKey(keyFile(`${authority.url}/token`));
    if ("problem" in account) throw new Error(account.problem);
    const clock = { nowMs: () => nowMs.value, monotonicMs: () => 0 };
    return { authority, credential: createMintedCredential(account, { transport, clock, timers: systemTimers }) };
  }

  test("concurrent requests share one fetch, and the token is used until shortly before its expiry", async () => {
    const now = { value: 1_800_000_000_000 };
    const { authority, credential } = await minted(now);
    expect(await Promise.all([1, 2, 3].map(() => credential.token()))).toEqual(["first", "first", "first"]);
    authority.always(tokenAnswer("second"));
    now.value += 3_539_000;
    expect(await credential.token()).toBe("first");
    now.value += 1_000;
    expect(await credential.token()).toBe("second");
    expect(authority.requests).toHaveLength(2);
  });

  test("a failure is not cached: the next request fetches again", async () => {
    const { authority, credential } = await minted({ value: 0 });
    for (const bad of [
      { status: 503, body: "no" },
      { json: { token: "?" } },
      { body: "<html>" },
      tokenAnswer("x", 0),
    ]) {
      authority.next(bad);
      await expect(credential.token()).rejects.toThrow("token endpoint");
    }
    authority.next({ end: { is: "cut", after: "before_headers" } });
    await expect(credential.token()).rejects.toThrow("token endpoint");
    expect(await credential.token()).toBe("first");
  });

  test("BILL-08 a rejected account is distinguished from an unreachable token server", async () => {
    const { authority, credential } = await minted({ value: 0 });
    for (const [status, is] of [
      [400, true],
      [401, true],
      [403, true],
      [429, false],
      [500, false],
    ] as const) {
      authority.next({ status, json: { error: "invalid_grant" } });
      const error: unknown = await credential.token().catch((thrown: unknown) => thrown);
      expect(error instanceof CredentialRefusedError, String(status)).toBe(is);
    }
  });
});
