import { expect, test } from "vitest";
import { Fault } from "../../contract/faults.ts";
import { type AttemptSource, LoginThrottle } from "./login-throttle.ts";

function openThrottle(perAddress = 3) {
  const now = { ms: 0 };
  const clock = { monotonicMs: () => now.ms };
  return { now, throttle: new LoginThrottle({ perAddress, perAccount: 2, windowMs: 60_000 }, clock) };
}

const from = (address: string, account?: string): AttemptSource => ({ is: "client", address, account });

const refusal = (work: () => unknown): Fault => {
  try {
    work();
  } catch (error) {
    if (error instanceof Fault) return error;
  }
  throw new Error("it was not refused");
};

test("SAFE-03 attempts on an account are slowed down for the address that fails, and for no other", () => {
  const { now, throttle } = openThrottle(100);
  throttle.begin(from("203.0.113.1", "Ada@example.eu"));
  throttle.begin(from("203.0.113.1", "ada@example.eu "));
  now.ms = 12_000;
  const refused = refusal(() => throttle.begin(from("203.0.113.1", "ada@example.eu")));
  expect([refused.code, refused.headers]).toEqual(["rate_limit_exceeded", { "retry-after": "18" }]);
  throttle.begin(from("203.0.113.1", "grace@example.eu"));
  throttle.begin(from("203.0.113.2", "ada@example.eu"));
  // One attempt every half minute from here on: slower, never locked.
  for (const ms of [30_000, 60_000, 90_000]) {
    now.ms = ms;
    throttle.begin(from("203.0.113.1", "ada@example.eu"));
    expect(refusal(() => throttle.begin(from("203.0.113.1", "ada@example.eu"))).headers).toEqual({
      "retry-after": "30",
    });
  }
});

test("SAFE-03 known devices, challenges and sessions keep their own attempts when an address has none left", () => {
  const { throttle } = openThrottle();
  for (const name of ["a", "b", "c"]) throttle.begin(from("203.0.113.1", `${name}@example.eu`));
  expect(refusal(() => throttle.begin(from("203.0.113.1", "ada@example.eu"))).code).toBe("rate_limit_exceeded");
  const proven: AttemptSource[] = [
    { is: "device", deviceId: "d1" },
    { is: "challenge", challengeId: "c1" },
    { is: "session", sessionId: "ses_1", personId: "per_1" },
  ];
  for (const source of proven) {
    throttle.begin(source);
    throttle.begin(source);
    expect(refusal(() => throttle.begin(source)).code).toBe("rate_limit_exceeded");
  }
  throttle.begin({ is: "device", deviceId: "d2" });
});

test("SAFE-03 lookups of passkeys are limited by address, apart from passwords", () => {
  const { throttle } = openThrottle();
  const passkey: AttemptSource = { is: "passkey", address: "203.0.113.1" };
  for (const name of ["a", "b", "c"]) throttle.begin(from("203.0.113.1", `${name}@example.eu`));
  for (let lookup = 0; lookup < 3; lookup += 1) throttle.begin(passkey);
  expect(refusal(() => throttle.begin(passkey)).code).toBe("rate_limit_exceeded");
  throttle.begin({ is: "passkey", address: "203.0.113.2" });
});

test("SAFE-03 new challenges share two budgets of codes per person, which refill, and a known device has its own", () => {
  const { now, throttle } = openThrottle();
  const begin = (challenge: number, more: { personId?: string; deviceId?: string } = { personId: "per_1" }) =>
    throttle.begin({ is: "challenge", challengeId: `c${challenge}`, ...more });
  for (const challenge of [1, 2, 3, 4]) begin(challenge);
  const refused = refusal(() => begin(5));
  expect([refused.code, refused.headers]).toEqual(["rate_limit_exceeded", { "retry-after": "15" }]);
  begin(6, { personId: "per_2" });
  begin(7, { personId: "per_1", deviceId: "d1" });
  begin(8, { personId: "per_1", deviceId: "d1" });
  expect(refusal(() => begin(9, { personId: "per_1", deviceId: "d1" })).code).toBe("rate_limit_exceeded");
  throttle.begin({ is: "session", sessionId: "ses_1", personId: "per_1" });
  now.ms = 15_000;
  begin(5).succeed();
  begin(5);
  expect(refusal(() => begin(5)).code).toBe("rate_limit_exceeded");
});

test("PORTAL-11 attempts of an address are limited, and an IPv6 /64 counts as one address", () => {
  const { throttle } = openThrottle();
  for (const host of ["1", "2", "3"]) throttle.begin(from(`2001:db8:1:2::${host}`));
  expect(refusal(() => throttle.begin(from("2001:db8:1:2::4"))).code).toBe("rate_limit_exceeded");
  throttle.begin(from("2001:db8:1:3::1"));
});

test("PORTAL-11 one account is mailed no more often than the limit, from any number of addresses", () => {
  const { throttle } = openThrottle();
  for (const host of [1, 2]) throttle.beginMail(`203.0.113.${host}`, "ada@example.eu");
  expect(refusal(() => throttle.beginMail("203.0.113.3", "Ada@example.eu")).code).toBe("rate_limit_exceeded");
  throttle.beginMail("203.0.113.3", "grace@example.eu");
});

test("a successful attempt does not count, an attempt in flight does", () => {
  const { throttle } = openThrottle();
  const ada = from("203.0.113.1", "ada@example.eu");
  for (let round = 0; round < 10; round += 1) throttle.begin(ada).succeed();
  const [first] = [throttle.begin(ada), throttle.begin(ada)];
  expect(refusal(() => throttle.begin(ada)).code).toBe("rate_limit_exceeded");
  first.succeed();
  throttle.begin(ada);
});
