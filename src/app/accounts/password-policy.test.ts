import { expect, test } from "vitest";
import { passwordFault } from "./password-policy.ts";

test.each([
  "three green bicycles",
  "Tr0ub4dor&3 and more",
  "passphrase of my own",
  `${"\u{1F6B2}".repeat(3)} bicycles`,
  "aaaabbbbccccdddd",
])("PORTAL-11 %s is accepted", (password) => {
  expect(passwordFault(password, "password", ["ada@example.eu", "Ada"])).toBeUndefined();
});

test.each([
  "eleven char",
  "PasswordPassword",
  "QWERTYUIOP123",
  "aaaaaaaaaaaa",
  "abcabcabcabc",
  "012345678901",
  "98765432109876",
  "abcdefghijklm",
  "ada@example.eu",
  "grace.hopper",
  "ha".repeat(200),
])("PORTAL-11 %s is rejected as weak", (password) => {
  const fault = passwordFault(password, "newPassword", ["ada@example.eu", "grace.hopper"]);
  expect([fault?.code, fault?.param]).toEqual(["invalid_value", "newPassword"]);
});
