import fc from "fast-check";
import { expect, test } from "vitest";
import {
  DATA_CLASS_ACTIONS,
  DATA_CLASSES,
  type DataClassRule,
  type DataClassRules,
  judgeDataClasses,
  tightenDataClasses,
  treatmentsAt,
  unknownClass,
  writtenRules,
} from "./data-class-rules.ts";
import { LEVELS } from "./level.ts";

const rule: fc.Arbitrary<DataClassRule> = fc
  .record(
    {
      floor: fc.constantFrom(...LEVELS),
      action: fc.constantFrom(...DATA_CLASS_ACTIONS),
      below: fc.constantFrom(...LEVELS),
    },
    { requiredKeys: [] },
  )
  .map(({ below, ...rest }) =>
    rest.action !== undefined && rest.action !== "report" && below !== undefined ? { ...rest, below } : rest,
  );
const names = fc.constantFrom("personal", "secret", "special");
const rules: fc.Arbitrary<DataClassRules> = fc.dictionary(names, rule);
const contents = fc.uniqueArray(names);

/** Higher is stricter. */
function strictness(of: DataClassRules | undefined, classes: readonly string[]): number {
  const { floor, blocked } = judgeDataClasses(of ?? {}, classes);
  return blocked !== undefined ? LEVELS.length : floor === null ? -1 : LEVELS.indexOf(floor);
}

test("CLASS-02 combined rules are exactly as strict as the stricter layer, in any order, for any content", () => {
  fc.assert(
    fc.property(rules, rules, contents, (one, other, classes) => {
      const both = tightenDataClasses(one, other);
      const expected = Math.max(strictness(one, classes), strictness(other, classes));
      expect(strictness(both, classes)).toBe(expected);
      expect(strictness(tightenDataClasses(other, one), classes)).toBe(expected);
    }),
  );
});

test("CLASS-02 combined rules treat data as the stricter layer does, for endpoints of every level", () => {
  const treatment = (of: DataClassRules | undefined, name: string, level: string) =>
    DATA_CLASS_ACTIONS.indexOf(treatmentsAt(of ?? {}, [name], level).get(name) ?? "report");
  fc.assert(
    fc.property(
      rules,
      rules,
      rules,
      names,
      fc.constantFrom("UNCLASSIFIED", ...LEVELS),
      (one, other, third, name, level) => {
        const all = tightenDataClasses(tightenDataClasses(one, other), third);
        const each = [one, other, third].map((layer) => treatment(layer, name, level));
        expect(treatment(all, name, level)).toBe(Math.max(...each));
      },
    ),
  );
});

const KNOWN: ReadonlySet<string> = new Set(DATA_CLASSES);

test("CLASS-02 a rule that this version cannot read blocks, and is written back as it was", () => {
  const stored = { action: "translate", from: 7 };
  const unread: DataClassRules = { personal: { action: "block", unread: stored } };
  expect(judgeDataClasses(unread, ["personal"]).blocked).toBe("personal");
  expect(writtenRules(unread)).toEqual({ personal: stored });
  expect(unknownClass({ "acme-projects": { action: "block" } }, KNOWN)).toBe("acme-projects");
  expect(unknownClass({ "acme-projects": { action: "report" }, personal: { action: "block" } }, KNOWN)).toBeUndefined();
});

test("CLASS-02 adding the same rules again, or none, changes nothing", () => {
  fc.assert(
    fc.property(rules, (one) => {
      expect(tightenDataClasses(one, one)).toBe(one);
      expect(tightenDataClasses(one, undefined)).toBe(one);
      expect(tightenDataClasses(one, structuredClone(one))).toBe(one);
      expect(tightenDataClasses(undefined, one)).toBe(one);
    }),
  );
});

test("CLASS-02 a class without a rule, and one that is reported, demand nothing", () => {
  expect(judgeDataClasses({ personal: { action: "report" } }, ["personal", "secret"])).toEqual({
    floor: null,
    floorOf: undefined,
    blocked: undefined,
  });
  expect(judgeDataClasses({ secret: { action: "block" } }, ["personal"])).toMatchObject({
    floor: null,
    blocked: undefined,
  });
  expect(judgeDataClasses({ personal: { action: "block", below: "L3", floor: "L1" } }, ["personal"]).floor).toBe("L3");
});
