import { invalidValue } from "../../contract/faults.ts";
import { IMAGES_MAX } from "../../contract/schemas/decisions.ts";
import type {
  OpenaiDecisionItem,
  OpenaiDecisionRequest,
  OpenaiInstructions,
  OpenaiQuestion,
  UserPart,
} from "../../contract/schemas/openai-decisions.ts";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { encodeUsage } from "../dialects/responses/client/usage.ts";
import { assignQuestionIds, type DecisionCall, type DecisionQuestion, type DecisionState } from "./call.ts";
import type { DecisionImage } from "./image.ts";
import type { DecisionRenderer } from "./render.ts";
import type { DecisionAnswer } from "./reply.ts";
import { decodeImageParam } from "./request.ts";

/** A question with the caller's names for its result. */
export type OpenaiCallerQuestion = {
  readonly question: DecisionQuestion;
  readonly name: string | null;
  /** Choice values: a boolean differs from its text. */
  readonly values: readonly (string | boolean)[];
  readonly labels: readonly string[];
};

/** Decodes a request in OpenAI's format, with the renderer for its response. */
export function decodeOpenaiRequest(request: OpenaiDecisionRequest): {
  call: DecisionCall;
  renderer: DecisionRenderer;
} {
  const { model, input, questions } = request;
  const names = questions.map(({ name }) => name ?? null);
  requireUniqueNames(names);
  const ids = assignQuestionIds(names);
  const callerQuestions = questions.map((question, index): OpenaiCallerQuestion => {
    const id = ids[index] ?? "";
    return {
      question: decodeQuestion(question, id, `questions.${index}`),
      name: names[index] ?? null,
      values: valuesOf(question),
      labels: labelsOf(question),
    };
  });
  const images: DecisionImage[] = [];
  const state = typeof input === "string" ? input : decodeState(input, images);
  if (images.length > IMAGES_MAX) throw invalidValue("input", `must have at most ${IMAGES_MAX} images`);
  if (typeof state === "string" && state.trim() === "" && images.length === 0) throw emptyFault("input");
  return {
    call: {
      model,
      state,
      questions: callerQuestions.map(({ question }) => question),
      images,
      inputField: "input",
      ...ignoredFieldsOf(request),
    },
    renderer: openaiRenderer(callerQuestions),
  };
}

const IGNORED_FIELDS = ["safety_identifier", "prompt_cache_key", "prompt_cache_options"] as const;
const CACHE_BREAKPOINT = "prompt_cache_breakpoint";

function ignoredFieldsOf(request: OpenaiDecisionRequest): Pick<DecisionCall, "ignoredFields"> {
  const ignoredFields: string[] = IGNORED_FIELDS.filter((field) => request[field] != null);
  const items = typeof request.input === "string" ? [] : request.input;
  const isMarked = (parts: unknown) =>
    Array.isArray(parts) && parts.some((part) => isJsonObject(part) && part[CACHE_BREAKPOINT] != null);
  if (items.some((item) => "role" in item && isMarked(item.content)))
    ignoredFields.push(`input[].content[].${CACHE_BREAKPOINT}`);
  if (items.some((item) => "output" in item && isMarked(item.output)))
    ignoredFields.push(`input[].output[].${CACHE_BREAKPOINT}`);
  return ignoredFields.length === 0 ? {} : { ignoredFields };
}

const emptyFault = (param: string) => invalidValue(param, "must not be empty");

function requireUniqueNames(names: readonly (string | null)[]): void {
  for (const [index, name] of names.entries()) {
    if (name === null || names.indexOf(name) === index) continue;
    throw invalidValue(`questions.${index}.name`, "must be unique: another question has the same name");
  }
}

