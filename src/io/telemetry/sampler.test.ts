import { expect, test } from "vitest";
import { createIdGenerator } from "../../kit/id-generator.ts";
import { createSampler } from "./sampler.ts";

const parent = (isSampled: boolean) => ({ traceId: "a".repeat(32), spanId: "b".repeat(16), isSampled });

test("OPS-03 a ratio keeps the same traces everywhere; parent-based samplers follow the caller's choice", () => {
  const ids = createIdGenerator(() => 1_800_000_000_000);
  const traces = Array.from({ length: 4000 }, () => ids.next(""));
  const tenth = createSampler("traceidratio", 0.1);
  const kept = traces.filter((trace) => tenth(trace, undefined));
  expect(kept.length).toBeGreaterThan(250);
  expect(kept.length).toBeLessThan(600);
  expect(kept.every((trace) => createSampler("parentbased_traceidratio", 0.2)(trace, undefined))).toBe(true);
  expect(tenth("0".repeat(32), parent(true))).toBe(false);
  expect(createSampler("parentbased_traceidratio", 0)("f".repeat(32), parent(true))).toBe(true);
  expect(createSampler("parentbased_always_on", 1)("f".repeat(32), parent(false))).toBe(false);
  expect(createSampler("always_on", 0)("0".repeat(32), parent(false))).toBe(true);
  expect(createSampler("always_off", 1)("f".repeat(32), parent(true))).toBe(false);
  expect(createSampler("parentbased_always_off", 1)("f".repeat(32), undefined)).toBe(false);
});
