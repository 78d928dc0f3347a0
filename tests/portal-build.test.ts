import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "..");

/** Stands where Vite stands: the source becomes a file with a name of its own; a source that says so breaks it. */
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
  for (const folder of ["portal/src", "node_modules/vite/bin"]) mkdirSync(at(folder), { recursive: true });
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
  test("happens once, says so in one line, and again when a source has changed; files of before stay", async () => {
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

  test("two at once build once", async () => {
    writeFileSync(at("portal/src/main.tsx"), "three");
    const both = await Promise.all([build(), build()]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    expect(both.filter(({ stderr }) => stderr.includes("Built"))).toHaveLength(1);
  });

  test("that fails says why and stops, and what was built stays", async () => {
    const before = page();
    writeFileSync(at("portal/src/main.tsx"), "broken");
    const failed = await build();
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain("a comma is missing");
    expect(failed.stderr).toContain("The portal could not be built");
    expect(page()).toBe(before);
    expect(readdirSync(at("portal")).filter((name) => name.startsWith(".build"))).toEqual([]);
  });

  test("is not asked of a project without sources: what was built is what there is", async () => {
    rmSync(at("portal/vite.config.ts"));
    expect(await build()).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(existsSync(at("portal/dist/index.html"))).toBe(true);
  });
});
