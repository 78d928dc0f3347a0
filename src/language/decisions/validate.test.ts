import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../kit/json.ts";
import type { DecisionQuestion } from "./call.ts";
import { choiceConfidence, scoreConfidence } from "./confidence.ts";
import { openaiDecisions } from "./openai.ts";
import { sglangDecisions } from "./sglang.ts";
import { systemOne } from "./system-one.ts";
import { validateReply } from "./validate.ts";
import type { DecisionWireFormat, DecisionWireOptions } from "./wire-format.ts";

const FACTS: DecisionWireOptions = { upstreamModel: "m", path: null, hasEnvelope: false, images: null };

/** The same numbers for the same seed. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const pick = <T>(list: readonly T[], random: () => number): T | undefined => list[Math.floor(random() * list.length)];

function questionsOf(random: () => number): DecisionQuestion[] {
  return Array.from({ length: 1 + Math.floor(random() * 6) }, (_, place): DecisionQuestion => {
    const names = { key: `k${place}`, id: `k${place}`, instructions: "Is it?" };
    const size = 2 + Math.floor(random() * 8);
    const type = pick(["noul", "choice", "score"] as const, random) ?? "noul";
    if (type === "noul") return { ...names, type };
    if (type === "score") return { ...names, type, levels: Array.from({ length: size }, (_, at) => `level ${at}`) };
    return {
      ...names,
      type,
      options: Array.from({ length: size }, (_, at) => ({ name: `o${at}`, description: null })),
    };
  });
}

function distribution(size: number, random: () => number, decimals: number): number[] {
  const weights = Array.from({ length: size }, () => random() ** 3 + 1e-6);
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => Number((weight / sum).toFixed(decimals)));
}

/** A valid answer of System One, rounded as its servers do. */
function answerFor(question: DecisionQuestion, random: () => number, decimals: number): JsonObject {
  if (question.type === "noul") return { type: "noul", noul: Number(random().toFixed(decimals)) };
  const size = question.type === "choice" ? question.options.length : question.levels.length;
  const shares = distribution(size, random, decimals);
  if (question.type === "choice") {
    const names = question.options.map(({ name }) => name);
    const probabilities = Object.fromEntries(names.map((name, at) => [name, shares[at]]));
    const choice = names[shares.indexOf(Math.max(...shares))];
    return { type: "choice", choice, probabilities, confidence: choiceConfidence(shares) };
  }
  const score = Number(shares.reduce((sum, share, level) => sum + share * level, 0).toFixed(decimals));
  return { type: "score", score, probabilities: Object.fromEntries(shares.entries()), confidence: 0.5 };
}

type Answers = Record<string, JsonObject>;

/** Each breaks one rule; undefined where there is nothing of the kind to break. */
const MUTATIONS: Readonly<Record<string, (answers: Answers, key: string) => Answers | undefined>> = {
  "a key is missing": (answers, key) => Object.fromEntries(Object.entries(answers).filter(([name]) => name !== key)),
  "a key is there that nobody asked for": (answers, key) => ({ ...answers, more: answers[key] ?? {} }),
  "the type is another": (answers, key) => ({
    ...answers,
    [key]:
      answers[key]?.["type"] === "noul"
        ? { type: "score", score: 0, probabilities: { "0": 1 } }
        : { type: "noul", noul: 0.5 },
  }),
  "the type is another, with a figure that would do": (answers, key) =>
    answers[key]?.["type"] === "noul" ? { ...answers, [key]: { type: "score", score: 0.5 } } : undefined,
  "the type is none": (answers, key) => ({ ...answers, [key]: { ...answers[key], type: "box" } }),
  "the answer is null": (answers, key) => JSON.parse(JSON.stringify({ ...answers, [key]: null })),
  "the value is beyond": (answers, key) => changed(answers, key, { noul: 1.01, choice: "nobody", score: 99 }),
  "the value is below": (answers, key) => changed(answers, key, { noul: -0.01, choice: "", score: -0.5 }),
  "the value is no number": (answers, key) => changed(answers, key, { noul: "0.5", choice: 1, score: null }),
  "the value is gone": (answers, key) =>
    changed(answers, key, { noul: undefined, choice: undefined, score: undefined }),
  "confidence is beyond": (answers, key) =>
    answers[key]?.["type"] === "noul" ? undefined : { ...answers, [key]: { ...answers[key], confidence: 1.2 } },
  "a probability is beyond": (answers, key) => withProbability(answers, key, () => 1.5),
  "a probability is text": (answers, key) => withProbability(answers, key, (p) => String(p)),
  "probabilities are much too little": (answers, key) => withProbability(answers, key, () => 0, "all"),
  "a probability is gone": (answers, key) => {
    const { probabilities } = answers[key] ?? {};
    if (typeof probabilities !== "object" || probabilities === null) return undefined;
    const rest = Object.fromEntries(Object.entries(probabilities).slice(1));
    return { ...answers, [key]: { ...answers[key], probabilities: rest } };
  },
  "an option is there that nobody named": (answers, key) => {
    const { probabilities } = answers[key] ?? {};
    if (typeof probabilities !== "object" || probabilities === null) return undefined;
    return { ...answers, [key]: { ...answers[key], probabilities: { ...probabilities, other: 0 } } };
  },
};

