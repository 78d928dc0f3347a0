import { expect, test } from "vitest";
import { claimsOf, claimsProblem } from "./id-token.ts";

const NOW_MS = 1_800_000_000_000;
const NOW = NOW_MS / 1000;
const CLAIMS = { sub: "ada", aud: "gateway", iat: NOW - 1, exp: NOW + 300 };

test("PORTAL-11 complete claims are accepted, for one audience or for several with the client as their party", () => {
  for (const more of [{}, { azp: "gateway" }, { aud: ["gateway"] }, { aud: ["gateway", "other"], azp: "gateway" }])
    expect(claimsProblem({ ...CLAIMS, ...more }, "gateway", NOW_MS)).toBeUndefined();
  expect(claimsProblem({ ...CLAIMS, iat: NOW + 200 }, "gateway", NOW_MS)).toBeUndefined();
});

test.each([
  ["no subject", { sub: undefined }],
  ["an empty subject", { sub: "" }],
  ["a subject that is not text", { sub: 1 }],
  ["an overlong subject", { sub: "x".repeat(256) }],
  ["no expiry", { exp: undefined }],
  ["an expiry that is not a number", { exp: "never" }],
  ["no time of issue", { iat: undefined }],
  ["a time of issue in the future", { iat: NOW + 3600 }],
  ["another authorized party", { azp: "other" }],
  ["several audiences without an authorized party", { aud: ["gateway", "other"] }],
])("PORTAL-11 claims with %s are refused", (_name, more) => {
  expect(claimsProblem({ ...CLAIMS, ...more }, "gateway", NOW_MS)).toEqual(expect.any(String));
});

test("PORTAL-11 claims are read from the payload; anything else has none", () => {
  const payload = Buffer.from(JSON.stringify(CLAIMS)).toString("base64url");
  expect(claimsOf(`e30.${payload}.sig`)).toEqual(CLAIMS);
  for (const text of ["", "opaque", "a.b.c", `e30.${Buffer.from("[1]").toString("base64url")}.x`])
    expect(claimsOf(text)).toBeUndefined();
});
