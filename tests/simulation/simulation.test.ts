import { beforeAll, describe, expect, test } from "vitest";
import { runChild } from "./child.ts";
import type { RunResult } from "./seeds.ts";

/** The same seeds at every run; SIMULATION_FROM selects others, and `npm run soak` runs many more. */
const FROM = process.env["SIMULATION_FROM"] ?? "1";
/** The first are those at which mutants were detected. */
const SEEDS = 120;
const TIMEOUT_MS = 5 * 60_000;

/** Promises, and the rules under which the simulation reports that one is broken. */
const PROMISES = [
  {
    promise: "POL-01 POL-02 no byte of a request reaches an endpoint that a rule in force at that moment excludes",
    rules: ["policy", "model", "network"],
  },
  {
    promise: "CLASS-04 no original reaches an endpoint below its rule, with retries, failover and rules that change",
    rules: ["data"],
  },
  { promise: "KEY-04 a revoked key begins nothing, wherever its request waited", rules: ["key"] },
  { promise: "ROUTE-01 a router of another workspace never applies", rules: ["router"] },
  { promise: "BILL-02 BILL-03 BILL-07 holds end, and wallets are credits less charges", rules: ["money"] },
  { promise: "ROUTE-04 nothing is tried again after content reached the caller", rules: ["content"] },
  {
    promise: "ROUTE-04 attempts stay within bounds; an endpoint that may have accepted is not retried",
    rules: ["retry"],
  },
  { promise: "ROUTE-03 every request has one end and one record, which shows every attempt", rules: ["end", "record"] },
  { promise: "RATE-06 queue and endpoints never have more than their slots", rules: ["queue"] },
  { promise: "ROUTE-05 a failing endpoint is tried after all others", rules: ["circuit"] },
  { promise: "ROUTE-05 once faults are over, every eligible request is served", rules: ["liveness"] },
  { promise: "ERR-09 no caller sees another's reply, session or credential", rules: ["tenancy"] },
  { promise: "the same seed makes the same world twice", rules: ["determinism"] },
] as const;

/** What has to occur somewhere, or the run has proved nothing. */
const MET = [
  "ended 200",
  "left 200",
  "left 0",
  "crashed",
  "5 calls",
  "retried",
  "endpoint_skipped",
  "retry_budget_exhausted",
  "queue_rejected",
  "credential_rejected",
  "insufficient_credits",
  "service_unavailable",
  "upstream_timeout",
  "provider_error",
  "router_not_found",
  "model_not_permitted",
  "sovereignty_floor_not_met",
  "compute_country_not_allowed",
  "zero_data_retention_required",
  "no_training_required",
  "provider_blocked",
  "no_eligible_endpoint",
  "data_class_not_permitted",
  "data hidden",
  "data shown",
];

describe("worlds in which everything fails and changes during requests", () => {
  let found: RunResult;

  beforeAll(async () => {
    const range = ["--known", "--from", FROM, "--seeds", String(SEEDS)];
    const [line] = await runChild(range);
    if (line === undefined || "problem" in line) throw new Error(`the simulation did not run: ${line?.problem}`);
    found = line;
  }, TIMEOUT_MS);

  test.each(PROMISES)("$promise", ({ rules }) => {
    const { broken } = found;
    const isOurs = broken !== undefined && rules.some((rule) => rule === broken.rule);
    const how = isOurs ? `${broken.what}\n  npm run soak -- --seed ${broken.seed} shows how` : "kept";
    expect(how).toBe("kept");
  });

  test("no other rule was broken, and there were enough worlds", () => {
    expect(found.broken).toBeUndefined();
    expect(found.seeds).toBe(SEEDS);
  });

  test("every expected event occurred", () => {
    expect(MET.filter((what) => found.tally[what] === undefined)).toEqual([]);
    expect(found.calls).toBeGreaterThan(found.requests / 3);
  });
});