function changed(answers: Answers, key: string, values: Record<string, unknown>): Answers {
  const field = String(answers[key]?.["type"]);
  return { ...answers, [key]: { ...answers[key], [field]: values[field] } };
}

function withProbability(
  answers: Answers,
  key: string,
  change: (p: unknown) => unknown,
  which: "first" | "all" = "first",
): Answers | undefined {
  const { probabilities } = answers[key] ?? {};
  if (typeof probabilities !== "object" || probabilities === null) return undefined;
  const pairs = Object.entries(probabilities).map(([name, p], at) => [
    name,
    at === 0 || which === "all" ? change(p) : p,
  ]);
  return { ...answers, [key]: { ...answers[key], probabilities: Object.fromEntries(pairs) } };
}

function read(
  wire: DecisionWireFormat,
  body: unknown,
  questions: readonly DecisionQuestion[],
  decimals: number | null,
) {
  const reply = wire.decode(body, FACTS, {});
  return reply === undefined ? { unusable: "no answer" } : validateReply(reply, questions, decimals);
}

describe("all or nothing", () => {
  test("DEC-06 a thousand valid rounded answers are accepted exactly", () => {
    for (let seed = 1; seed <= 1000; seed += 1) {
      const random = seeded(seed);
      const decimals = pick([2, 4, 12], random) ?? 2;
      const questions = questionsOf(random);
      const answers = Object.fromEntries(questions.map((one) => [one.id, answerFor(one, random, decimals)]));
      const checked = read(systemOne, { answers, usage: {} }, questions, decimals);
      expect("unusable" in checked ? [seed, checked, answers] : "whole").toBe("whole");
      if ("unusable" in checked) continue;
      expect([...checked.keys()]).toEqual(questions.map(({ key }) => key));
      for (const [key, answer] of checked) {
        if (answer.type === "noul") expect(answer.noul).toBe(answers[key]?.["noul"]);
        if (answer.type === "choice") expect(answer.choice).toBe(answers[key]?.["choice"]);
        if (answer.type === "score") expect(answer.score).toBe(answers[key]?.["score"]);
      }
    }
  });

  test.each(Object.entries(MUTATIONS))("DEC-06 the whole reply is rejected when %s", (_name, mutate) => {
    let broken = 0;
    for (let seed = 1; seed <= 200; seed += 1) {
      const random = seeded(seed * 7919);
      const questions = questionsOf(random);
      const answers = Object.fromEntries(questions.map((one) => [one.id, answerFor(one, random, 4)]));
      const mutated = mutate(answers, pick(questions, random)?.key ?? "");
      if (mutated === undefined) continue;
      broken += 1;
      const checked = read(systemOne, { answers: mutated, usage: {} }, questions, 4);
      expect("unusable" in checked ? "refused" : [seed, mutated]).toBe("refused");
    }
    expect(broken).toBeGreaterThan(50);
  });

  const noul: DecisionQuestion = { key: "a", id: "a", type: "noul", instructions: "Is it?" };
  test("DEC-06 a duplicate answer rejects the reply", () => {
    const twice = [
      { type: "predicate", name: "a", probability: 0.5 },
      { type: "predicate", name: "a", probability: 0.5 },
    ];
    expect(read(openaiDecisions, { answers: twice }, [noul], 2)).toHaveProperty("unusable");
    expect(read(openaiDecisions, { answers: twice.slice(1) }, [noul], 2)).not.toHaveProperty("unusable");
    expect(read(openaiDecisions, { answers: [{ ...twice[0], name: null }] }, [noul], 2)).toHaveProperty("unusable");
  });

  test("DEC-06 yes and no must add up, and labels need enough probability mass", () => {
    const told = (more: object) => ({
      answers: { a: { type: "yes_no", probabilities: { yes: 0.75, no: 0.25 }, label_mass: 0.9, ...more } },
    });
    expect(read(sglangDecisions, told({}), [noul], 12)).not.toHaveProperty("unusable");
    expect(read(sglangDecisions, told({ probabilities: { yes: 0.75, no: 0.5 } }), [noul], 12)).toHaveProperty(
      "unusable",
    );
    expect(read(sglangDecisions, told({ label_mass: 0.49 }), [noul], 12)).toHaveProperty("unusable");
    expect(read(sglangDecisions, told({ label_mass: undefined }), [noul], 12)).toHaveProperty("unusable");
  });

  const choice: DecisionQuestion = {
    ...noul,
    type: "choice",
    options: ["x", "y", "z", "u"].map((name) => ({ name, description: null })),
  };
  test.each([
    // As many halves of a hundredth as there are options.
    [2, { x: 0.48, y: 0.25, z: 0.15, u: 0.1 }, "whole"],
    [2, { x: 0.47, y: 0.25, z: 0.15, u: 0.1 }, "refused"],
    [4, { x: 0.49, y: 0.25, z: 0.15, u: 0.1 }, "refused"],
    // Not known: two hundredths.
    [null, { x: 0.48, y: 0.25, z: 0.15, u: 0.1 }, "whole"],
    [null, { x: 0.47, y: 0.25, z: 0.15, u: 0.1 }, "refused"],
  ])("DEC-06 with %s decimals %j is %s", (decimals, probabilities, expected) => {
    const body = { answers: { a: { type: "choice", choice: "x", probabilities, confidence: 0.3 } } };
    expect("unusable" in read(systemOne, body, [choice], decimals) ? "refused" : "whole").toBe(expected);
  });

  test("DEC-07 without a distribution the provider's confidence applies; without both the reply is rejected", () => {
    const answer = { type: "choice", choice: "x" };
    expect(read(systemOne, { answers: { a: { ...answer, confidence: 0.4 } } }, [choice], 2)).not.toHaveProperty(
      "unusable",
    );
    expect(read(systemOne, { answers: { a: answer } }, [choice], 2)).toHaveProperty("unusable");
  });
});

describe("confidence", () => {
  test.each([
    [[0.94, 0.04, 0.02], 0.91],
    [[0.86, 0.1, 0.04], 0.79],
    [[0.25, 0.25, 0.25, 0.25], 0],
    [[1, 0], 1],
  ])("DEC-07 of a choice by %j is %d", (shares, expected) => {
    expect(choiceConfidence(shares)).toBeCloseTo(expected, 2);
  });

  test.each([
    [[0, 0, 1], 1],
    [[0.5, 0, 0.5], 0],
    [[0.1, 0.25, 0.65], 1 - 0.45 / (2 / 3)],
    [[0.25, 0.25, 0.25, 0.25], 0],
  ])("DEC-07 of a score by %j is %d", (shares, expected) => {
    expect(scoreConfidence(shares)).toBeCloseTo(expected, 9);
  });
});
