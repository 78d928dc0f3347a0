import { fault } from "../../contract/faults.ts";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { parseLosslessJson } from "../../kit/lossless-json.ts";
import type { ToolCallPart } from "../canon/parts.ts";

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
