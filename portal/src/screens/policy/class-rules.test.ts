import { expect, test } from "vitest";
import { groupsOf, rulesText, segmentsOf, withRule } from "./class-rules.ts";

const finding = (offset: number, length: number) =>
  ({ class: "personal", detector: "x.email", label: "EMAIL", confidence: "high", offset, length }) as const;

test("PORTAL-06 a rule that demands nothing is removed, and a level below which nothing happens too", () => {
  const rules = withRule({}, "personal", { action: "redact", below: "L3" });
  expect(rules).toEqual({ personal: { action: "redact", below: "L3" } });
  expect(withRule(rules, "personal", { action: "report", below: "L3" })).toEqual({ personal: { action: "report" } });
  expect(withRule(rules, "personal", {})).toEqual({});
  expect(rulesText({ a: { floor: "L1" }, b: {} })).toBe(rulesText({ b: {}, a: { floor: "L1" } }));
});

test("PORTAL-06 findings divide a text; overlapping ones and ones of an older text are left out", () => {
  const texts = (text: string, ...findings: ReturnType<typeof finding>[]) =>
    segmentsOf(text, findings).map((one) => (one.finding === undefined ? one.text : `<${one.text}>`));
  expect(texts("to a@b.eu now", finding(3, 6), finding(5, 2))).toEqual(["to ", "<a@b.eu>", " now"]);
  expect(texts("a@b", finding(3, 6))).toEqual(["a@b"]);
});

test("PORTAL-06 levels that receive the same text are one group", () => {
  const level = (name: "L0" | "L1" | "L2", text: string | null) =>
    ({ level: name, allowed: text !== null, reason: null, action: null, text }) as const;
  expect(groupsOf([level("L0", "a"), level("L1", "a"), level("L2", "b")]).map(({ levels }) => levels)).toEqual([
    ["L0", "L1"],
    ["L2"],
  ]);
});
