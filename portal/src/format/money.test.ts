import { expect, test } from "vitest";
import { moneyText } from "./money.ts";

const figures = (text: string) => text.replaceAll(/[^\d.,-]/g, "");

test("PORTAL-05 small amounts keep their significant digits", () => {
  expect(figures(moneyText("25.5", "EUR"))).toBe("25.50");
  expect(figures(moneyText("0.000214", "EUR"))).toBe("0.000214");
  expect(figures(moneyText("0.999", "EUR"))).toBe("1.00");
});

test("PORTAL-05 a balance is rounded down", () => {
  expect(figures(moneyText("24.999999850", "EUR", "balance"))).toBe("24.99");
  expect(figures(moneyText("0.29", "EUR", "balance"))).toBe("0.29");
  expect(figures(moneyText("-0.125", "EUR", "balance"))).toBe("-0.13");
});

test("PORTAL-05 an exact amount keeps all digits", () => {
  expect(figures(moneyText("24.999999850", "EUR", "exact"))).toBe("24.99999985");
  expect(figures(moneyText("1.234", "EUR", "exact"))).toBe("1.234");
  expect(figures(moneyText("987654321987654.123456789", "EUR", "exact"))).toBe("987,654,321,987,654.123456789");
});

test("PORTAL-05 a currency uses its default number of fraction digits", () => {
  expect(figures(moneyText("1234", "JPY"))).toBe("1,234");
  expect(figures(moneyText("1234.00", "ISK", "balance"))).toBe("1,234");
  expect(figures(moneyText("0.0042", "JPY"))).toBe("0.0042");
  expect(figures(moneyText("1.5", "KWD"))).toBe("1.500");
});
