import { expect, test } from "vitest";
import { type DataClassSum, dataClassUsage } from "./data-class-usage.ts";

const sum = (dataClasses: string, level: string | null, action: string, requests: number): DataClassSum => ({
  dataClasses,
  level,
  action,
  isServed: level !== null,
  requests,
});

test("CLASS-05 requests are summed by class, level and action, and one sentence says it all", () => {
  const usage = dataClassUsage([
    sum("personal", "L3", "none", 1_000),
    sum("personal,secret", "L3", "none", 180),
    sum("personal", "L1", "pseudonymised", 24),
  ]);
  expect(usage.map(({ summary }) => summary)).toEqual([
    "1,204 requests with personal data: 1,180 at L3, 24 pseudonymised at L1, 0 otherwise",
    "180 requests with secret data: 180 at L3, 0 otherwise",
  ]);
});

test("CLASS-05 rare combinations are counted together, and requests that no endpoint served are named", () => {
  const levels = ["UNCLASSIFIED", "L0", "L1", "L2", "L3", "L4"];
  const [personal] = dataClassUsage([
    ...levels.map((level, at) => sum("personal", level, "redacted", 10 - at)),
    sum("personal", null, "", 3),
  ]);
  expect(personal?.unserved).toBe(3);
  expect(personal?.summary).toMatch(/^48 requests .*, 3 served by no endpoint, 5 otherwise$/);
});
