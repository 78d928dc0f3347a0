import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { all, members, omittedMembers, variants } from "../dialects/reply-members.ts";
import type { DecisionCall, DecisionQuestion, DecisionState } from "./call.ts";
import { imageUrl } from "./image.ts";
import type { RawAnswer } from "./reply.ts";
import { bodyModel, type DecisionWireFormat, decodeUsage, replyRule, uniqueMap, upstreamIdOf } from "./wire-format.ts";

const REPLY = replyRule(
  variants("type", {
    predicate: members({ ...all("exempt", "type", "confidence"), ...all("carried", "name", "probability") }),
    choice: members({ type: "exempt", ...all("carried", "name", "choice", "confidence", "probabilities") }),
    score: members({ type: "exempt", ...all("carried", "name", "score", "confidence", "probabilities") }),
    refusal: members(all("exempt", "type", "name")),
  }),
  "input_tokens",
  "output_tokens",
);

/** OpenAI's Decisions: lists of named questions and answers. */
export const openaiDecisions: DecisionWireFormat = {
  path: "/decisions",
  encode: (call, options) => ({
    model: bodyModel(options),
    input: encodeInput(call),
    questions: call.questions.map(encodeQuestion),
  }),
  decode(body, _options, headers) {
    if (!isJsonObject(body) || !Array.isArray(body["answers"])) return undefined;
    const answers: unknown[] = body["answers"];
    return {
      answers: answers.map((answer) => {
        const name = isJsonObject(answer) ? answer["name"] : undefined;
        return [typeof name === "string" ? name : "", decodeAnswer(answer)];
      }),
      usage: decodeUsage(body["usage"], "input_tokens", "output_tokens", "unknown"),
      upstreamId: upstreamIdOf(body, headers),
      omitted: omittedMembers(body, REPLY),
      isTruncated: false,
    };
  },
};

function encodeInput({ state, images }: DecisionCall): unknown {
  if (typeof state === "string" && images.length === 0) return state;
  const imageParts = images.map((image) => ({ type: "input_image", image_url: imageUrl(image) }));
  return [{ role: "user", content: [encodeState(state), ...imageParts] }];
}

const JSON_DEPTH_MAX = 32;
const JSON_VALUES_MAX = 10_000;
const JSON_BYTES_MAX = 256 * 1024;

/** Moderate JSON gets an input_json part; larger JSON is sent as text. */
function encodeState(state: DecisionState): JsonObject {
  if (typeof state === "string") return { type: "input_text", text: state };
  const text = JSON.stringify(state);
  const fits = Buffer.byteLength(text) <= JSON_BYTES_MAX && countValues(state, JSON_DEPTH_MAX) <= JSON_VALUES_MAX;
  return fits ? { type: "input_json", data: state } : { type: "input_text", text };
}

/** Infinite when nested too deep. */
function countValues(value: unknown, depthLeft: number): number {
  if (typeof value !== "object" || value === null) return 1;
  if (depthLeft === 0) return Number.POSITIVE_INFINITY;
  return Object.values(value).reduce<number>((sum, inner) => sum + countValues(inner, depthLeft - 1), 1);
}

function encodeQuestion(question: DecisionQuestion): JsonObject {
  const { id: name, instructions } = question;
  switch (question.type) {
    case "noul":
      return { type: "predicate", name, instructions };
    case "choice":
      return {
        type: "choice",
        name,
        instructions,
        choices: question.options.map(({ name: value, description }) => ({
          value,
          ...(description ? { description } : {}),
        })),
      };
    case "score":
      return {
        type: "score",
        name,
        instructions,
        levels: question.levels.map((description, level) => ({ label: String(level), description })),
      };
  }
}

function decodeAnswer(answer: unknown): RawAnswer {
  if (!isJsonObject(answer)) return { type: "other" };
  const { type, confidence, probabilities } = answer;
  const reported = Array.isArray(probabilities) ? uniqueMap(probabilities.flatMap(probabilityEntry)) : undefined;
  switch (type) {
    case "predicate":
      return { type: "noul", value: answer["probability"] };
    case "choice": {
      const { choice } = answer;
      return {
        type,
        value: typeof choice === "boolean" ? String(choice) : choice,
        probabilities: reported,
        confidence,
      };
    }
    case "score":
      return { type, value: answer["score"], probabilities: reported, confidence };
    case "refusal":
      return { type };
    default:
      return { type: "other" };
  }
}

function probabilityEntry(row: unknown): [string, unknown][] {
  return isJsonObject(row) ? [[String(row["value"]), row["probability"]]] : [["", undefined]];
}
