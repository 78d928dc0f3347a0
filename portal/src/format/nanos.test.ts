import { expect, test } from "vitest";
import { amountOf, nanosOf } from "./nanos.ts";

test("PORTAL-04 amounts are added exactly", () => {
  for (const amount of ["0.00", "0.000000001", "-0.000012", "12.50", "-3.07", "987654321987654321.123456789"])
    expect(amountOf(nanosOf(amount))).toBe(amount);
  const sum = ["0.1", "0.2", "90071992547409.93"].reduce((total, one) => total + nanosOf(one), 0n);
  expect(amountOf(sum)).toBe("90071992547410.23");
  expect(nanosOf("not a number")).toBe(0n);
});
