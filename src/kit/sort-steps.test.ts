import fc from "fast-check";
import { expect, test } from "vitest";
import { atOnce } from "./in-turns.ts";
import { sortSteps } from "./sort-steps.ts";

test("CLASS-06 a sort in steps gives what a sort at once gives, stable, in steps of bounded work", () => {
  const items = fc.array(fc.nat(50), { minLength: 0, maxLength: 40 }).map((few) => {
    // Several runs, partly in order.
    const many = few.flatMap((value, at) => Array.from({ length: 150 }, (_, more) => ({ value: value + more, at })));
    return many.map((item, place) => ({ ...item, place }));
  });
  fc.assert(
    fc.property(items, (all) => {
      const compare = (a: { value: number }, b: { value: number }) => a.value - b.value;
      expect(atOnce(sortSteps(all, compare))).toEqual(all.toSorted(compare));
    }),
    { numRuns: 20 },
  );
  const long = Array.from({ length: 100_000 }, (_, at) => (at * 7919) % 100_003);
  let largest = 0;
  let steps = 0;
  for (const work of sortSteps(long, (a, b) => a - b)) {
    largest = Math.max(largest, work);
    steps++;
  }
  expect(largest).toBeLessThan(50_000);
  expect(steps).toBeGreaterThan(150);
});
