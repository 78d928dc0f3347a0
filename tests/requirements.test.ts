import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "..");
/** `UTF-16` is an encoding, not a requirement. */
const ID = /\b(?!UTF)[A-Z]{2,6}-\d{2}\b/g;
/** A title opens with its ids: `"AUTH-03 AUTH-06 …"`. */
const TITLE_IDS = /["'`]((?:[A-Z]{2,6}-\d{2}(?:, | \/ | and | |: |(?=["'`])))+)/g;

function testFiles(): string[] {
  return ["src", "portal/src", "tests"].flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => /(\.test|-suite)\.tsx?$/.test(file))
      .map((file) => path.join(folder, file)),
  );
}

function idsInTitles(): Map<string, string> {
  const ids = new Map<string, string>();
  for (const file of testFiles()) {
    const text = readFileSync(path.join(ROOT, file), "utf8");
    for (const [, prefix = ""] of text.matchAll(TITLE_IDS)) {
      for (const id of prefix.match(ID) ?? []) ids.set(id, file);
    }
  }
  return ids;
}

function definedIds(): string[] {
  const page = readFileSync(path.join(ROOT, "docs/requirements.md"), "utf8");
  return [...page.matchAll(/^- \*\*([A-Z]{2,6}-\d{2})\*\* \S/gm)].map(([, id = ""]) => id);
}

test("every id in a test title is defined in docs/requirements.md", () => {
  const defined = new Set(definedIds());
  const undefinedIds = [...idsInTitles()].filter(([id]) => !defined.has(id));
  expect(undefinedIds.map(([id, file]) => `${id} in ${file}`)).toEqual([]);
});

test("every requirement of docs/requirements.md has a test title, and is defined once", () => {
  const carried = idsInTitles();
  expect(definedIds().filter((id) => !carried.has(id))).toEqual([]);
  expect(definedIds()).toEqual([...new Set(definedIds())]);
});
