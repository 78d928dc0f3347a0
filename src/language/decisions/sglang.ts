import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { all, each, members, omittedMembers, variants } from "../dialects/reply-members.ts";
import type { DecisionQuestion } from "./call.ts";
import { imageUrl } from "./image.ts";
import type { RawAnswer } from "./reply.ts";
import { bodyModel, type DecisionWireFormat, decodeUsage, replyRule, uniqueMap, upstreamIdOf } from "./wire-format.ts";

const REPLY = replyRule(
  each(
    variants("type", {
      yes_no: members({ ...all("exempt", "type", "label_mass"), probabilities: "carried" }),
      choice: members({ ...all("exempt", "type", "label_mass", "probabilities"), choice: "carried" }),
      score: members({ ...all("exempt", "type", "label_mass"), ...all("carried", "score", "probabilities") }),
    }),
  ),
  "prompt_tokens",
  "completion_tokens",
);

/** SGLang's decisions format, for any chat model. It reports no confidence. */
export const sglangDecisions: DecisionWireFormat = {
  path: "/decisions",
  encode: (call, options) => ({
    model: bodyModel(options),
    input: call.state,
    questions: call.questions.map(encodeQuestion),
    ...(call.images.length === 0 ? {} : { images: call.images.map((image) => ({ url: imageUrl(image) })) }),
  }),
  decode(body, _options, headers) {
    if (!isJsonObject(body) || !isJsonObject(body["answers"])) return undefined;
    return {
      answers: Object.entries(body["answers"]).map(([id, answer]) => [id, decodeAnswer(answer)]),
      usage: decodeUsage(body["usage"], "prompt_tokens", "completion_tokens", "zero"),
      upstreamId: upstreamIdOf(body, headers),
      omitted: omittedMembers(body, REPLY),
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
  const { type, label_mass, probabilities: reported } = answer;
  const labelMass = label_mass ?? null;
  const probabilities = isJsonObject(reported) ? uniqueMap(Object.entries(reported)) : new Map<string, unknown>();
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
