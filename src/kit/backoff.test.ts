import { expect, test } from "vitest";
import { exponentialBackoffMs, jitteredBackoffMs } from "./backoff.ts";

test("BILL-10 waits double up to their most, and are spread", () => {
  const policy = { baseDelayMs: 1000, maxDelayMs: 60_000, attemptsMax: 9, ageMsMax: 9 };
  const waits = (random: number) =>
    [1, 2, 3, 7, 100].map((attempts) => jitteredBackoffMs(attempts, policy, () => random));
  expect(waits(0)).toEqual([500, 1000, 2000, 30_000, 30_000]);
  expect(waits(1)).toEqual([1000, 2000, 4000, 60_000, 60_000]);
});

test("a wait that was doubled for ever stays at its most", () => {
  expect([0, 1, 2, 5000].map((times) => exponentialBackoffMs(times, 100, 10_000))).toEqual([100, 200, 400, 10_000]);
});
