import { isJsonObject, type JsonObject } from "../../kit/json.ts";

export type OfferedTool = { readonly tool: JsonObject; readonly path: string };

/**
 * The tools of a request of the responses dialect with their places: its own, those that are grouped in one of them, and
 * those in the middle of the conversation, as what a search for tools has found.
 */
export function offeredTools({ tools, input }: JsonObject): OfferedTool[] {
  const found = toolsInGroup(tools, "tools");
  for (const [at, item] of listOf(input).entries())
    if (isJsonObject(item)) found.push(...toolsInGroup(item["tools"], `input.${at}.tools`));
  return found;
}

function toolsInGroup(tools: unknown, path: string): OfferedTool[] {
  const found: OfferedTool[] = [];
  for (const [at, tool] of listOf(tools).entries()) {
    if (!isJsonObject(tool)) continue;
    found.push({ tool, path: `${path}.${at}` });
    if (tool["type"] === "namespace") found.push(...toolsInGroup(tool["tools"], `${path}.${at}.tools`));
  }
  return found;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : NOTHING;
}
const NOTHING: readonly unknown[] = [];
