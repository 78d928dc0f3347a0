import { expect, test } from "vitest";
import { type MoneyAs, moneyText } from "./money.ts";

const figures = (text: string) => text.replaceAll(/[^\d.,<>-]/g, "");
const euros = (amount: string, as?: MoneyAs) => figures(moneyText(amount, "EUR", as));

test.each([
  ["0", "0.00"],
  ["25.5", "25.50"],
  ["0.999", "1.00"],
  ["0.005", "<0.01"],
  ["0.000000001", "<0.01"],
  ["-0.004", ">-0.01"],
  ["-12.345", "-12.35"],
  ["1234567.891", "1,234,567.89"],
  ["987654321987654.125", "987,654,321,987,654.13"],
])("PORTAL-05 the amount %s that people pay is shown as %s", (amount, text) => {
  expect(euros(amount)).toBe(text);
});

test.each([
  ["0", "0.00"],
  ["0.15", "0.15"],
  ["3", "3.00"],
  ["0.000214", "0.000214"],
  ["0.0000000123456", "0.00000001235"],
  ["0.0214567", "0.02146"],
  ["1.125", "1.125"],
  ["12.3456", "12.35"],
  ["12345.678", "12,345.68"],
  ["-0.000012", "-0.000012"],
  ["1e-7", "0.0000001"],
])("PORTAL-05 the unit price %s keeps its significant digits: %s", (amount, text) => {
  expect(euros(amount, "price")).toBe(text);
});

test("PORTAL-05 a balance is rounded down", () => {
  expect(euros("24.999999850", "balance")).toBe("24.99");
  expect(euros("0.29", "balance")).toBe("0.29");
  expect(euros("0.004", "balance")).toBe("0.00");
  expect(euros("-0.125", "balance")).toBe("-0.13");
});

test("PORTAL-05 an exact amount keeps all digits", () => {
  expect(euros("24.999999850", "exact")).toBe("24.99999985");
  expect(euros("1.234", "exact")).toBe("1.234");
  expect(euros("987654321987654.123456789", "exact")).toBe("987,654,321,987,654.123456789");
});

test("PORTAL-05 a currency uses its own number of digits", () => {
  expect(figures(moneyText("1234", "JPY"))).toBe("1,234");
  expect(figures(moneyText("0.4", "JPY"))).toBe("<1");
  expect(figures(moneyText("1234.00", "ISK", "balance"))).toBe("1,234");
  expect(figures(moneyText("0.0042", "JPY", "price"))).toBe("0.0042");
  expect(figures(moneyText("1.5", "KWD"))).toBe("1.500");
  expect(figures(moneyText("0.0004", "KWD"))).toBe("<0.001");
});

test("PORTAL-05 an unknown currency or an invalid amount is shown as given", () => {
  expect(moneyText("1.5", "??")).toBe("1.5 ??");
});
