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
import { assignQuestionIds, type DecisionCall, type DecisionQuestion, type DecisionState } from "./call.ts";
import type { DecisionImage } from "./image.ts";
import { type OpenaiCallerQuestion, openaiRenderer } from "./openai-client.ts";
import type { DecisionRenderer } from "./render.ts";
import { decodeImageParam } from "./request.ts";

/** The canonical questions behind a request in OpenAI's shape, and who writes its answer. */
export function decodeOpenaiRequest(request: OpenaiDecisionRequest): { ask: DecisionCall; client: DecisionRenderer } {
  const { model, input, questions } = request;
  const names = questions.map(({ name }) => name ?? null);
  requireUniqueNames(names);
  const ids = assignQuestionIds(names);
  const asked = questions.map((question, place): OpenaiCallerQuestion => {
    const id = ids[place] ?? "";
    return {
      question: decodeQuestion(question, id, `questions.${place}`),
      name: names[place] ?? null,
      values: valuesOf(question),
      labels: labelsOf(question),
    };
  });
  const pictures: DecisionImage[] = [];
  const state = typeof input === "string" ? input : decodeState(input, pictures);
  if (pictures.length > IMAGES_MAX) throw invalidValue("input", `it may have ${IMAGES_MAX} images at most`);
  if (typeof state === "string" && state.trim() === "" && pictures.length === 0) throw emptyFault("input");
  return {
    ask: {
      model,
      state,
      questions: asked.map(({ question }) => question),
      images: pictures,
      inputField: "input",
      ...ignoredFieldsOf(request),
    },
    client: openaiRenderer(asked),
  };
}

const IGNORED_FIELDS = ["safety_identifier", "prompt_cache_key", "prompt_cache_options"] as const;
const CACHE_BREAKPOINT = "prompt_cache_breakpoint";

function ignoredFieldsOf(request: OpenaiDecisionRequest): Pick<DecisionCall, "advisory"> {
  const { input } = request;
  const isMarked = (part: unknown) => isJsonObject(part) && part[CACHE_BREAKPOINT] != null;
  const hasMarks =
    typeof input !== "string" &&
    input.some((item) => {
      const pieces: unknown = "role" in item ? item.content : "output" in item ? item.output : undefined;
      return Array.isArray(pieces) && pieces.some(isMarked);
    });
  const ignoredFields = [
    ...IGNORED_FIELDS.filter((field) => request[field] != null),
    ...(hasMarks ? [CACHE_BREAKPOINT] : []),
  ];
  return ignoredFields.length === 0 ? {} : { ignoredFields };
}

const emptyFault = (param: string) => invalidValue(param, "must not be empty");

function requireUniqueNames(names: readonly (string | null)[]): void {
  for (const [place, name] of names.entries()) {
    if (name === null || names.indexOf(name) === place) continue;
    throw invalidValue(`questions.${place}.name`, "another question has the same name");
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
        options: question.choices.map(({ description }, place) => ({
          name: options[place] ?? "",
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

/** A boolean goes by its word, unless a text among the choices has that already. */
function optionNames(values: readonly (string | boolean)[], param: string): string[] {
  const names = values.map((value) =>
    typeof value === "string" ? value : values.includes(String(value)) ? `${value} (boolean)` : String(value),
  );
  if (new Set(names).size === names.length) return names;
  throw invalidValue(param, "a choice is there twice");
}

function instructionsOf(instructions: OpenaiInstructions): string {
  if (typeof instructions === "string") return instructions;
  return instructions.map((part) => (part.type === "input_text" ? part.text : JSON.stringify(part.data))).join("\n\n");
}

/** One message is what it says; a conversation is data about who said what. Pictures are taken out of either. */
function decodeState(items: readonly OpenaiDecisionItem[], pictures: DecisionImage[]): DecisionState {
  const [only] = items;
  if (items.length === 1 && only !== undefined && "role" in only && only.role === "user") {
    const { content } = only;
    const [part] = typeof content === "string" ? [] : content;
    if (content.length === 1 && typeof part === "object" && part.type === "input_json" && isJsonObject(part.data))
      return part.data;
    return contentText(content, "input.0.content", pictures);
  }
  return { input: items.map((item, place) => encodeItem(item, `input.${place}`, pictures)) };
}

function encodeItem(item: OpenaiDecisionItem, path: string, pictures: DecisionImage[]): JsonObject {
  if ("role" in item) {
    const phase = "phase" in item && item.phase != null ? { phase: item.phase } : {};
    return { role: item.role, ...phase, content: contentText(item.content, `${path}.content`, pictures) };
  }
  const { type, call_id } = item;
  switch (item.type) {
    case "function_call":
      return { type, call_id, ...namespaceOf(item), name: item.name, arguments: item.arguments };
    case "custom_tool_call":
      return { type, call_id, ...namespaceOf(item), name: item.name, input: item.input };
    default:
      return { type, call_id, output: contentText(item.output, `${path}.output`, pictures) };
  }
}

function namespaceOf({ namespace }: { readonly namespace?: string | null | undefined }): JsonObject {
  return namespace == null ? {} : { namespace };
}

type ContentPart =
  | UserPart
  | { readonly type: "output_text"; readonly text: string }
  | { readonly type: "refusal"; readonly refusal: string };

function contentText(content: string | readonly ContentPart[], path: string, pictures: DecisionImage[]): string {
  if (typeof content === "string") return content;
  return content.flatMap((piece, place) => partText(piece, `${path}.${place}`, pictures)).join("\n\n");
}

function partText(piece: ContentPart, path: string, pictures: DecisionImage[]): string[] {
  switch (piece.type) {
    case "input_text":
    case "output_text":
      return [piece.text];
    case "refusal":
      return [piece.refusal];
    case "input_json":
      return [JSON.stringify(piece.data)];
    case "input_image":
      pictures.push(decodeImageParam(piece.image_url, `${path}.image_url`));
      return [];
  }
}
