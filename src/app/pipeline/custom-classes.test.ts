import { expect, test } from "vitest";
import type { CustomClassDefinition } from "../../domain/data-classes/custom-class.ts";
import type { CustomClass } from "../../domain/tenancy/custom-class.ts";
import { CustomClasses } from "./custom-classes.ts";

const classOf = (workspaceId: string, version = 1): CustomClass => ({
  workspaceId,
  name: "acme",
  version,
  termCount: 1,
  patternCount: 0,
  changedAtMs: 1,
  changedBy: "ada",
});

test("CLASS-01 what classes look for is read once per version, and again when it was used longest ago", async () => {
  const reads: string[] = [];
  const large = Array.from({ length: 15_000 }, (_, at) => `${"x".repeat(190)}${at}`);
  const classes = new CustomClasses(async ({ workspaceId, version }): Promise<CustomClassDefinition> => {
    reads.push(`${workspaceId} ${version}`);
    return { terms: large, patterns: [] };
  });
  classes.replace("a", [classOf("a")]);
  classes.replace("b", [classOf("b")]);
  await Promise.all([classes.detectors("a"), classes.detectors("a")]);
  expect(reads).toEqual(["a 1"]);
  // Both together are more than is kept.
  await classes.detectors("b");
  await classes.detectors("b");
  expect(reads).toEqual(["a 1", "b 1"]);
  await classes.detectors("a");
  expect(reads).toEqual(["a 1", "b 1", "a 1"]);
  classes.replace("a", [classOf("a", 2)]);
  await classes.detectors("a");
  expect(reads.at(-1)).toBe("a 2");
});

test("CLASS-04 a class that cannot be read fails the request, and the next one tries again", async () => {
  let isBroken = true;
  const classes = new CustomClasses(async () => {
    if (isBroken) throw new Error("no store");
    return { terms: ["Atlas"], patterns: [] };
  });
  classes.replace("a", [classOf("a")]);
  await expect(classes.detectors("a")).rejects.toThrow("no store");
  isBroken = false;
  const { classes: names } = await classes.detectors("a");
  expect(names.has("acme")).toBe(true);
});

test("CLASS-04 a class that was removed meanwhile is not looked for, so that its rules refuse the request", async () => {
  const classes = new CustomClasses(async () => undefined);
  classes.replace("a", [classOf("a")]);
  const { classes: names } = await classes.detectors("a");
  expect([names.has("acme"), names.has("personal")]).toEqual([false, true]);
});

test("CLASS-01 100,000 terms are made ready in turns, between which other work runs", async () => {
  const terms = Array.from({ length: 100_000 }, (_, at) => `customer ${at.toString(36)} ltd`);
  const classes = new CustomClasses(async () => ({ terms, patterns: [] }));
  classes.replace("a", [classOf("a")]);
  let others = 0;
  let isReady = false;
  const work = () => {
    others += 1;
    if (!isReady) setImmediate(work);
  };
  setImmediate(work);
  await classes.detectors("a");
  isReady = true;
  expect(others).toBeGreaterThan(100);
});
