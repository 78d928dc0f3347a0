import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { PROJECT_ROOT } from "../../src/settings/config.ts";

const CHECK = path.join(PROJECT_ROOT, "deploy/check");
const script = readFileSync(CHECK, "utf8");
const NAMES = (/^all="(.*)"$/m.exec(script)?.[1] ?? "").split(" ");

/** A machine with nothing but these: the programs that a shell script takes for granted. */
function emptyMachine(programs: readonly string[]): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-check-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const program of programs) {
    const found = spawnSync("/bin/sh", ["-c", `command -v ${program}`], { encoding: "utf8" }).stdout.trim();
    symlinkSync(found, path.join(folder, program));
  }
  return folder;
}

test("deploy/check skips what is not installed, says so, and does not fail for it", () => {
  const PATH = emptyMachine(["dirname", "mktemp", "rm", "grep", "sed"]);
  const { status, stdout } = spawnSync("/bin/bash", [CHECK], { encoding: "utf8", env: { PATH } });
  const [, results = ""] = stdout.split("== results\n");
  const lines = results.trim().split("\n");
  expect(lines.map((line) => /^skipped {2}([\w-]+): .+ is not installed$/.exec(line)?.[1])).toEqual(NAMES);
  expect(status).toBe(0);
});

test("deploy/check has every check that it names, and knows the images of the Compose file", () => {
  for (const name of NAMES) expect(script).toContain(`\ncheck_${name}() {`);
  const compose = readFileSync(path.join(PROJECT_ROOT, "deploy/compose/compose.yml"), "utf8");
  const others = [...compose.matchAll(/^ *image: ([\w/]+):[\d.]+[\w.-]*@/gm)].map(([, image]) => image);
  expect(others.length).toBeGreaterThan(2);
  for (const image of others) expect(script).toContain(`of_compose ${image})`);
});
