import { describe, expect, test } from "vitest";
import { assignQuestionIds } from "./call.ts";
import { labelDistributionOf, labelsFor } from "./labels.ts";
import { readableLimits } from "./logprobs.ts";

const told = (figures: Record<string, number>) =>
  Object.entries(figures).map(([token, p]) => ({ token, logprob: p === 0 ? -9999 : Math.log(p) }));
const yesNo = labelsFor({ key: "a", id: "a", type: "noul", instructions: "Is it?" });
const letters = labelsFor({
  key: "a",
  id: "a",
  type: "choice",
  instructions: "Which?",
  options: ["one", "two"].map((name) => ({ name, description: null })),
});

describe("labels", () => {
  test("DEC-07 spellings of a label are added up: spaces, tokenizer prefixes, case of yes and no", () => {
    const masses = labelDistributionOf(
      told({ Yes: 0.3, " yes": 0.2, "▁yes": 0.1, ĠYES: 0.1, "\nyes": 0.1, No: 0.1, " no": 0.05 }),
      yesNo,
    );
    if (typeof masses === "string") throw new Error(masses);
    expect(masses.labelMass).toBeCloseTo(0.95, 9);
    expect(masses.shares[0]).toBeCloseTo(0.8 / 0.95, 9);
  });

  test("DEC-07 letters match exactly, without removing quotes or periods", () => {
    const masses = labelDistributionOf(told({ A: 0.6, " B": 0.2, a: 0.1, '"A"': 0.05, "B.": 0.04 }), letters);
    if (typeof masses === "string") throw new Error(masses);
    expect(masses.labelMass).toBeCloseTo(0.8, 9);
  });

  test("DEC-06 a label missing from the top list must be unlikely", () => {
    expect(labelDistributionOf(told({ A: 0.99, The: 0.0005 }), letters)).toMatchObject({ shares: [1, 0] });
    expect(typeof labelDistributionOf(told({ A: 0.9, The: 0.002 }), letters)).toBe("string");
    expect(labelDistributionOf(told({ A: 0.9, The: 0.01, B: 0 }), letters)).toMatchObject({ shares: [1, 0] });
  });

  test("DEC-06 neither the sampled token nor a zero marker bounds unreported labels", () => {
    const few = told({ A: 0.6, The: 0.2 });
    expect(
      typeof labelDistributionOf([...few, { token: "Hm", logprob: Math.log(1e-5), isSampledOnly: true }], letters),
    ).toBe("string");
    expect(typeof labelDistributionOf([{ token: "A", logprob: 0, isSampledOnly: true }], letters)).toBe("string");
    expect(typeof labelDistributionOf(told({ A: 0.6, The: 0 }), letters)).toBe("string");
    const rare = { token: "B", logprob: Math.log(1e-5), beside: true as const };
    expect(labelDistributionOf([...told({ A: 0.9, The: 0.05 }), rare], letters)).toMatchObject({
      labelMass: 0.9 + 1e-5,
    });
  });

  test("DEC-06 an invalid distribution is rejected", () => {
    for (const figures of [{}, { A: 0.9, B: 0.9 }, { A: 7 }, { A: Number.NaN }])
      expect(typeof labelDistributionOf(told(figures), letters)).toBe("string");
  });

  test("DEC-07 the number of readable options follows from the number of alternatives", () => {
    expect(readableLimits({ top: 20 })).toEqual({ options: 20, levels: 10 });
    expect(readableLimits({ top: 5 })).toEqual({ options: 4, levels: 4 });
  });
});

test("DEC-13 providers get the caller's names, or generated unique ids where a name is not portable", () => {
  const long = "x".repeat(65);
  expect(assignQuestionIds(["a", "b.c", long, "q1", null, "ö"])).toEqual(["a", "b.c", "q2", "q1", "q3", "q4"]);
});
