import { expect, test } from "vitest";
import { memoryLimit } from "./process-gauges.ts";

const MACHINE = 8 * 2 ** 30;

test.each([
  ["a container's limit", 2 ** 30, 2 ** 30],
  ["none, as some systems report it", 0, MACHINE],
  ["none, as Linux reports it", 2 ** 64, MACHINE],
  ["a limit above the machine's memory", 2 * MACHINE, MACHINE],
])("OPS-02 the memory limit of %s", (_which, reported, limit) => {
  expect(memoryLimit(reported, MACHINE)).toBe(limit);
});
