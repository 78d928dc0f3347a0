import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "../..");
const FILES_MAX = 55;
const LINES_MAX = 9_000;

/** Generic helpers that are read by their names. */
const isCounted = (file: string) => !file.startsWith("src/kit/");

let measured: readonly { readonly file: string; readonly lines: number }[] = [];

beforeAll(async () => {
  const child = path.join(import.meta.dirname, "request-path-child.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [child], { cwd: ROOT });
  measured = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { file: string; lines: number })
    .filter(({ file }) => isCounted(file));
});

/** Files named at the beginning of the numbered lines of a section of ARCHITECTURE.md. */
function listedFiles(heading: string): string[] {
  const [, section = ""] = readFileSync(path.join(ROOT, "ARCHITECTURE.md"), "utf8").split(`\n## ${heading}\n`);
  const [body = ""] = section.split("\n## ");
  return [...body.matchAll(/^\d+\. `(src\/[^`]+)`/gm)].map(([, file = ""]) => file);
}

test("ARCHITECTURE.md lists exactly the files that one chat request runs through", () => {
  const files = measured.map(({ file }) => file);
  expect(listedFiles("One request").toSorted()).toEqual(files.toSorted());
});

test("one chat request runs through few enough files and lines to be read in one sitting", () => {
  const lines = measured.reduce((sum, file) => sum + file.lines, 0);
  expect(measured.length).toBeLessThanOrEqual(FILES_MAX);
  expect(lines).toBeLessThanOrEqual(LINES_MAX);
});
