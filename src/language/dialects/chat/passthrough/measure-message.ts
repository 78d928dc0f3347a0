import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import { measureJson } from "../../../../kit/json-size.ts";

/** Sums a measure over text, reasoning, refusal, tool names and arguments. */
export function measureMessage(message: JsonObject, measure: (text: string) => number): number {
  const { content, refusal, reasoning_content, reasoning, tool_calls: calls } = message;
  let sum = 0;
  for (const value of [content, refusal, reasoning_content, reasoning]) sum += measureValue(value, measure);
  if (!Array.isArray(calls)) return sum;
  for (const call of calls) {
    if (!isJsonObject(call) || !isJsonObject(call["function"])) continue;
    const { name, arguments: argumentsText } = call["function"];
    sum += measureValue(name, measure) + measureValue(argumentsText, measure);
  }
  return sum;
}

function measureValue(value: unknown, measure: (text: string) => number): number {
  if (typeof value === "string") return measure(value);
  // Some servers stream content as an array of parts.
  return Array.isArray(value) ? measureJson(value, measure) : 0;
}
