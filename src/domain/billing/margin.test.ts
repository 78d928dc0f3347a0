import { expect, test } from "vitest";
import { NO_MARGIN, readMargin, withMargin } from "./margin.ts";

test("BILL-05 a margin is a share from giving all away to ten times the price, with six places at most", () => {
  const [free, most, finest] = [readMargin("-1"), readMargin("10"), readMargin("0.000001")];
  expect(free).toMatchObject({ numerator: 0n, share: "-1" });
  expect(most).toMatchObject({ numerator: 11n, denominator: 1n, share: "10" });
  expect(finest).toEqual({ numerator: 1_000_001n, denominator: 1_000_000n, share: "0.000001" });
  for (const bad of ["-1.000001", "10.000001", "-2", "11", "0.0000001", "5%", ""])
    expect(readMargin(bad), bad).toBeUndefined();
  for (const none of ["0", "0.000", "-0"]) expect(readMargin(none), none).toBe(NO_MARGIN);
});

test("BILL-05 a price with a margin is exact, to the last of its places", () => {
  const price = { digits: 33n, scale: 2 };
  const times = (share: string) => withMargin(price, readMargin(share) ?? NO_MARGIN);
  expect(times("0")).toBe(price);
  expect(times("0.05")).toEqual({ digits: 33n * 105n, scale: 4 });
  expect(times("10")).toEqual({ digits: 33n * 11n, scale: 2 });
  expect(times("-1").digits).toBe(0n);
});
