import { expect, test } from "vitest";
import { Fault } from "../contract/faults.ts";
import { KEY_PREFIXES } from "../domain/tenancy/key.ts";
import { TOKEN_PREFIX } from "../domain/tenancy/token.ts";
import { OperatorTokenVerifier, type TokenRejection } from "./operator-token-verifier.ts";

const TOKEN = "the-operator-token-of-this-test";
const bearer = (token: string) => `Bearer ${token}`;

function openVerifier() {
  const now = { ms: 0 };
  const rejections: TokenRejection[] = [];
  const verifier = new OperatorTokenVerifier(
    { adminToken: TOKEN, tries: 2, windowMs: 60_000 },
    { monotonicMs: () => now.ms },
    (rejection) => rejections.push(rejection),
  );
  const attempt = (address: string, token = "wrong") => {
    try {
      if (verifier.verify(bearer(token), address)) return "accepted";
      verifier.reject(address, bearer(token));
      return "rejected";
    } catch (error) {
      if (error instanceof Fault) return `${error.code} ${error.headers?.["retry-after"]}`;
      throw error;
    }
  };
  return { now, rejections, attempt };
}

test("SAFE-02 an address that sent too many wrong tokens waits, also with the right one; others do not", () => {
  const { now, attempt } = openVerifier();
  expect([attempt("203.0.113.1"), attempt("203.0.113.1"), attempt("203.0.113.1")]).toEqual([
    "rejected",
    "rejected",
    "rate_limit_exceeded 30",
  ]);
  expect(attempt("203.0.113.1", TOKEN)).toBe("rate_limit_exceeded 30");
  expect(attempt("203.0.113.2", TOKEN)).toBe("accepted");
  now.ms = 30_000;
  expect(attempt("203.0.113.1", TOKEN)).toBe("accepted");
});

test("SAFE-02 the right token is accepted from an address that sent it before, whatever others send from there", () => {
  const { attempt } = openVerifier();
  expect(attempt("2001:db8::1", TOKEN)).toBe("accepted");
  for (let round = 0; round < 5; round += 1) attempt("2001:db8::2");
  expect(attempt("2001:db8::2")).toBe("rate_limit_exceeded 30");
  expect(attempt("2001:db8::1", TOKEN)).toBe("accepted");
});

test("SAFE-02 expired management tokens and keys use up no attempts of others at their address, and are not reported", () => {
  const { attempt, rejections } = openVerifier();
  for (let round = 0; round < 5; round += 1)
    for (const prefix of [TOKEN_PREFIX, KEY_PREFIXES.workspace.live])
      expect(attempt("203.0.113.1", `${prefix}expired`)).toBe("rejected");
  expect(rejections).toEqual([]);
  expect(attempt("203.0.113.1", TOKEN)).toBe("accepted");
});

test("SAFE-02 every rejection is reported, and a throttled address as new once per window", () => {
  const { now, rejections, attempt } = openVerifier();
  for (let round = 0; round < 4; round += 1) attempt("203.0.113.1");
  now.ms = 60_000;
  for (let round = 0; round < 3; round += 1) attempt("203.0.113.1");
  const throttled = (isNew: boolean) => ({ is: "throttled", address: "203.0.113.1", isNew });
  const wrong = { is: "wrong" };
  expect(rejections).toEqual([wrong, wrong, throttled(true), throttled(false), wrong, wrong, throttled(true)]);
});
