import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import type { DecisionCall, DecisionQuestion } from "./call.ts";
import { imageUrl } from "./image.ts";
import type { RawAnswer } from "./reply.ts";
import { bodyModel, type DecisionWireFormat, type DecisionWireOptions, decodeUsage, uniqueMap, upstreamIdOf } from "./wire-format.ts";

/** TypeSafe's System One, and everyone who follows it: questions and answers by name. */
export const systemOne: DecisionWireFormat = {
  path: "/systemone",
  encode: (ask, facts) => ({
    model: bodyModel(facts),
    state: encodeState(ask, facts),
    questions: Object.fromEntries(ask.questions.map((question) => [question.id, encodeQuestion(question)])),
    ...encodeImages(ask, facts),
  }),
  decode(whole, facts, headers) {
    const body = facts.hasEnvelope ? unwrapEnvelope(whole) : whole;
    if (!isJsonObject(body) || !isJsonObject(body["answers"])) return undefined;
    const { answers, usage, diagnostics } = body;
    // One server has another quantity under this name, and tells that it is that server.
    const confidence = body["object"] === "structured_decision" ? "unlike" : "told";
    return {
      answers: Object.entries(answers).map(([id, answer]) => {
        const doubts = isJsonObject(diagnostics) && Object.hasOwn(diagnostics, id) ? diagnostics[id] : undefined;
        return [id, { ...decodeAnswer(answer, confidence), ...decodeDiagnostics(doubts) }];
      }),
      usage: decodeUsage(usage, "input_tokens", "output_tokens", "unknown"),
      upstreamId: upstreamIdOf(body, headers),
      isTruncated: isTruncated(usage),
    };
  },
};

function unwrapEnvelope(whole: unknown): unknown {
  return isJsonObject(whole) && whole["success"] === true ? whole["result"] : undefined;
}

function encodeState({ state, images }: DecisionCall, facts: DecisionWireOptions): unknown {
  if (images.length === 0 || facts.images !== "state_items") return state;
  return [state, ...images.map((image) => ({ type: "image_url", image_url: { url: imageUrl(image) } }))];
}

function encodeImages({ images }: DecisionCall, facts: DecisionWireOptions): JsonObject {
  if (images.length === 0) return {};
  if (facts.images === "images_field") return { images: images.map(imageUrl) };
  return facts.images === "image_objects" ? { images: images.map((image) => ({ url: imageUrl(image) })) } : {};
}

function encodeQuestion(question: DecisionQuestion): JsonObject {
  const { type, instructions } = question;
  switch (question.type) {
    case "noul":
      return { type, instructions };
    case "choice": {
      const criteria = Object.fromEntries(question.options.map(({ name, description }) => [name, description]));
      return { type, instructions, criteria };
    }
    case "score":
      return { type, instructions, criteria: question.levels };
  }
}

function decodeAnswer(answer: unknown, said: "told" | "unlike"): RawAnswer {
  if (!isJsonObject(answer)) return { type: "other" };
  const { type, ...sent: providerFields } = answer;
  const { probabilities } = providerFields;
  const confidence = said === "told" ? answer["confidence"] : undefined;
  const told = isJsonObject(probabilities) ? uniqueMap(Object.entries(probabilities)) : undefined;
  switch (type) {
    case "noul":
      return { type, value: answer["noul"] };
    case "choice":
      return { type, value: answer["choice"], probabilities: told, confidence };
    case "score":
      return { type, value: answer["score"], probabilities: told, confidence, providerFields };
    case "refusal":
      return { type };
    default:
      return { type: "other" };
  }
}

function decodeDiagnostics(diagnostics: unknown): Pick<RawAnswer, "labelMass" | "argmaxIsLabel"> {
  if (!isJsonObject(diagnostics)) return {};
  return { labelMass: diagnostics["label_mass"], argmaxIsLabel: diagnostics["argmax_is_label"] };
}

/** Small models read a beginning and say so, if one looks. */
function isTruncated(usage: unknown): boolean {
  if (!isJsonObject(usage)) return false;
  const { truncated, truncated_questions: questions, state_tokens_dropped: dropped } = usage;
  return truncated === true || (Array.isArray(questions) && questions.length > 0) || Number(dropped ?? 0) > 0;
}
