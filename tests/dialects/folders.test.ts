import { readdirSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { ROOT, readSources } from "../architecture/source.ts";

const DIALECTS = "src/language/dialects";

/** Files that every side of a dialect has, in its folder or shared beside it; a side may have more. */
const SIDES: Readonly<Record<string, readonly string[]>> = {
  client: ["dialect.ts", "errors.ts", "reply.ts", "request.ts", "stream.ts", "turns.ts", "usage.ts"],
  upstream: ["dialect.ts", "errors.ts", "reply.ts", "request.ts", "stream.ts", "turns.ts", "usage.ts"],
  passthrough: ["reply.ts", "request.ts", "stream.ts"],
};

const foldersIn = (folder: string) =>
  readdirSync(path.join(ROOT, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
const dialects = foldersIn(DIALECTS);

test.each(dialects)("the sides of %s have the same file names as in every dialect", (dialect) => {
  const sides = foldersIn(`${DIALECTS}/${dialect}`);
  expect(Object.keys(SIDES)).toEqual(expect.arrayContaining(sides));
  expect(sides).toContain("upstream");
  const shared = readdirSync(path.join(ROOT, DIALECTS, dialect));
  for (const side of sides)
    expect([...readdirSync(path.join(ROOT, DIALECTS, dialect, side)), ...shared], side).toEqual(
      expect.arrayContaining([...(SIDES[side] ?? [])]),
    );
  expect(shared).toContain("fields.ts");
});

test("the client side and the upstream side of a dialect import neither each other nor passthrough", () => {
  const sideOf = (file: string) => file.slice(DIALECTS.length + 1).split("/")[1] ?? "";
  const crossing = readSources(DIALECTS).flatMap(({ file, imports }) =>
    imports.flatMap(({ target }) => {
      if (!target.startsWith(`${DIALECTS}/`)) return [];
      const [from, to] = [sideOf(file), sideOf(target)];
      const isCrossing = (from === "client" || from === "upstream") && to in SIDES && from !== to;
      return isCrossing ? [`${file} imports ${target}`] : [];
    }),
  );
  expect(crossing).toEqual([]);
});
