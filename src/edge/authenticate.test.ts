import { expect, test } from "vitest";
import { overLimit } from "./rate-limit-headers.ts";

test("RATE-02 Retry-After is the wait by the clock that judged, whatever this machine's clock says", () => {
  const anHourAheadMs = Date.now() + 3_600_000;
  const { headers, message } = overLimit({
    ...{ isAllowed: false, limit: 2, remaining: 0 },
    ...{ resetAtMs: anHourAheadMs, waitMs: 4200 },
  });
  expect(headers).toMatchObject({
    "retry-after": "5",
    "x-ratelimit-reset": String(Math.ceil(anHourAheadMs / 1000)),
  });
  expect(message).toContain("Try again in 5 s.");
});
