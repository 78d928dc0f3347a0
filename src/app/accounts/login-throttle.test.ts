import { expect, test } from "vitest";
import { Fault } from "../../contract/faults.ts";
import { LoginThrottle } from "./login-throttle.ts";

function room() {
  const now = { ms: 0 };
  const clock = { nowMs: () => now.ms, monotonicMs: () => now.ms };
  return { now, tries: new LoginThrottle({ perAddress: 3, perAccount: 2, windowMs: 60_000 }, clock) };
}

const refusal = (work: () => unknown): Fault => {
  try {
    work();
  } catch (error) {
    if (error instanceof Fault) return error;
  }
  throw new Error("it was not refused");
};

test("PORTAL-11 an account is guessed at so often, from wherever; then it waits, and is free again", () => {
  const { now, tries } = room();
  tries.begin("203.0.113.1", "Ada@example.eu");
  tries.begin("203.0.113.2", "ada@example.eu ");
  now.ms = 15_000;
  const refused = refusal(() => tries.begin("203.0.113.3", "ada@example.eu"));
  expect([refused.code, refused.headers]).toEqual(["rate_limit_exceeded", { "retry-after": "45" }]);
  tries.begin("203.0.113.3", "grace@example.eu");
  now.ms = 60_000;
  tries.begin("203.0.113.3", "ada@example.eu");
});

test("PORTAL-11 an address has so many tries, and a whole IPv6 network is one address", () => {
  const { tries } = room();
  for (const host of ["1", "2", "3"]) tries.begin(`2001:db8:1:2::${host}`);
  expect(refusal(() => tries.begin("2001:db8:1:2::4")).code).toBe("rate_limit_exceeded");
  tries.begin("2001:db8:1:3::1");
});

test("what was right uses no try up; what is under way does", () => {
  const { tries } = room();
  for (let round = 0; round < 10; round += 1) tries.begin("203.0.113.1", "ada@example.eu").succeed();
  const [first] = [tries.begin("203.0.113.1", "ada@example.eu"), tries.begin("203.0.113.1", "ada@example.eu")];
  expect(refusal(() => tries.begin("203.0.113.2", "ada@example.eu")).code).toBe("rate_limit_exceeded");
  first.succeed();
  tries.begin("203.0.113.2", "ada@example.eu");
});
