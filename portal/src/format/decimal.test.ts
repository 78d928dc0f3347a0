import { expect, test } from "vitest";
import { decimalOf } from "./decimal.ts";

test("PORTAL-10 a comma is a decimal separator only where it can't be a thousands separator", () => {
  for (const [typed, decimal] of Object.entries({
    "25": "25",
    "25.5": "25.5",
    "25,5": "25.5",
    "25,50": "25.50",
    "1,0812": "1.0812",
    "1.234": "1.234",
  }))
    expect(decimalOf(typed), typed).toBe(decimal);
  for (const typed of ["1,234", "1,234.50", "1.234,50", "1 234", "25,", "-3", "1e3", "", "0.1234567891"])
    expect(decimalOf(typed), typed).toBeUndefined();
});
