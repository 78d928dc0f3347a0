import { expect, test } from "vitest";
import { Fault } from "../../contract/faults.ts";
import { LoginThrottle } from "./login-throttle.ts";

function openThrottle() {
  const now = { ms: 0 };
  const clock = { nowMs: () => now.ms, monotonicMs: () => now.ms };
  return { now, throttle: new LoginThrottle({ perAddress: 3, perAccount: 2, windowMs: 60_000 }, clock) };
}

const refusal = (work: () => unknown): Fault => {
  try {
    work();
  } catch (error) {
    if (error instanceof Fault) return error;
  }
  throw new Error("it was not refused");
};

test("PORTAL-11 attempts on an account are limited across addresses until the window ends", () => {
  const { now, throttle } = openThrottle();
  throttle.begin("203.0.113.1", { account: "Ada@example.eu" });
  throttle.begin("203.0.113.2", { account: "ada@example.eu " });
  now.ms = 15_000;
  const refused = refusal(() => throttle.begin("203.0.113.3", { account: "ada@example.eu" }));
  expect([refused.code, refused.headers]).toEqual(["rate_limit_exceeded", { "retry-after": "45" }]);
  throttle.begin("203.0.113.3", { account: "grace@example.eu" });
  now.ms = 60_000;
  throttle.begin("203.0.113.3", { account: "ada@example.eu" });
});

test("PORTAL-11 attempts of an address are limited, and an IPv6 /64 counts as one address", () => {
  const { throttle } = openThrottle();
  for (const host of ["1", "2", "3"]) throttle.begin(`2001:db8:1:2::${host}`);
  expect(refusal(() => throttle.begin("2001:db8:1:2::4")).code).toBe("rate_limit_exceeded");
  throttle.begin("2001:db8:1:3::1");
});

test("a successful attempt does not count, an attempt in flight does", () => {
  const { throttle } = openThrottle();
  const account = "ada@example.eu";
  for (let round = 0; round < 10; round += 1) throttle.begin("203.0.113.1", { account }).succeed();
  const [first] = [throttle.begin("203.0.113.1", { account }), throttle.begin("203.0.113.1", { account })];
  expect(refusal(() => throttle.begin("203.0.113.2", { account })).code).toBe("rate_limit_exceeded");
  first.succeed();
  throttle.begin("203.0.113.2", { account });
});
