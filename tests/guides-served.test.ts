import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildPortal } from "../scripts/portal.mjs";
import { guideHandlers, readGuideList } from "../src/app/surfaces/guides.ts";
import { FAULTS } from "../src/contract/faults.ts";
import { startGateway, type TestGateway } from "./support/gateway.ts";

let gateway: TestGateway;

beforeAll(async () => {
  await buildPortal();
  gateway = await startGateway();
});
afterAll(() => gateway?.close());

const HTML = { accept: "text/html,application/xhtml+xml" };
const get = (where: string, headers: Record<string, string> = {}) =>
  fetch(`${gateway.url}${where}`, { headers, redirect: "manual" });
const filesOf = (html: string) =>
  [...html.matchAll(/<(?:script|link|img)[^>]*(?:src|href)="([^"]+)"/g)]
    .map(([, file = ""]) => file)
    .filter((file) => !file.startsWith("data:"));

describe("the guides, served", () => {
  test.each(["/docs/guides", "/docs/guides/routing", "/docs/guides/clients/codex", "/docs/guides/errors"])(
    "PORTAL-23 %s is a page with a strict policy whose files are all served by the gateway",
    async (at) => {
      const response = await get(at, HTML);
      const html = await response.text();
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      const policy = response.headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
      expect(policy).not.toMatch(/unsafe|https?:|\*/);
      expect(html).not.toMatch(/<style|<script(?![^>]*src=)|\son\w+=|\sstyle=/);
      expect(html).toContain('<a class="back" href="/">');
      expect(html).toContain('href="/docs?api=manage"');
      const loaded = filesOf(html).filter((file) => !file.endsWith(".md"));
      expect(loaded.length).toBeGreaterThanOrEqual(4);
      const index = /data-search-index="([^"]+)"/.exec(html)?.[1] ?? "";
      const search = /data-search-script="([^"]+)"/.exec(html)?.[1] ?? "";
      for (const file of [...loaded, index, search]) {
        expect(file).toMatch(/^\/(?:app|docs)\/assets\//);
        const asset = await get(file);
        expect([file, asset.status, asset.headers.get("cache-control")]).toEqual([
          file,
          200,
          "public, max-age=31536000, immutable",
        ]);
      }
    },
  );

  test("PORTAL-23 every link of every page leads to a page, and every anchor to a section", async () => {
    const pages = new Map<string, string>();
    const open = ["/docs/guides"];
    const links: { from: string; to: string }[] = [];
    for (const at of open) {
      const html = await (await get(at, HTML)).text();
      pages.set(at, html);
      for (const [, href = ""] of html.matchAll(/<a [^>]*?href="([^"]+)"/g)) {
        const to = href.startsWith("#") ? `${at}${href}` : href;
        if (/^(?:https?|mailto):/.test(to)) continue;
        links.push({ from: at, to });
        const [page = ""] = to.split("#");
        if (page.startsWith("/docs/guides/") && !page.endsWith(".md") && !open.includes(page)) open.push(page);
      }
    }
    expect(pages.size).toBeGreaterThan(100);
    const others = new Map<string, number>();
    const broken: { from: string; to: string }[] = [];
    for (const { from, to } of links) {
      const [page = "", anchor] = to.split("#");
      const html = pages.get(page);
      if (html === undefined && !others.has(page)) others.set(page, (await get(page, HTML)).status);
      const isThere = html === undefined ? others.get(page) === 200 : html.includes("<h1>");
      const hasAnchor = anchor === undefined || anchor === "main" || html?.includes(`id="${anchor}"`) === true;
      if (!isThere || !hasAnchor) broken.push({ from, to });
    }
    expect(broken).toEqual([]);
  });

  test("PORTAL-23 a guide has a Markdown twin that links to other twins", async () => {
    const response = await get("/docs/guides/portal.md");
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/markdown; charset=utf-8");
    const text = await response.text();
    expect(text).toMatch(/^# The portal\n/);
    expect(text).toContain("](/docs/guides/wallet.md)");
    expect(text).not.toMatch(/\]\(\.\.?\//);
  });

  test("PORTAL-23 /llms.txt lists the Markdown twins, and each is served", async () => {
    const text = await (await get("/llms.txt")).text();
    const listed = [...text.matchAll(/\]\((http[^)]+\.md)\)/g)].map(([, url = ""]) => url);
    expect(listed.length).toBeGreaterThan(50);
    for (const name of ["Start", "Build", "Operate", "Trust", "Contribute"])
      expect(text).toContain(`## Guides: ${name}`);
    for (const url of listed) expect([url, (await fetch(url)).status]).toEqual([url, 200]);
  });

  test("PORTAL-23 a page is compressed on request, with one ETag per encoding, and not sent again", async () => {
    const plain = await get("/docs/guides/routing", { "accept-encoding": "identity" });
    const text = await plain.text();
    const etags = new Set([plain.headers.get("etag")]);
    for (const encoding of ["gzip", "br"]) {
      const packed = await get("/docs/guides/routing", { "accept-encoding": encoding });
      expect(packed.headers.get("content-encoding")).toBe(encoding);
      expect(packed.headers.get("vary")).toContain("accept-encoding");
      expect(await packed.text()).toBe(text);
      const etag = packed.headers.get("etag") ?? "";
      etags.add(etag);
      const again = await get("/docs/guides/routing", { "accept-encoding": encoding, "if-none-match": etag });
      expect([again.status, await again.text()]).toEqual([304, ""]);
    }
    expect(etags.size).toBe(3);
  });

  test.each([
    "/docs/guides/missing",
    "/docs/guides/clients/missing",
    "/docs/guides/..%2f..%2findex",
    "/docs/guides/a/b/c",
  ])("PORTAL-23 %s is a page that says so to browsers, and the error envelope to programs", async (at) => {
    const page = await get(at, { ...HTML, "if-none-match": "*" });
    expect(page.status).toBe(404);
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(await page.text()).toContain("Page not found");
    const envelope = await get(at);
    expect(envelope.status).toBe(404);
    expect(await envelope.json()).toMatchObject({ error: { code: "not_found" } });
  });

  test.each(["search-0.json", "..%2fpages.json", "pages.json", "..%2f..%2findex.html"])(
    "PORTAL-23 /docs/assets/%s is not found",
    async (name) => {
      expect((await get(`/docs/assets/${name}`)).status).toBe(404);
    },
  );

  test("PORTAL-23 an error names its section of the error reference, and every code has one", async () => {
    const refused = await get("/v1/models", { authorization: "Bearer wrong" });
    expect(refused.headers.get("link")).toBe('</docs/guides/errors#invalid_api_key>; rel="help"');
    const html = await (await get("/docs/guides/errors", HTML)).text();
    expect(Object.keys(FAULTS).filter((code) => !html.includes(`id="${code}"`))).toEqual([]);
  });

  test("PORTAL-23 the API references link to the guides and the portal, and both are selectable", async () => {
    const html = await (await get("/docs", HTML)).text();
    for (const href of ["/docs/guides", "/docs", "/docs?api=manage", "/"]) expect(html).toContain(`href="${href}"`);
  });

  test("PORTAL-23 without a built portal a guide is not found, and there is no list of guides", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "no-guides-"));
    const { getGuideList } = guideHandlers(folder, {});
    if (getGuideList?.kind !== "buffered") throw new Error("no handler");
    const exchange = { params: {}, headers: HTML } as unknown as Parameters<typeof getGuideList.handle>[0];
    await expect(getGuideList.handle(exchange)).rejects.toMatchObject({ code: "not_found" });
    expect(readGuideList(folder)).toEqual([]);
    rmSync(folder, { recursive: true });
  });
});
