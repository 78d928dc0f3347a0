import type { JsonObject } from "../../kit/json.ts";
import { encodeUsage } from "../dialects/responses/client/usage.ts";
import type { DecisionQuestion } from "./call.ts";
import type { DecisionRenderer } from "./render.ts";
import type { DecisionAnswer } from "./reply.ts";

/** A question with the caller's names for its result. */
export type OpenaiCallerQuestion = {
  readonly question: DecisionQuestion;
  readonly name: string | null;
  /** Choice values: a boolean differs from its text. */
  readonly values: readonly (string | boolean)[];
  readonly labels: readonly string[];
};

/** OpenAI's format: answers in question order, including refusals. */
export function openaiRenderer(questions: readonly OpenaiCallerQuestion[]): DecisionRenderer {
  return {
    refusals: "answered",
    render({ model, answers, usage, cost }) {
      return JSON.stringify({
        model,
        answers: questions.flatMap((entry) => {
          const answer = answers.get(entry.question.key);
          return answer === undefined ? [] : [renderAnswer(answer, entry)];
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
      const reported = answer.probabilities;
      return {
        type: "choice",
        name,
        choice: values[options.findIndex((option) => option.name === answer.choice)],
        confidence: answer.confidence,
        probabilities:
          reported === undefined
            ? []
            : options.map((option, index) => ({ value: values[index], probability: reported.get(option.name) })),
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
