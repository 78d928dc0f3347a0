import type { ResponseTool } from "../../../../contract/schemas/responses.ts";
import { isJsonObject, tryParseJson } from "../../../../kit/json.ts";
import type { ToolDefinition } from "../../../canon/call.ts";

/**
 * A custom tool takes free text. Other dialects know only functions, so it becomes a function with one string
 * argument and its calls are converted back.
 */
const INPUT_ARGUMENT = "input";

export type ResponsesCustomTool = Extract<ResponseTool, { name: string; type: "custom" }>;

export function customDefinition({ name, description, format }: ResponsesCustomTool): ToolDefinition {
  const grammar =
    format?.type === "grammar" && format.definition
      ? `The ${INPUT_ARGUMENT} must match this ${format.syntax ?? ""} grammar:\n${format.definition}`
      : undefined;
  const descriptions = [description, grammar].filter((text) => typeof text === "string" && text !== "");
  return {
    name,
    description: descriptions.length === 0 ? null : descriptions.join("\n\n"),
    schema: {
      type: "object",
      properties: { [INPUT_ARGUMENT]: { type: "string", description: "The whole input of the tool, as plain text." } },
      required: [INPUT_ARGUMENT],
      additionalProperties: false,
    },
    strict: null,
  };
}

export function encodeCustomInput(input: string): string {
  return JSON.stringify({ [INPUT_ARGUMENT]: input });
}

/** The free text in a call's arguments, or all of it if the model ignored the schema. */
export function decodeCustomInput(argumentsText: string): string {
  const parsed = tryParseJson(argumentsText);
  if (typeof parsed === "string") return parsed;
  if (!isJsonObject(parsed)) return argumentsText;
  const input = parsed[INPUT_ARGUMENT];
  if (typeof input === "string") return input;
  const [only, ...others] = Object.values(parsed);
  return typeof only === "string" && others.length === 0 ? only : argumentsText;
}
