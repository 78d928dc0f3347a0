import { describe, expect, test } from "vitest";
import { closed, expectShapes, list, maybeList } from "../../../tests/support/request-shapes.ts";
import { decodeWith } from "../../app/request-input.ts";
import { DecisionRequest } from "./decisions.ts";

describe("/decisions", () => {
  const options = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`o${at}`, null]));
  const questions = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`q${at}`, { type: "noul", instructions: "a" }]));
  const NOUL = { type: "noul", instructions: "a" };
  const choosing = (criteria: unknown) => ({ questions: { q: { type: "choice", instructions: "a", criteria } } });
  const body = {
    model: "a/b",
    state: "a",
    questions: {
      choice: { type: "choice", instructions: "a", criteria: { a: "b", c: null } },
      score: { type: "score", instructions: "a", criteria: ["a", "b"] },
    },
  };
  expectShapes(DecisionRequest, body, [
    ["state", ["a", { a: 1 }], [undefined, null, "", 7, []]],
    ["questions", [questions(1), questions(32)], [undefined, questions(0), questions(33), []]],
    ["questions.choice.criteria", [options(2), options(1000)], [undefined, options(1), options(1001), []]],
    closed("questions.choice"),
    closed("questions.score"),
    list("questions.score.criteria", "a", 2, 1000),
    maybeList("images", "a", 0, 4),
  ]);

  test.each([
    [{ questions: { "a b": NOUL } }, 'Field "questions.a b" must have a name of letters, digits, _, . and - only.'],
    [{ questions: [] }, 'Field "questions" must be an object with questions by name.'],
    [{ questions: { q: { type: "other" } } }, 'Field "questions.q.type" must be noul, choice or score.'],
    [{ questions: { q: "a" } }, 'Field "questions.q" must be an object.'],
    [choosing({ a: null, "": null }), 'Field "questions.q.criteria." must not have an empty option name.'],
    [choosing([]), 'Field "questions.q.criteria" must be an object with option names and descriptions.'],
  ])("DEC-04 %j is refused in words that help", (more, words) => {
    expect(() => decodeWith(DecisionRequest, { ...body, ...more })).toThrow(words);
  });
});
