import { expect, test } from "vitest";
import { parseDurationMs, parseIsoTimeMs } from "./time.ts";

test("durations are a whole number with s, m, h or d", () => {
  expect(["2s", "5m", "12h", "7d", "0s"].map(parseDurationMs)).toEqual([2_000, 300_000, 43_200_000, 604_800_000, 0]);
  for (const bad of ["", "5", "s", "1.5h", "-1d", "7 d", "7w", "1d2h", "9999999999d"])
    expect(parseDurationMs(bad), bad).toBeUndefined();
});

test("times are ISO 8601; without a zone they are UTC", () => {
  const noon = Date.UTC(2027, 0, 31, 12);
  for (const same of [
    "2027-01-31T12:00Z",
    "2027-01-31T12:00:00.000Z",
    "2027-01-31T12:00:00",
    "2027-01-31T13:00:00+01:00",
  ])
    expect(parseIsoTimeMs(same), same).toBe(noon);
  expect(parseIsoTimeMs("2027-01-31")).toBe(Date.UTC(2027, 0, 31));
});

test("a time that does not exist is none", () => {
  for (const bad of [
    "",
    "tomorrow",
    "2027-02-31",
    "2027-13-01",
    "2027-01-31T25:00Z",
    "31.01.2027",
    "2027-01-31 12:00Z",
  ])
    expect(parseIsoTimeMs(bad), bad).toBeUndefined();
});
