import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import type { DecisionQuestion } from "./call.ts";
import { imageUrl } from "./image.ts";
import type { RawAnswer } from "./reply.ts";
import { bodyModel, type DecisionWireFormat, decodeUsage, uniqueMap, upstreamIdOf } from "./wire-format.ts";

/** SGLang's own: any chat model, read by its labels. It tells no confidence. */
export const sglangDecisions: DecisionWireFormat = {
  path: "/decisions",
  encode: (ask, facts) => ({
    model: bodyModel(facts),
    input: ask.state,
    questions: ask.questions.map(encodeQuestion),
    ...(ask.images.length === 0 ? {} : { images: ask.images.map((image) => ({ url: imageUrl(image) })) }),
  }),
  decode(body, _facts, headers) {
    if (!isJsonObject(body) || !isJsonObject(body["answers"])) return undefined;
    return {
      answers: Object.entries(body["answers"]).map(([id, answer]) => [id, decodeAnswer(answer)]),
      usage: decodeUsage(body["usage"], "prompt_tokens", "completion_tokens", "zero"),
      upstreamId: upstreamIdOf(body, headers),
      isTruncated: false,
    };
  },
};

function encodeQuestion(question: DecisionQuestion): JsonObject {
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

function decodeAnswer(answer: unknown): RawAnswer {
  if (!isJsonObject(answer)) return { type: "other" };
  const { type, label_mass, probabilities: shares } = answer;
  const labelMass = label_mass ?? null;
  const probabilities = isJsonObject(shares) ? uniqueMap(Object.entries(shares)) : new Map<string, unknown>();
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
