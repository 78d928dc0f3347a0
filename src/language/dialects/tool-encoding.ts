import { fault } from "../../contract/faults.ts";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { parseLosslessJson } from "../../kit/lossless-json.ts";
import type { Call, ToolChoice, ToolDefinition } from "../canon/call.ts";
import type { ToolCallPart, ToolResultPart } from "../canon/parts.ts";

const NAME_CHARS_SHOWN = 64;

/** Parses the arguments for dialects that require an object; other JSON is rejected. */
export function decodeCallArguments({ name, argumentsText, isStored }: ToolCallPart, callParam: string): JsonObject {
  if (argumentsText.trim() === "") return {};
  const value = parseObject(argumentsText);
  if (value !== undefined) return value;
  const param = `${callParam}.function.arguments`;
  const advice =
    isStored === true
      ? "Continue from the previous response, or send the conversation without the call."
      : "Send the conversation without it.";
  throw fault("invalid_value", {
    message: `${param}: the arguments of the tool call ${name.slice(0, NAME_CHARS_SHOWN)} are not a JSON object, as in a truncated response. ${advice}`,
    param,
  });
}

function parseObject(text: string): JsonObject | undefined {
  // Lossless numbers are objects too, so the first character decides.
  if (!text.trimStart().startsWith("{")) return undefined;
  try {
    const value = parseLosslessJson(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Several text parts are separated by a blank line. */
export function resultText(content: ToolResultPart["content"]): string {
  return content.flatMap((part) => (part.is === "text" && part.text !== "" ? [part.text] : [])).join("\n\n");
}

export const NO_ARGUMENTS: JsonObject = { type: "object", properties: {} };

/** Servers reject strict schemas that leave anything open. */
const NO_ARGUMENTS_STRICT: JsonObject = { ...NO_ARGUMENTS, required: [], additionalProperties: false };

/** OpenAI's dialects require a schema even for functions without arguments. */
export function argumentsSchema({ schema, strict }: Pick<ToolDefinition, "schema" | "strict">): JsonObject {
  if (schema !== null && Object.keys(schema).length > 0) return schema;
  return strict === true ? NO_ARGUMENTS_STRICT : NO_ARGUMENTS;
}

/** Sent as an instruction to dialects without a field for serial tool calls; the reply writers enforce it as well. */
export const ONE_TOOL_CALL = "Call at most one tool in this answer.";

export function wantsOneToolCall({ tools, toolChoice, openAiParameters }: Call): boolean {
  return openAiParameters?.parallel_tool_calls === false && tools.length > 0 && toolChoice?.is !== "none";
}

export function rejectForcedChoice(choice: ToolChoice | undefined): void {
  if (choice?.is === "required" || choice?.is === "named")
    throw fault("invalid_value", { message: "tool_choice requires a tool, but tools has none.", param: "tool_choice" });
}

type ToolEncoders = {
  tool(definition: ToolDefinition): JsonObject;
  choice(choice: ToolChoice | undefined, allowed: unknown): JsonObject;
};

/** Servers reject all tool fields if `tools` is empty. */
export function encodeTools({ tools, toolChoice, openAiParameters }: Call, words: ToolEncoders): JsonObject {
  if (tools.length === 0) {
    rejectForcedChoice(toolChoice);
    return {};
  }
  const parallel = openAiParameters?.parallel_tool_calls;
  return {
    tools: tools.map(words.tool),
    ...words.choice(toolChoice, openAiParameters?.allowed_tools),
    ...(typeof parallel === "boolean" ? { parallel_tool_calls: parallel } : {}),
  };
}
