import { fault } from "../../contract/faults.ts";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { parseLosslessJson } from "../../kit/lossless-json.ts";
import type { Call, ToolChoice, ToolDefinition } from "../canon/call.ts";
import type { ToolCallPart, ToolResultPart } from "../canon/parts.ts";

const NAME_CHARS_SHOWN = 64;

/** Arguments for a dialect that has them as an object, where they are text here; what is no object cannot be said in it. */
export function decodeCallArguments({ name, argumentsText, isStored }: ToolCallPart, callParam: string): JsonObject {
  if (argumentsText.trim() === "") return {};
  const value = parseObject(argumentsText);
  if (value !== undefined) return value;
  const param = `${callParam}.function.arguments`;
  const advice =
    isStored === true
      ? "Go on from the response before, or send the conversation without the call."
      : "Send the conversation without it.";
  throw fault("invalid_value", {
    message: `${param}: the arguments of the tool call ${name.slice(0, NAME_CHARS_SHOWN)} are not the JSON text of an object; an answer that was cut off leaves such a call. ${advice}`,
    param,
  });
}

function parseObject(text: string): JsonObject | undefined {
  // Numbers that are kept as they were written are objects as well.
  if (!text.trimStart().startsWith("{")) return undefined;
  try {
    const value = parseLosslessJson(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The words of a tool's result as one text: where a tool gave several, they stay apart. */
export function resultText(content: ToolResultPart["content"]): string {
  return content.flatMap((part) => (part.is === "text" && part.text !== "" ? [part.text] : [])).join("\n\n");
}

/** What the schema of a function is that takes nothing. */
export const NO_ARGUMENTS: JsonObject = { type: "object", properties: {} };

/** Strictly: servers refuse a strict schema that leaves anything open. */
const NO_ARGUMENTS_STRICT: JsonObject = { ...NO_ARGUMENTS, required: [], additionalProperties: false };

/** The arguments of a function as OpenAI's dialects describe them: they want a schema also where there are none. */
export function argumentsSchema({ schema, strict }: Pick<ToolDefinition, "schema" | "strict">): JsonObject {
  if (schema !== null && Object.keys(schema).length > 0) return schema;
  return strict === true ? NO_ARGUMENTS_STRICT : NO_ARGUMENTS;
}

/** Where no tools are offered: none can be demanded. */
export function rejectForcedChoice(choice: ToolChoice | undefined): void {
  if (choice?.is === "required" || choice?.is === "named")
    throw fault("invalid_value", { message: "tool_choice demands a tool, and tools has none.", param: "tool_choice" });
}

type ToolEncoders = {
  tool(definition: ToolDefinition): JsonObject;
  choice(choice: ToolChoice | undefined, allowed: unknown): JsonObject;
};

/** Tools in OpenAI's dialects. Whatever is said about tools is refused by servers when there are none. */
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