function decodeQuestion(question: OpenaiQuestion, id: string, path: string): DecisionQuestion {
  const instructions = instructionsOf(question.instructions);
  if (instructions.trim() === "") throw emptyFault(`${path}.instructions`);
  const names = { key: id, id, path, instructions };
  switch (question.type) {
    case "predicate":
      return { ...names, type: "noul" };
    case "choice": {
      const options = optionNames(
        question.choices.map(({ value }) => value),
        `${path}.choices`,
      );
      return {
        ...names,
        type: "choice",
        options: question.choices.map(({ description }, index) => ({
          name: options[index] ?? "",
          description: description ?? null,
        })),
      };
    }
    case "score": {
      const levels = question.levels.map(({ label, description }) =>
        description ? `${label}: ${description}` : label,
      );
      return { ...names, type: "score", levels };
    }
  }
}

const valuesOf = (question: OpenaiQuestion) =>
  question.type === "choice" ? question.choices.map(({ value }) => value) : [];
const labelsOf = (question: OpenaiQuestion) =>
  question.type === "score" ? question.levels.map(({ label }) => label) : [];

/** A boolean is named by its text, unless a string choice has that text. */
function optionNames(values: readonly (string | boolean)[], param: string): string[] {
  const names = values.map((value) =>
    typeof value === "string" ? value : values.includes(String(value)) ? `${value} (boolean)` : String(value),
  );
  if (new Set(names).size === names.length) return names;
  throw invalidValue(param, "must not contain a choice twice");
}

function instructionsOf(instructions: OpenaiInstructions): string {
  if (typeof instructions === "string") return instructions;
  return instructions.map((part) => (part.type === "input_text" ? part.text : JSON.stringify(part.data))).join("\n\n");
}

/** A single user message becomes its text; a conversation becomes data with roles. Images are collected separately. */
function decodeState(items: readonly OpenaiDecisionItem[], images: DecisionImage[]): DecisionState {
  const [only] = items;
  if (items.length === 1 && only !== undefined && "role" in only && only.role === "user") {
    const { content } = only;
    const [part] = typeof content === "string" ? [] : content;
    if (content.length === 1 && typeof part === "object" && part.type === "input_json" && isJsonObject(part.data))
      return part.data;
    return contentText(content, "input.0.content", images);
  }
  return { input: items.map((item, index) => encodeItem(item, `input.${index}`, images)) };
}

function encodeItem(item: OpenaiDecisionItem, path: string, images: DecisionImage[]): JsonObject {
  if ("role" in item) {
    const phase = "phase" in item && item.phase != null ? { phase: item.phase } : {};
    return { role: item.role, ...phase, content: contentText(item.content, `${path}.content`, images) };
  }
  const { type, call_id } = item;
  switch (item.type) {
    case "function_call":
      return { type, call_id, ...namespaceOf(item), name: item.name, arguments: item.arguments };
    case "custom_tool_call":
      return { type, call_id, ...namespaceOf(item), name: item.name, input: item.input };
    default:
      return { type, call_id, output: contentText(item.output, `${path}.output`, images) };
  }
}

function namespaceOf({ namespace }: { readonly namespace?: string | null | undefined }): JsonObject {
  return namespace == null ? {} : { namespace };
}

type DecisionContentPart =
  | UserPart
  | { readonly type: "output_text"; readonly text: string }
  | { readonly type: "refusal"; readonly refusal: string };

function contentText(content: string | readonly DecisionContentPart[], path: string, images: DecisionImage[]): string {
  if (typeof content === "string") return content;
  return content.flatMap((part, index) => partText(part, `${path}.${index}`, images)).join("\n\n");
}

function partText(part: DecisionContentPart, path: string, images: DecisionImage[]): string[] {
  switch (part.type) {
    case "input_text":
    case "output_text":
      return [part.text];
    case "refusal":
      return [part.refusal];
    case "input_json":
      return [JSON.stringify(part.data)];
    case "input_image":
      images.push(decodeImageParam(part.image_url, `${path}.image_url`));
      return [];
  }
}

/** OpenAI's format: answers in question order, including refusals. */
function openaiRenderer(questions: readonly OpenaiCallerQuestion[]): DecisionRenderer {
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
