import { expect, test } from "vitest";
import { HOUR_MS } from "../../../kit/time.ts";
import { ALERT_TESTS_PER_HOUR, AlertTestThrottle } from "./alert-tests.ts";

test("PORTAL-05 a workspace sends so many test alerts an hour, and is told when the next one may go", () => {
  let nowMs = 0;
  const tests = new AlertTestThrottle({ monotonicMs: () => nowMs });
  const refusal = () => {
    try {
      tests.take("ws_a");
      return undefined;
    } catch (error) {
      return error;
    }
  };
  for (let sent = 0; sent < ALERT_TESTS_PER_HOUR; sent += 1) {
    nowMs = sent * 60_000;
    tests.take("ws_a");
  }
  expect(refusal()).toMatchObject({
    code: "rate_limit_exceeded",
    headers: { "retry-after": String((HOUR_MS - nowMs) / 1000) },
  });
  // Another workspace has its own count.
  tests.take("ws_b");
  nowMs = HOUR_MS - 1;
  expect(refusal()).toMatchObject({ headers: { "retry-after": "1" } });
  // The first of them is an hour old: there is room for one, and not for two.
  nowMs = HOUR_MS;
  tests.take("ws_a");
  expect(refusal()).toMatchObject({ headers: { "retry-after": "60" } });
});
