import { expect, test } from "vitest";
import { FAULTS, type FaultCode, fault } from "./faults.ts";

const message = "Try again shortly.";

test("ERR-11 a temporary refusal states when to retry, also without a time of its own", () => {
  expect(fault("service_unavailable", { message }).headers).toEqual({ "retry-after": "5" });
  expect(fault("service_unavailable", { message, headers: { "retry-after": "60" } }).headers).toEqual({
    "retry-after": "60",
  });
  expect(fault("provider_error", { message, status: 503 }).headers).toEqual({ "retry-after": "5" });
  expect(fault("not_found", { message }).headers).toBeUndefined();
});

const CODES = Object.keys(FAULTS).filter((code): code is FaultCode => code in FAULTS);

test.each([429, 503])("ERR-15 every fault with status %i states when to retry", (status) => {
  const faults = [
    ...CODES.filter((code) => FAULTS[code].status === status).map((code) => fault(code, { message })),
    ...CODES.map((code) => fault(code, { message, status, headers: { "x-should-retry": "false" } })),
  ];
  for (const { headers } of [...faults, ...faults.map((one) => one.reworded({ message: "Wait." }))])
    expect(headers?.["retry-after"]).toMatch(/^[1-9]\d*$/);
});

test("AUTH-06 an unauthenticated refusal states how to authenticate", () => {
  const challenge = { "www-authenticate": "Bearer" };
  expect(fault("not_signed_in", { message }).headers).toEqual(challenge);
  expect(fault("invalid_api_key", { message, headers: { "x-should-retry": "false" } }).headers).toEqual({
    ...challenge,
    "x-should-retry": "false",
  });
});

test("ERR-01 a fault in other words is the same in all else", () => {
  const text = { message, status: 429, param: "model", headers: { "retry-after": "7" }, detail: { walletId: "w" } };
  const { code, status, headers, detail } = fault("provider_error", text);
  const other = fault("provider_error", text).reworded({ message: "Wait." });
  expect(other).toMatchObject({ message: "Wait.", param: "model", code, status, headers, detail });
  expect(other.reworded({ message, param: "models" })).toMatchObject({ message, param: "models", headers, detail });
});
