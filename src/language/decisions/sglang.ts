import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import type { DecisionQuestion } from "./call.ts";
import { imageUrl } from "./image.ts";
import type { RawAnswer } from "./reply.ts";
import { type DecisionWire, mapOf, modelOf, upstreamIdOf, usageOf } from "./wire-format.ts";

/** SGLang's own: any chat model, read by its labels. It tells no confidence. */
export const sglangDecisions: DecisionWire = {
  path: "/decisions",
  encode: (ask, facts) => ({
    model: modelOf(facts),
    input: ask.state,
    questions: ask.questions.map(questionOf),
    ...(ask.images.length === 0 ? {} : { images: ask.images.map((image) => ({ url: imageUrl(image) })) }),
  }),
  decode(body, _facts, headers) {
    if (!isJsonObject(body) || !isJsonObject(body["answers"])) return undefined;
    return {
      answers: Object.entries(body["answers"]).map(([id, answer]) => [id, answerOf(answer)]),
      usage: usageOf(body["usage"], "prompt_tokens", "completion_tokens", "zero"),
      upstreamId: upstreamIdOf(body, headers),
      truncated: false,
    };
  },
};

function questionOf(question: DecisionQuestion): JsonObject {
  const { id, instructions } = question;
  switch (question.type) {
    case "noul":
      return { id, type: "yes_no", question: instructions };
    case "choice":
      return {
        id,
        type: "choice",
        question: instructions,
        options: question.options.map(({ name, description }) => ({ name, ...(description ? { description } : {}) })),
      };
    case "score":
      return { id, type: "score", question: instructions, levels: question.levels };
  }
}

function answerOf(answer: unknown): RawAnswer {
  if (!isJsonObject(answer)) return { type: "other" };
  const { type, label_mass, probabilities: shares } = answer;
  const labelMass = label_mass ?? null;
  const probabilities = isJsonObject(shares) ? mapOf(Object.entries(shares)) : new Map<string, unknown>();
  switch (type) {
    case "yes_no":
      return { type: "noul", value: probabilities.get("yes"), probabilities, labelMass };
    case "choice":
      return { type, value: answer["choice"], probabilities, labelMass };
    case "score":
      return { type, value: answer["score"], probabilities, labelMass };
    default:
      return { type: "other" };
  }
}
