import { expect, test } from "vitest";
import { rateLimitFault } from "./authenticate.ts";

test("RATE-02 Retry-After comes from the shared clock, not from this machine's", () => {
  const anHourAheadMs = Date.now() + 3_600_000;
  const { headers, message } = rateLimitFault({
    ...{ isAllowed: false, limit: 2, remaining: 0 },
    ...{ resetAtMs: anHourAheadMs, waitMs: 4200 },
  });
  expect(headers).toMatchObject({
    "retry-after": "5",
    "x-ratelimit-reset": String(Math.ceil(anHourAheadMs / 1000)),
  });
  expect(message).toContain("Try again in 5 s.");
});
