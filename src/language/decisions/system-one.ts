import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { all, each, members, omittedMembers, variants } from "../dialects/reply-members.ts";
import type { DecisionCall, DecisionQuestion } from "./call.ts";
import { imageUrl } from "./image.ts";
import type { RawAnswer } from "./reply.ts";
import {
  bodyModel,
  type DecisionWireFormat,
  type DecisionWireOptions,
  decodeUsage,
  replyRule,
  uniqueMap,
  upstreamIdOf,
} from "./wire-format.ts";

const REPLY = replyRule(
  each(
    variants("type", {
      noul: members({ ...all("exempt", "type", "confidence", "probabilities"), noul: "carried" }),
      choice: members({ ...all("exempt", "type", "probabilities"), ...all("carried", "choice", "confidence") }),
      // Its fields reach callers as they came.
      score: "carried",
      refusal: members({ type: "exempt" }),
    }),
  ),
  "input_tokens",
  "output_tokens",
);

/** TypeSafe's System One format: questions and answers by name. */
export const systemOne: DecisionWireFormat = {
  path: "/systemone",
  encode: (call, options) => ({
    model: bodyModel(options),
    state: encodeState(call, options),
    questions: Object.fromEntries(call.questions.map((question) => [question.id, encodeQuestion(question)])),
    ...encodeImages(call, options),
  }),
  decode(response, options, headers) {
    const body = options.hasEnvelope ? unwrapEnvelope(response) : response;
    if (!isJsonObject(body) || !isJsonObject(body["answers"])) return undefined;
    const { answers, usage, diagnostics } = body;
    // One server uses this field for a different quantity; its `object` identifies it.
    const confidenceKind = body["object"] === "structured_decision" ? "incompatible" : "comparable";
    return {
      answers: Object.entries(answers).map(([id, answer]) => {
        const questionDiagnostics =
          isJsonObject(diagnostics) && Object.hasOwn(diagnostics, id) ? diagnostics[id] : undefined;
        return [id, { ...decodeAnswer(answer, confidenceKind), ...decodeDiagnostics(questionDiagnostics) }];
      }),
      usage: decodeUsage(usage, "input_tokens", "output_tokens", "unknown"),
      upstreamId: upstreamIdOf(body, headers),
      omitted: omittedMembers(body, REPLY),
      isTruncated: isTruncated(usage),
    };
  },
};

function unwrapEnvelope(response: unknown): unknown {
  return isJsonObject(response) && response["success"] === true ? response["result"] : undefined;
}

function encodeState({ state, images }: DecisionCall, options: DecisionWireOptions): unknown {
  if (images.length === 0 || options.images !== "state_items") return state;
  return [state, ...images.map((image) => ({ type: "image_url", image_url: { url: imageUrl(image) } }))];
}

function encodeImages({ images }: DecisionCall, options: DecisionWireOptions): JsonObject {
  if (images.length === 0) return {};
  if (options.images === "images_field") return { images: images.map(imageUrl) };
  return options.images === "image_objects" ? { images: images.map((image) => ({ url: imageUrl(image) })) } : {};
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

function decodeAnswer(answer: unknown, confidenceKind: "comparable" | "incompatible"): RawAnswer {
  if (!isJsonObject(answer)) return { type: "other" };
  const { type, ...providerFields } = answer;
  const { probabilities } = providerFields;
  const confidence = confidenceKind === "comparable" ? answer["confidence"] : undefined;
  const reported = isJsonObject(probabilities) ? uniqueMap(Object.entries(probabilities)) : undefined;
  switch (type) {
    case "noul":
      return { type, value: answer["noul"] };
    case "choice":
      return { type, value: answer["choice"], probabilities: reported, confidence };
    case "score":
      return { type, value: answer["score"], probabilities: reported, confidence, providerFields };
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

/** Small models may truncate the input and report it only in usage. */
function isTruncated(usage: unknown): boolean {
  if (!isJsonObject(usage)) return false;
  const { truncated, truncated_questions: questions, state_tokens_dropped: dropped } = usage;
  return truncated === true || (Array.isArray(questions) && questions.length > 0) || Number(dropped ?? 0) > 0;
}
