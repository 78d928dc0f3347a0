import { expect, test } from "vitest";
import { CRITERIA, describeSpec, draftOf, OPEN_SPEC, percentOf, routerBody, setWeight } from "./router-spec.ts";

const sum = (weights: Record<string, number>) => Object.values(weights).reduce((all, one) => all + one, 0);

test("PORTAL-06 weights sum to 100 and the other two keep their proportion", () => {
  let weights = percentOf({ quality: 1, cost: 1, latency: 1 });
  expect(sum(weights)).toBe(100);
  for (const [at, value] of [70, 0, 100, 33, 1, 99, 50].entries()) {
    const criterion = CRITERIA[at % 3] ?? "cost";
    weights = setWeight(weights, criterion, value);
    expect(weights[criterion]).toBe(value);
    expect(sum(weights)).toBe(100);
    expect(Math.min(...Object.values(weights))).toBeGreaterThanOrEqual(0);
  }
  expect(setWeight({ quality: 20, cost: 60, latency: 20 }, "quality", 60)).toEqual({
    quality: 60,
    cost: 30,
    latency: 10,
  });
  expect(setWeight({ quality: 100, cost: 0, latency: 0 }, "quality", 40)).toEqual({
    quality: 40,
    cost: 30,
    latency: 30,
  });
});

test("PORTAL-06 unchanged settings are sent as saved", () => {
  const saved = { ...OPEN_SPEC, weights: { quality: 1, cost: 3, latency: 0 }, countries: ["FR"] };
  const draft = draftOf(saved);
  expect(draft.weights).toEqual({ quality: 25, cost: 75, latency: 0 });
  expect(routerBody({ ...draft, floor: "L2" }, saved)).toMatchObject({
    weights: saved.weights,
    floor: "L2",
    models: [],
  });
  expect(routerBody({ ...draft, weights: setWeight(draft.weights, "cost", 50) }, saved).weights).toEqual({
    quality: 50,
    cost: 50,
    latency: 0,
  });
});

test("PORTAL-06 the node preference is kept, sent and described", () => {
  const saved = { ...OPEN_SPEC, nodes: "only" as const };
  expect(routerBody(draftOf(saved), saved).nodes).toBe("only");
  expect(routerBody({ ...draftOf(saved), nodes: null }, saved).nodes).toBeNull();
  expect(describeSpec(saved)).toContain("nodes only");
  expect(describeSpec(OPEN_SPEC)).not.toContain("nodes");
});
