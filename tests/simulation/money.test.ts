import { beforeAll, describe, expect, test } from "vitest";
import { type Line, runChild } from "./child.ts";
import { MONEY_MUTANTS } from "./money/mutants.ts";
import type { RunResult } from "./seeds.ts";

/** The same seeds at every run; SIMULATION_FROM selects others, and `npm run soak -- --of money` runs many more. */
const FROM = process.env["SIMULATION_FROM"] ?? "1";
/** The first are those at which mutants were detected. */
const SEEDS = 80;
/** A mutant that survives this many worlds is not detected. */
const MUTANT_SEEDS = 600;
const TIMEOUT_MS = 5 * 60_000;

const PROMISES = [
  { promise: "BILL-03 BILL-04 no hold takes what is not there, and none breaks a limit in force", rules: ["hold"] },
  {
    promise: "BILL-01 BILL-03 live figures are the sums of events at every step, and equal the ledger in the end",
    rules: ["state"],
  },
  {
    promise:
      "BILL-01 BILL-02 entries sum to zero, wallets are credits less charges, nothing is charged twice or unseen",
    rules: ["books"],
  },
  { promise: "BILL-07 what a client saw as charged is in the ledger and the log", rules: ["lost"] },
  { promise: "BILL-07 nothing fails for good, and everything comes to rest", rules: ["liveness", "end"] },
  { promise: "the same seed makes the same world twice", rules: ["determinism"] },
] as const;

/** What has to occur somewhere, or the run has proved nothing. */
const MET = [
  "answer",
  "answer lost",
  "booked",
  "commit unheard",
  "crash",
  "full disk",
  "insufficient_credits",
  "interrupted",
  "power cut",
  "service_unavailable",
  "spend_limit_reached",
  "sql away",
];

describe("money at several instances with crashes, lost messages and duplicates", () => {
  let found: RunResult;

  beforeAll(async () => {
    const range = ["--known", "--from", FROM, "--seeds", String(SEEDS)];
    const [line] = await runChild(["--of", "money", ...range]);
    if (line === undefined || "problem" in line) throw new Error(`the simulation did not run: ${line?.problem}`);
    found = line;
  }, TIMEOUT_MS);

  test.each(PROMISES)("$promise", ({ rules }) => {
    const { broken } = found;
    const isOurs = broken !== undefined && rules.some((rule) => rule === broken.rule);
    const how = isOurs ? `${broken.what}\n  npm run soak -- --of money --seed ${broken.seed} shows how` : "kept";
    expect(how).toBe("kept");
  });

  test("no other rule was broken, there were enough worlds, and every expected event occurred", () => {
    expect(found.broken).toBeUndefined();
    expect(found.seeds).toBe(SEEDS);
    expect(MET.filter((what) => found.tally[what] === undefined)).toEqual([]);
  });
});

describe("faults of the money code", () => {
  const lines = new Map<string, Line>();

  beforeAll(async () => {
    const args = ["--of", "money", "--mutant", "all", "--seeds", String(MUTANT_SEEDS)];
    for (const line of await runChild(args)) lines.set(line.mutant, line);
  }, TIMEOUT_MS);

  test.each(MONEY_MUTANTS)("$breaks the simulation detects the mutant $name", ({ name }) => {
    const line = lines.get(name);
    if (line === undefined) throw new Error("it was not run");
    // The code has changed: the mutant's text has to follow it.
    if ("problem" in line) throw new Error(line.problem);
    expect(line.broken, `it lived through ${line.seeds} worlds`).toBeDefined();
  });
});
