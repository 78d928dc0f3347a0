import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "..");

/** Replaces Vite: each source becomes a file with its own name; a marked source fails the build. */
const VITE = `
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
const out = process.argv[process.argv.indexOf("--outDir") + 1];
const source = readFileSync("portal/src/main.tsx", "utf8");
if (source.includes("broken")) {
  console.error("main.tsx: a comma is missing");
  process.exit(1);
}
const name = "main-" + createHash("sha256").update(source).digest("hex").slice(0, 8) + ".js";
mkdirSync(out + "/assets", { recursive: true });
writeFileSync(out + "/assets/" + name, source);
writeFileSync(out + "/index.html", name);
`;

let project: string;
const at = (file: string) => path.join(project, file);
const page = () => readFileSync(at("portal/dist/index.html"), "utf8");

beforeAll(() => {
  project = mkdtempSync(path.join(tmpdir(), "portal-build-"));
  cpSync(path.join(ROOT, "scripts"), at("scripts"), { recursive: true });
  for (const folder of ["portal/src", "portal/vendor", "node_modules/vite/bin"])
    mkdirSync(at(folder), { recursive: true });
  writeFileSync(at("package.json"), '{ "type": "module" }');
  writeFileSync(at("package-lock.json"), "{}");
  writeFileSync(at("node_modules/vite/bin/vite.js"), VITE);
  writeFileSync(at("portal/vite.config.ts"), "");
  writeFileSync(at("portal/src/main.tsx"), "one");
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

function build(): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [at("scripts/portal.mjs")], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

describe("the build of the portal", () => {
  test("runs once, reports it in one line, and again when a source has changed; earlier files stay", async () => {
    expect(await build()).toMatchObject({
      code: 0,
      stdout: "",
      stderr: expect.stringMatching(/^Built the portal in [\d.]+ s\.\n$/),
    });
    const first = page();
    expect(await build()).toEqual({ code: 0, stdout: "", stderr: "" });
    writeFileSync(at("portal/src/main.tsx"), "two");
    expect((await build()).stderr).toContain("Built the portal");
    expect(page()).not.toBe(first);
    expect(readdirSync(at("portal/dist/assets"))).toEqual(expect.arrayContaining([first, page()]));
    writeFileSync(at("portal/README.md"), "words change nothing");
    expect((await build()).stderr).toBe("");
  });

  test("two concurrent builds build once", async () => {
    writeFileSync(at("portal/src/main.tsx"), "three");
    const both = await Promise.all([build(), build()]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    expect(both.filter(({ stderr }) => stderr.includes("Built"))).toHaveLength(1);
  });

  test("that fails reports why and stops, and the previous build stays", async () => {
    const before = page();
    writeFileSync(at("portal/src/main.tsx"), "broken");
    const failed = await build();
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain("a comma is missing");
    expect(failed.stderr).toContain("The portal could not be built");
    expect(page()).toBe(before);
    expect(readdirSync(at("portal")).filter((name) => name.startsWith(".build"))).toEqual([]);
  });

  test("does not run in a project without sources: the existing build is used", async () => {
    rmSync(at("portal/vite.config.ts"));
    expect(await build()).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(existsSync(at("portal/dist/index.html"))).toBe(true);
  });
});
