import { fault, invalidValue } from "../../../../contract/faults.ts";
import type { ChatRequest, ChatTool } from "../../../../contract/schemas/chat.ts";
import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import type { Call, ToolChoice, ToolDefinition } from "../../../canon/call.ts";
import { firstUnreadPath } from "../../unread-members.ts";
import { READ_IN_SETTINGS } from "./read-shape.ts";
import { decodeCacheControl } from "./turns.ts";

export function decodeTool({
  function: { name, description, parameters, strict },
  cache_control,
}: ChatTool): ToolDefinition {
  return {
    name,
    description: description ?? null,
    schema: parameters ?? null,
    strict: strict ?? null,
    ...decodeCacheControl(cache_control),
  };
}

const STRUCTURED_SETTINGS = ["tools", "tool_choice", "response_format"] as const;

/** The schema accepts unknown members, which providers of this dialect may know. */
export function unknownSetting(request: ChatRequest): Pick<Call, "unknownField"> {
  for (const name of STRUCTURED_SETTINGS) {
    if (request[name] == null) continue;
    const unknownField = firstUnreadPath(request[name], READ_IN_SETTINGS[name], name);
    if (unknownField !== undefined) return { unknownField: unknownField.slice(0, NAME_CHARS_MAX) };
  }
  return {};
}
const NAME_CHARS_MAX = 200;

/** Rejected here because some providers ignore a choice that cannot be met and reply with text. */
export function decodeToolChoice({ tool_choice, tools, allowed_tools }: ChatRequest): ToolChoice | undefined {
  if (!tool_choice) return undefined;
  if (typeof tool_choice === "string" || tool_choice.type !== "function") {
    const is = typeof tool_choice === "string" ? tool_choice : modeOfAllowed(tool_choice.allowed_tools);
    if (is === "required" && !tools?.length)
      throw invalidToolChoice('requires a tool, but "tools" has none. Send tools, or omit it');
    return { is };
  }
  const { name } = tool_choice.function;
  if (!tools?.some((tool) => tool.function.name === name))
    throw invalidToolChoice(`must name a tool in "tools": there is no "${name.slice(0, 64)}"`);
  if (allowed_tools && !allowed_tools.includes(name))
    throw invalidToolChoice(
      `must name a tool in "allowed_tools", which has no "${name.slice(0, 64)}". Change or omit one of them`,
    );
  return { is: "named", name };
}

function modeOfAllowed({ mode }: JsonObject): "auto" | "required" {
  return mode === "required" ? "required" : "auto";
}

const invalidToolChoice = (why: string) => invalidValue("tool_choice", why);

/** Ignored without tools; a name that is not in `tools` is rejected. */
export function allowedTools(request: ChatRequest): readonly string[] | undefined {
  const allowed = sentAllowedTools(request);
  if (allowed === undefined) return undefined;
  const tools = new Set(request.tools?.map((tool) => tool.function.name));
  const unknown = tools.size === 0 ? undefined : allowed.find((name) => !tools.has(name));
  if (unknown === undefined) return allowed;
  const param = request.allowed_tools ? "allowed_tools" : "tool_choice";
  throw invalidValue(param, `must name tools in "tools": there is no "${unknown.slice(0, 64)}"`);
}

function sentAllowedTools({ allowed_tools, tool_choice }: ChatRequest): readonly string[] | undefined {
  if (!tool_choice || typeof tool_choice === "string" || tool_choice.type !== "allowed_tools")
    return allowed_tools ?? undefined;
  const { tools } = tool_choice.allowed_tools;
  const chosen = Array.isArray(tools) ? tools.flatMap(allowedToolName) : [];
  if (allowed_tools && new Set(allowed_tools).symmetricDifference(new Set(chosen)).size > 0)
    throw fault("invalid_value", {
      message: 'Fields "allowed_tools" and "tool_choice" both list the allowed tools, but differ. Send one of them.',
      param: "allowed_tools",
    });
  return chosen;
}

function allowedToolName(tool: unknown): string[] {
  const called = isJsonObject(tool) ? tool["function"] : undefined;
  return isJsonObject(called) && typeof called["name"] === "string" ? [called["name"]] : [];
}
