import { expect, test } from "vitest";
import { exponentialBackoffMs, jitteredBackoffMs } from "./backoff.ts";

test("BILL-10 delays double up to the maximum, with jitter", () => {
  const policy = { baseDelayMs: 1000, maxDelayMs: 60_000, attemptsMax: 9, ageMsMax: 9 };
  const delays = (random: number) =>
    [1, 2, 3, 7, 100].map((attempts) => jitteredBackoffMs(attempts, policy, () => random));
  expect(delays(0)).toEqual([500, 1000, 2000, 30_000, 30_000]);
  expect(delays(1)).toEqual([1000, 2000, 4000, 60_000, 60_000]);
});

test("the delay stays at the maximum for any number of retries", () => {
  expect([0, 1, 2, 5000].map((retries) => exponentialBackoffMs(retries, 100, 10_000))).toEqual([100, 200, 400, 10_000]);
});
