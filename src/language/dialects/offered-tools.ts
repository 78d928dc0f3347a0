import { isJsonObject, type JsonObject } from "../../kit/json.ts";

export type OfferedTool = { readonly tool: JsonObject; readonly path: string };

/**
 * All tools of a responses request with their paths: top-level, grouped in a namespace, and added mid-conversation by
 * a tool search.
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
