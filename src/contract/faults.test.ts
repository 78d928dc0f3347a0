import { expect, test } from "vitest";
import { fault } from "./faults.ts";

const message = "Try again shortly.";

test("ERR-11 whoever is refused for now hears when to come back, also from who names no time", () => {
  expect(fault("service_unavailable", { message }).headers).toEqual({ "retry-after": "5" });
  expect(fault("service_unavailable", { message, headers: { "retry-after": "60" } }).headers).toEqual({
    "retry-after": "60",
  });
  expect(fault("provider_error", { message, status: 503 }).headers).toEqual({ "retry-after": "5" });
  expect(fault("not_found", { message }).headers).toBeUndefined();
});
