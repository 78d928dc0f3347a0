import { expect, test } from "vitest";
import { HOUR_MS } from "../../../kit/time.ts";
import { ALERT_TESTS_PER_HOUR, AlertTestThrottle } from "./alerts.ts";

test("PORTAL-05 test alerts are limited per workspace and hour, and the refusal says when the next one may go", () => {
  let nowMs = 0;
  const throttle = new AlertTestThrottle({ monotonicMs: () => nowMs });
  const refusal = () => {
    try {
      throttle.take("ws_a");
      return undefined;
    } catch (error) {
      return error;
    }
  };
  for (let sent = 0; sent < ALERT_TESTS_PER_HOUR; sent += 1) {
    nowMs = sent * 60_000;
    throttle.take("ws_a");
  }
  expect(refusal()).toMatchObject({
    code: "rate_limit_exceeded",
    headers: { "retry-after": String((HOUR_MS - nowMs) / 1000) },
  });
  // Another workspace has its own count.
  throttle.take("ws_b");
  nowMs = HOUR_MS - 1;
  expect(refusal()).toMatchObject({ headers: { "retry-after": "1" } });
  // The first test alert is an hour old, so exactly one more is allowed.
  nowMs = HOUR_MS;
  throttle.take("ws_a");
  expect(refusal()).toMatchObject({ headers: { "retry-after": "60" } });
});
