import { beforeAll, expect, test } from "vitest";
import { type Line, runChild } from "./child.ts";
import { MUTANTS } from "./mutants.ts";

/** A mutant that survives this many worlds is not detected. */
const SEEDS_MOST = 1000;
const TIMEOUT_MS = 5 * 60_000;

const lines = new Map<string, Line>();

beforeAll(async () => {
  for (const line of await runChild(["--mutant", "all", "--seeds", String(SEEDS_MOST)])) lines.set(line.mutant, line);
}, TIMEOUT_MS);

test.each(MUTANTS)("$breaks the simulation detects the mutant $name", ({ name }) => {
  const line = lines.get(name);
  if (line === undefined) throw new Error("it was not run");
  // The code has changed: the mutant's text has to follow it.
  if ("problem" in line) throw new Error(line.problem);
  expect(line.broken, `it lived through ${line.seeds} worlds`).toBeDefined();
});

test("mutants have unique names", () => {
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
});
