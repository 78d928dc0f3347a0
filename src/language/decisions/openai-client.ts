import type { JsonObject } from "../../kit/json.ts";
import { encodeUsage } from "../dialects/responses/upstream/usage.ts";
import type { DecisionQuestion } from "./call.ts";
import type { DecisionRenderer } from "./render.ts";
import type { DecisionAnswer } from "./reply.ts";

/** A question, and the caller's own words for what comes back. */
export type OpenaiCallerQuestion = {
  readonly question: DecisionQuestion;
  readonly name: string | null;
  /** The values of its choices: a boolean is another thing than the word for it. */
  readonly values: readonly (string | boolean)[];
  readonly labels: readonly string[];
};

/** OpenAI's shape: answers in the order of the questions, and a declined question is one of them. */
export function openaiRenderer(asked: readonly OpenaiCallerQuestion[]): DecisionRenderer {
  return {
    refusals: "answered",
    render({ model, answers, usage, cost }) {
      return JSON.stringify({
        model,
        answers: asked.flatMap((one) => {
          const answer = answers.get(one.question.key);
          return answer === undefined ? [] : [renderAnswer(answer, one)];
        }),
        usage: encodeUsage(usage, cost),
      });
    },
  };
}

function renderAnswer(answer: DecisionAnswer, { question, name, values, labels }: OpenaiCallerQuestion): JsonObject {
  switch (answer.type) {
    case "noul":
      return { type: "predicate", name, probability: answer.noul };
    case "choice": {
      const options = question.type === "choice" ? question.options : [];
      const told = answer.probabilities;
      return {
        type: "choice",
        name,
        choice: values[options.findIndex((option) => option.name === answer.choice)],
        confidence: answer.confidence,
        probabilities:
          told === undefined
            ? []
            : options.map((option, place) => ({ value: values[place], probability: told.get(option.name) })),
      };
    }
    case "score": {
      const { score, confidence, probabilities } = answer;
      const levels = probabilities.map((probability, value) => ({ value, label: labels[value], probability }));
      return { type: "score", name, score, confidence, probabilities: levels };
    }
    case "refusal":
      return { type: "refusal", name };
  }
}
