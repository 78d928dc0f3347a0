import type { JsonObject } from "../../kit/json.ts";
import type { ReportedCost } from "../canon/reply.ts";
import type { Usage } from "../canon/usage.ts";
import type { DecisionQuestion } from "./call.ts";
import type { DecisionAnswer } from "./reply.ts";
import type { DecisionAnswers } from "./validate.ts";

export type DecisionRendering = {
  readonly model: string;
  readonly questions: readonly DecisionQuestion[];
  readonly answers: DecisionAnswers;
  readonly usage: Usage;
  readonly cost: ReportedCost | undefined;
};

/** Renders answers in a caller's format. */
export type DecisionRenderer = {
  /** Whether a refused question is rendered as an answer or fails the request. */
  readonly refusals: "answered" | "fault";
  render(rendering: DecisionRendering): string;
};

/** The gateway's own format. `currency` is the workspace's. */
export const decisionRenderer = (currency: string): DecisionRenderer => ({
  refusals: "fault",
  render({ model, questions, answers, usage, cost }) {
    const rendered = questions.flatMap((question) => {
      const answer = answers.get(question.key);
      return answer === undefined ? [] : [[question.key, renderAnswer(answer, question)] as const];
    });
    return JSON.stringify({
      model,
      answers: Object.fromEntries(rendered),
      usage: {
        input_tokens: usage.inputTokens,
        output_tokens: usage.outputTokens,
        ...(cost === undefined ? {} : { cost: cost.cost }),
        currency,
      },
    });
  },
});

function renderAnswer(answer: DecisionAnswer, question: DecisionQuestion): JsonObject {
  switch (answer.type) {
    case "noul":
      return { type: "noul", noul: answer.noul };
    case "choice":
      return { type: "choice", choice: answer.choice, confidence: answer.confidence };
    case "score": {
      const { providerFields, score, probabilities, confidence } = answer;
      if (providerFields !== undefined) return { type: "score", ...providerFields };
      const legend = question.type === "score" ? Object.fromEntries(question.levels.entries()) : {};
      return { type: "score", score, probabilities: Object.fromEntries(probabilities.entries()), legend, confidence };
    }
    case "refusal":
      return { type: "refusal" };
  }
}
