import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildPortal } from "../scripts/portal.mjs";
import { portalHandlers } from "../src/app/surfaces/portal.ts";
import { startGateway, type TestGateway } from "./support/gateway.ts";

const DIST = path.resolve(import.meta.dirname, "../portal/dist");
const SCRIPT_BYTES_MAX = 250_000;

let gateway: TestGateway;

beforeAll(async () => {
  await buildPortal();
  gateway = await startGateway();
});
afterAll(() => gateway?.close());

const get = (where: string, headers: Record<string, string> = {}) =>
  fetch(`${gateway.url}${where}`, { headers, redirect: "manual" });

/** Names of the files that the page loads. */
const filesOf = (html: string) =>
  [...html.matchAll(/(?:src|href)="(\/app\/assets\/[^"]+)"/g)].map(([, file = ""]) => file);

describe("the portal, served", () => {
  test.each(["/", "/app", "/app/", "/app/models", "/app/w/demo/keys", "/device", "/app/no/such/page"])(
    "PORTAL-12 PORTAL-11 %s is the page: no redirect, a strict policy, no external resources",
    async (at) => {
      const answer = await get(at);
      const html = await answer.text();
      expect(answer.status).toBe(200);
      expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(answer.headers.get("cache-control")).toBe("no-cache");
      expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
      expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
      expect(answer.headers.get("cross-origin-opener-policy")).toBe("same-origin");
      expect(answer.headers.get("permissions-policy")).toContain("camera=()");
      const policy = answer.headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("script-src 'self';");
      expect(policy).toContain("style-src 'self';");
      expect(policy).toContain("connect-src 'self';");
      expect(policy).toContain("base-uri 'none'; form-action 'self'; frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|https?:|\*/);
      expect(html).toContain('id="root"');
      expect(html).toContain(`content="${gateway.url}/v1"`);
      expect(html).not.toMatch(/<style|<script(?![^>]*src=)|\son\w+=/);
      expect(filesOf(html).length).toBeGreaterThan(2);
    },
  );

  test("a page that the browser has cached is not sent again", async () => {
    const etag = (await get("/app/models")).headers.get("etag") ?? "";
    expect(etag).not.toBe("");
    expect((await get("/", { "if-none-match": etag })).status).toBe(304);
  });

  const TYPES: Readonly<Record<string, string>> = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
  };

  test("its files are immutable, and compressed if the client accepts it", async () => {
    for (const file of filesOf(await (await get("/")).text())) {
      const plain = await get(file, { "accept-encoding": "identity" });
      expect(plain.status).toBe(200);
      expect(plain.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      expect(plain.headers.get("content-type")).toBe(TYPES[path.extname(file)]);
      const text = await plain.text();
      if (file.endsWith(".woff2")) continue;
      for (const encoding of ["gzip", "br"]) {
        const packed = await get(file, { "accept-encoding": encoding });
        expect(packed.headers.get("content-encoding")).toBe(encoding);
        expect(packed.headers.get("vary")).toContain("accept-encoding");
        expect(await packed.text()).toBe(text);
      }
    }
  });

  test("the page preloads the text font, which is sent as it is: fonts are compressed files", async () => {
    const [font = "", ...others] = filesOf(await (await get("/")).text()).filter((file) => file.endsWith(".woff2"));
    expect(font).toContain("inter-latin-wght-normal");
    expect(others).toEqual([]);
    const answer = await get(font, { "accept-encoding": "br, gzip" });
    expect(answer.headers.get("content-encoding")).toBeNull();
    expect(Buffer.from(await answer.arrayBuffer()).toString("latin1", 0, 4)).toBe("wOF2");
  });

  test("only Latin fonts are built, and no italics", () => {
    const fonts = readdirSync(path.join(DIST, "assets")).filter((file) => file.endsWith(".woff2"));
    expect(new Set(fonts.map((file) => file.replace(/-normal.*$/, "")))).toEqual(
      new Set([
        "inter-latin-wght",
        "inter-latin-ext-wght",
        "jetbrains-mono-latin-wght",
        "jetbrains-mono-latin-ext-wght",
      ]),
    );
  });

  test.each([
    "/app/assets/nothing.js",
    "/app/assets/..%2findex.html",
    "/app/assets/..%2f..%2f..%2fpackage.json",
    "/app/assets/manifest.json",
  ])("%s is not found", async (at) => {
    const answer = await get(at);
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ error: { code: "not_found" } });
  });

  test("PORTAL-12 no screen loads more than 250 kB of compressed script at first", () => {
    const manifest: Record<string, { file: string; isEntry?: boolean; isDynamicEntry?: boolean; imports?: string[] }> =
      JSON.parse(readFileSync(path.join(DIST, "assets/manifest.json"), "utf8"));
    const entry = "index.html";
    expect(manifest[entry]?.isEntry).toBe(true);
    const withImports = (name: string, seen = new Set<string>()): Set<string> => {
      if (!seen.has(name)) {
        seen.add(name);
        for (const one of manifest[name]?.imports ?? []) withImports(one, seen);
      }
      return seen;
    };
    const screens = Object.keys(manifest).filter((name) => name.startsWith("src/screens/"));
    expect(screens.length).toBeGreaterThan(5);
    const heavy = screens.flatMap((screen) => {
      const files = [...withImports(entry), ...withImports(screen)].map((name) => manifest[name]?.file ?? "");
      const bytes = [...new Set(files)]
        .filter((file) => file.endsWith(".js"))
        .reduce((sum, file) => sum + readFileSync(path.join(DIST, `${file}.gz`)).length, 0);
      return bytes > SCRIPT_BYTES_MAX ? [`${screen}: ${bytes}`] : [];
    });
    expect(heavy).toEqual([]);
  });

  test("without a built portal the old start page answers", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "no-portal-"));
    const start = { kind: "buffered", handle: async () => ({ status: 200, bytes: "start" }) } as const;
    const handlers = portalHandlers({ folder, publicUrl: gateway.url }, start);
    expect([handlers["getStartPage"], handlers["getPortalPage"], handlers["getDevicePage"]]).toEqual([
      start,
      start,
      start,
    ]);
    rmSync(folder, { recursive: true });
  });
});
