import { fault } from "../../contract/faults.ts";
import type { JsonObject } from "../../kit/json.ts";
import type { Call, ToolChoice, ToolDefinition } from "../canon/call.ts";

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
