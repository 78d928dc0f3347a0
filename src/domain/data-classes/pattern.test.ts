import { expect, test } from "vitest";
import { atOnce } from "../../kit/in-turns.ts";
import { buildCustomClass, builtInDetectors, definitionProblem } from "./custom-class.ts";
import { loadPatternEngine, PatternBudgetError, patternBudget } from "./pattern.ts";
import { findInText, Reading } from "./reading.ts";

const engine = await loadPatternEngine();
const LIMITS = { terms: 5, patterns: 3 };

function detectorsFor(patterns: readonly string[], budget = patternBudget()) {
  const built = atOnce(buildCustomClass("acme", { terms: [], patterns }, engine));
  return { ...builtInDetectors(new Set()), ...built, budget };
}
function found(text: string, patterns: readonly string[], budget = patternBudget()): string[] {
  const findings = atOnce(findInText(new Reading(text), detectorsFor(patterns, budget)));
  return findings.map(({ start, end }) => text.slice(start, end));
}

test("CLASS-01 a pattern is found anywhere, at the edges of words and across the slices of a long text", () => {
  expect(found("xPRJ-1234 PRJ-12345, PRJ-9876.", ["\\bPRJ-\\d{4}\\b"])).toEqual(["PRJ-9876"]);
  expect(found("Projekt DÜNE und düne", ["(?i)\\bdüne"])).toEqual(["DÜNE", "düne"]);
  for (const length of [
    1, 254, 255, 256, 400, 511, 512, 6_549, 6_550, 6_551, 6_552, 6_553, 6_554, 6_555, 6_560, 13_107, 20_000,
  ]) {
    const text = `${"a ".repeat(length)}PRJ-1234${" b".repeat(length)}`;
    for (const pattern of ["\\bPRJ-\\d{4}\\b", "\\bPRJ-\\d+\\b"])
      expect(found(text, [pattern]), String(length)).toEqual(["PRJ-1234"]);
  }
});

test("CLASS-01 of two patterns and terms that overlap, one finding is left; too short matches are none", () => {
  expect(found("PRJ-1234", ["PRJ-\\d+", "\\d{4}"])).toEqual(["PRJ-1234"]);
  expect(found("ab abc", ["[a-c]+"])).toEqual(["abc"]);
});

test.each([
  ["a(b", "patterns[0]", "missing closing ): `a(b`".slice(0, 17)],
  ["(a)\\1", "patterns[0]", "invalid escape sequence"],
  ["a(?=b)", "patterns[0]", "(offset 1)"],
  ["^abc", "patterns[0]", "has the anchor ^"],
  ["abc[$^]d$", "patterns[0]", "(offset 8)"],
  ["(x?){500}y{500}", "patterns[0]", "repeats more than 512 times"],
  ["(\\w{20}){15}", "patterns[0]", "at most 256 are allowed"],
  ["a*", "patterns[0]", "matches the empty text"],
  ["a".repeat(501), "patterns[0]", "more than 500 characters"],
])("CLASS-01 the pattern %s is refused with its place and the reason", async (pattern, path, part) => {
  const problem = await definitionProblem({ terms: [], patterns: [pattern] }, LIMITS);
  expect(problem).toEqual({ path, problem: expect.stringContaining(part) });
});

test("CLASS-01 terms and their number are limited, and the error names the term by its index", async () => {
  const problemOf = (terms: readonly string[], patterns: readonly string[] = []) =>
    definitionProblem({ terms, patterns }, LIMITS);
  expect(await problemOf(["Atlas", "ab"])).toEqual({ path: "terms[1]", problem: expect.stringContaining("3") });
  expect(await problemOf(["Atlas", " Nord"])).toMatchObject({ path: "terms[1]" });
  expect(await problemOf(["x".repeat(201)])).toEqual({ path: "terms[0]", problem: expect.stringContaining("200") });
  expect(await problemOf(Array.from({ length: 6 }, (_, at) => `term ${at}`))).toMatchObject({ path: "terms" });
  expect(await problemOf([], ["abc", "abd", "abe", "abf"])).toMatchObject({ path: "patterns" });
  expect(await problemOf([])).toMatchObject({ path: "terms" });
  expect(await problemOf(["Atlas"], ["PRJ-\\d{4}"])).toBeUndefined();
});

test("CLASS-01 the work for a text grows with its length, also for patterns that catch other engines", () => {
  const workOn = (length: number, pattern: string) => {
    let work = 0;
    for (const done of findInText(new Reading("a".repeat(length)), detectorsFor([pattern]))) work += done;
    return work;
  };
  for (const pattern of ["(a+)+b", "(a|aa)+c", "(a?){30}a{30}b", "(.*)(.*)(.*)d"])
    expect(workOn(40_000, pattern) / workOn(20_000, pattern), pattern).toBeLessThan(2.2);
});

test("CLASS-06 numbers count as more work than words, so that a turn full of them ends sooner", () => {
  const workOn = (text: string) => {
    let work = 0;
    const detectors = builtInDetectors(new Set(["personal"]));
    for (const done of findInText(new Reading(text.repeat(10_000)), detectors)) work += done;
    return work;
  };
  expect(workOn("4711 4711 ") / workOn("word word ")).toBeGreaterThan(5);
});

test("CLASS-01 a pattern that reads far behind each match uses up its work, then the rest of the text is found", () => {
  const text = "abc ".repeat(2_000);
  expect(found(text, ["abc.*X|abc"]).length).toBe(2_000);
  const few = found(text, ["abc.*X|abc"], { ...patternBudget(), left: 100_000 });
  expect(few.length).toBeLessThan(200);
  expect(few.at(-1)?.length).toBeGreaterThan(7_000);
  expect(found(text, ["abc"], { ...patternBudget(), left: 100_000 }).length).toBe(2_000);
});

test("CLASS-01 all patterns of a request read a bounded number of characters, then the request is refused", () => {
  const patterns = ["abc", "abd", "abe"];
  const budget = { ...patternBudget(), chars: 3_000 };
  expect(found("abc ".repeat(100), patterns, budget).length).toBe(100);
  expect(() => found("abc ".repeat(500), patterns, budget)).toThrow(PatternBudgetError);
});
