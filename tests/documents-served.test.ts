import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Json, startGateway, type TestGateway } from "./support/gateway.ts";

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

const get = (where: string, headers: Record<string, string> = {}) => fetch(`${gateway.url}${where}`, { headers });

describe("public documents", () => {
  test.each(["/docs/api/spec", "/docs/manage/spec"])(
    "GEN-02 %s is OpenAPI 3.1 as JSON, with this gateway's URL",
    async (at) => {
      const answer = await get(at);
      expect(answer.status).toBe(200);
      expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
      expect(await answer.json()).toMatchObject({
        openapi: "3.1.0",
        servers: [{ url: at === "/docs/api/spec" ? `${gateway.url}/v1` : gateway.url }],
      });
    },
  );

  test("GEN-02 a document that the client has cached is not sent again", async () => {
    const etag = (await get("/docs/api/spec")).headers.get("etag") ?? "";
    expect(etag).not.toBe("");
    const again = await get("/docs/api/spec", { "if-none-match": etag });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    expect((await get("/docs/api/spec", { "if-none-match": '"other"' })).status).toBe(200);
  });

  test("GEN-03 /docs is a page whose files are all served by the gateway", async () => {
    const answer = await get("/docs");
    const html = await answer.text();
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toMatch(/^text\/html/);
    const policy = answer.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/https?:|\*/);
    const files = [...html.matchAll(/<(?:script|link|img)[^>]*(?:src|href)="([^"]+)"/g)].map(([, file = ""]) => file);
    const local = files.filter((file) => !file.startsWith("data:"));
    expect(local.length).toBeGreaterThan(0);
    for (const file of local) {
      expect(file).toMatch(/^\/docs\/assets\//);
      const script = await get(file, { "accept-encoding": "identity" });
      expect(script.status).toBe(200);
      expect(script.headers.get("content-type")).toMatch(/^text\/javascript/);
      expect(script.headers.get("cache-control")).toContain("immutable");
    }
  });

  test("GEN-03 a script is compressed if the client accepts it, with the same content", async () => {
    const html = await (await get("/docs")).text();
    const file = /src="(\/docs\/assets\/start-[^"]+)"/.exec(html)?.[1] ?? "";
    const plain = await (await get(file, { "accept-encoding": "identity" })).text();
    for (const encoding of ["gzip", "br"]) {
      const answer = await get(file, { "accept-encoding": encoding });
      expect(answer.headers.get("content-encoding")).toBe(encoding);
      expect(answer.headers.get("vary")).toContain("accept-encoding");
      expect(await answer.text()).toBe(plain);
    }
    expect((await get(file, { "accept-encoding": "br;q=0" })).headers.get("content-encoding")).toBeNull();
  });

  test("GEN-03 the page renders this gateway's documents and loads nothing from elsewhere", async () => {
    const html = await (await get("/docs")).text();
    const file = /src="(\/docs\/assets\/start-[^"]+)"/.exec(html)?.[1] ?? "";
    const drawn: Json[] = [];
    const Scalar = { createApiReference: (at: string, shown: Json) => void drawn.push({ at, ...shown }) };
    runInNewContext(await (await get(file)).text(), { Scalar, location: { origin: gateway.url } });
    expect(drawn).toMatchObject([
      { telemetry: false, withDefaultFonts: false, agent: { disabled: true }, mcp: { disabled: true } },
    ]);
    const [{ at, sources }] = drawn;
    expect(html).toContain(`id="${at.slice(1)}"`);
    for (const [shown, where] of [
      [sources[0], "/docs/api/spec"],
      [sources[1], "/docs/manage/spec"],
    ]) {
      expect(shown.url).toBe(`${gateway.url}${where}`);
      expect(await (await fetch(shown.url)).json()).toMatchObject({ servers: shown.servers });
    }
  });

  test.each(["/docs/assets/nothing.js", "/docs/assets/..%2f..%2fpackage.json", "/docs/assets/%2e%2e/spec"])(
    "GEN-03 %s is not found",
    async (at) => {
      const answer = await get(at);
      expect(answer.status).toBe(404);
      expect(await answer.json()).toMatchObject({ error: { code: "not_found" } });
    },
  );

  test("GEN-03 /llms.txt is plain text with the base URL", async () => {
    const answer = await get("/llms.txt");
    expect(answer.headers.get("content-type")).toMatch(/^text\/plain/);
    expect(await answer.text()).toContain(`${gateway.url}/v1`);
  });

  test("/ is a page, not a redirect, with the base URL and a link to /docs", async () => {
    const answer = await fetch(`${gateway.url}/`, { redirect: "manual" });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toMatch(/^text\/html/);
    const html = await answer.text();
    expect(html).toContain('href="/docs"');
    expect(html).toContain(`${gateway.url}/v1`);
  });
});
