import { type IncomingHttpHeaders, request } from "node:http";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { ROUTES } from "../../src/contract/routes.ts";
import { isJsonObject } from "../../src/kit/json.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { HELLO } from "./wire.ts";

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RPM_IP: "0" } });
});
afterAll(() => gateway.close());

type SentHeaders = Readonly<Record<string, string>>;
type Received = { status: number; headers: IncomingHttpHeaders; body: Buffer };

/** Bytes as they are on the wire: fetch would decompress them. */
function get(path: string, headers: SentHeaders = {}, method = "GET"): Promise<Received> {
  return new Promise((resolve, reject) => {
    const sent = request(`${gateway.url}${path}`, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    sent.on("error", reject);
    sent.end();
  });
}

const operator = (): SentHeaders => ({ Authorization: `Bearer ${gateway.adminToken}` });
const MODELS = "/v1/public/models";

describe("the route table", () => {
  const compressed = ROUTES.filter((route) => route.compressed === true);
  const never = ROUTES.filter((route) => route.compressed !== true);

  test("PORTAL-24 no inference route is compressed", () => {
    const inference = ROUTES.filter(({ access }) => access.by === "key" && access.scope !== "inference:models");
    expect(inference.length).toBeGreaterThan(10);
    for (const route of inference) expect(route.compressed, route.id).toBeUndefined();
    for (const { id, answer } of compressed) expect(["json", "text"], id).toContain(answer.is);
  });

  test("PORTAL-24 every read of the management API and the catalogue is compressed", () => {
    const reads = ROUTES.filter(
      ({ access, method, path, answer }) =>
        method === "GET" && answer.is === "json" && (access.by === "manager" || path.startsWith("/v1/public/")),
    );
    for (const route of reads) expect(route.compressed, route.id).toBe(true);
  });

  test("PORTAL-24 no response that carries a secret is compressed (BREACH)", () => {
    for (const { id, answer } of compressed)
      if (answer.is === "json") expect(secretMembers(answer.schema), id).toEqual([]);
    const carriers = never.filter(({ answer }) => answer.is === "json" && secretMembers(answer.schema).length > 0);
    const ids = carriers.map(({ id }) => id);
    for (const id of [
      ...["manageCreateKey", "manageRotateKey", "manageCreateToken", "manageCreateNode", "manageRotateNode"],
      ...["managePutAlerts", "manageRotateAlertSecret", "peopleInvite", "peopleReset", "peopleMakeSetupLink"],
    ])
      expect(ids).toContain(id);
    // Second factors, passkey challenges and recovery codes have no schema of their own.
    for (const { id, path } of compressed) expect(path, id).not.toMatch(/^\/manage\/(auth|setup|sign-up|invitations)/);
  });
});

const SECRET_NAME = /^(?:key|token|link|password|otpauth|totp|challenge|csrf|recovery_codes?|(?:\w+_)?secret)$/;

/** String members with the name of a secret. */
function secretMembers(schema: z.ZodType): string[] {
  const found = new Set<string>();
  const walk = (node: unknown, name: string): void => {
    if (Array.isArray(node)) for (const item of node) walk(item, name);
    if (!isJsonObject(node)) return;
    if (node["type"] === "string" && SECRET_NAME.test(name)) found.add(name);
    for (const [member, inner] of Object.entries(node)) {
      if (member === "properties" && isJsonObject(inner))
        for (const [property, own] of Object.entries(inner)) walk(own, property);
      else walk(inner, name);
    }
  };
  walk(z.toJSONSchema(schema, { io: "output", unrepresentable: "any" }), "");
  return [...found];
}

describe("representations", () => {
  test("PORTAL-24 the catalogue is sent in br, gzip and identity, each with its own ETag", async () => {
    const plain = await get(MODELS);
    const gzip = await get(MODELS, { "Accept-Encoding": "gzip" });
    const br = await get(MODELS, { "Accept-Encoding": "gzip, br" });
    expect(plain.headers).not.toHaveProperty("content-encoding");
    expect(gzip.headers).toMatchObject({ "content-encoding": "gzip", "content-type": "application/json" });
    expect(br.headers).toMatchObject({ "content-encoding": "br" });
    for (const { headers, body } of [plain, gzip, br]) {
      expect(headers["vary"]).toMatch(/Accept-Encoding/);
      expect(headers["content-length"]).toBe(String(body.length));
    }
    expect(gunzipSync(gzip.body)).toEqual(plain.body);
    expect(brotliDecompressSync(br.body)).toEqual(plain.body);
    expect(br.body.length).toBeLessThan(plain.body.length / 4);
    expect(new Set([plain, gzip, br].map(({ headers }) => headers["etag"])).size).toBe(3);
    // From the cache, byte for byte.
    expect((await get(MODELS, { "Accept-Encoding": "br" })).body).toEqual(br.body);
  });

  test("PORTAL-24 If-None-Match gives 304 for the ETag of the selected encoding only", async () => {
    const accept = { "Accept-Encoding": "gzip" };
    const { etag = "" } = (await get(MODELS, accept)).headers;
    const { etag: plainEtag = "" } = (await get(MODELS)).headers;
    const unchanged = await get(MODELS, { ...accept, "If-None-Match": etag });
    expect(unchanged).toMatchObject({ status: 304, headers: { etag } });
    expect(unchanged.body).toHaveLength(0);
    expect(unchanged.headers["vary"]).toMatch(/Accept-Encoding/);
    expect(unchanged.headers).not.toHaveProperty("content-encoding");
    expect((await get(MODELS, { ...accept, "If-None-Match": `W/${etag}` })).status).toBe(304);
    expect((await get(MODELS, { "If-None-Match": plainEtag })).status).toBe(304);
    expect((await get(MODELS, { ...accept, "If-None-Match": plainEtag })).status).toBe(200);
    expect((await get(MODELS, { "If-None-Match": etag })).status).toBe(200);
  });

  test("PORTAL-24 HEAD has the headers of GET and no body; Range is ignored", async () => {
    const accept = { "Accept-Encoding": "br" };
    const whole = await get(MODELS, accept);
    const head = await get(MODELS, accept, "HEAD");
    expect(head.body).toHaveLength(0);
    for (const name of ["etag", "content-encoding", "content-length", "vary"])
      expect(head.headers[name]).toBe(whole.headers[name]);
    const range = await get(MODELS, { ...accept, Range: "bytes=0-9" });
    expect(range).toMatchObject({ status: 200 });
    expect(range.body).toEqual(whole.body);
  });

  test("PORTAL-24 management reads are compressed above 1 kB, small ones and errors are not", async () => {
    const accept = { ...operator(), "Accept-Encoding": "gzip" };
    const settings = await get("/manage/settings", accept);
    expect(settings.headers).toMatchObject({ "content-encoding": "gzip", "cache-control": "no-store" });
    expect(JSON.parse(gunzipSync(settings.body).toString())).toHaveProperty("data");
    const small = await get("/manage/workspaces/demo", accept);
    expect(small.body.length).toBeLessThan(1025);
    expect(small.headers).not.toHaveProperty("content-encoding");
    expect(small.headers["vary"]).toBe("Accept-Encoding");
    expect((await get("/manage/workspaces/nothing", accept)).headers).not.toHaveProperty("content-encoding");
  });

  test("PORTAL-24 a new key and an inference response leave as they are", async () => {
    const headers = { "accept-encoding": "gzip, br" };
    const made = await gateway.call(gateway.adminToken, "/manage/workspaces/demo/keys", {
      body: { name: "plain", environment: "test" },
      headers,
    });
    expect(made.status).toBe(201);
    expect(made.headers.get("content-encoding")).toBeNull();
    const answer = await gateway.call(gateway.key, "/v1/chat/completions", {
      body: { ...HELLO, messages: [{ role: "user", content: "word ".repeat(2000) }] },
      headers,
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-encoding")).toBeNull();
  });
});
