import type { JsonObject } from "../../kit/json.ts";
import type { ReportedCost } from "../canon/reply.ts";
import type { Usage } from "../canon/usage.ts";
import type { DecisionQuestion } from "./call.ts";
import type { DecisionAnswer } from "./reply.ts";
import type { Checked } from "./validate.ts";

/** What an answer is written from. */
export type Rendering = {
  readonly model: string;
  readonly questions: readonly DecisionQuestion[];
  readonly answers: Checked;
  readonly counted: Usage;
  readonly shown: ReportedCost | undefined;
};

/** How answers are written for a caller. */
export type DecisionClient = {
  /** What becomes of a question that the provider declined: it has a place in the answer, or there is no answer. */
  readonly refusals: "answered" | "fault";
  render(rendering: Rendering): string;
};

/** The specified shape: `model`, `answers` and `usage`, and nothing beside them. The currency is the workspace's. */
export const decisionClient = (currency: string): DecisionClient => ({
  refusals: "fault",
  render({ model, questions, answers, counted, shown }) {
    const written = questions.flatMap((question) => {
      const answer = answers.get(question.key);
      return answer === undefined ? [] : [[question.key, answerOf(answer, question)] as const];
    });
    return JSON.stringify({
      model,
      answers: Object.fromEntries(written),
      usage: {
        input_tokens: counted.inputTokens,
        output_tokens: counted.outputTokens,
        ...(shown === undefined ? {} : { cost: shown.cost }),
        currency,
      },
    });
  },
});

function answerOf(answer: DecisionAnswer, question: DecisionQuestion): JsonObject {
  switch (answer.type) {
    case "noul":
      return { type: "noul", noul: answer.noul };
    case "choice":
      return { type: "choice", choice: answer.choice, confidence: answer.confidence };
    case "score": {
      const { sent, score, probabilities, confidence } = answer;
      if (sent !== undefined) return { type: "score", ...sent };
      const legend = question.type === "score" ? Object.fromEntries(question.levels.entries()) : {};
      return { type: "score", score, probabilities: Object.fromEntries(probabilities.entries()), legend, confidence };
    }
    case "refusal":
      return { type: "refusal" };
  }
}
