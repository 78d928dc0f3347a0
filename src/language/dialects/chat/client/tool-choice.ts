import { fault, invalidValue } from "../../../../contract/faults.ts";
import type { ChatRequest } from "../../../../contract/schemas/chat.ts";
import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import type { ToolChoice } from "../../../canon/call.ts";

/** What demands a tool that is not there is refused here: some providers would ignore it and answer in words. */
export function decodeToolChoice({ tool_choice, tools, allowed_tools }: ChatRequest): ToolChoice | undefined {
  if (!tool_choice) return undefined;
  if (typeof tool_choice === "string" || tool_choice.type !== "function") {
    const is = typeof tool_choice === "string" ? tool_choice : modeOfAllowed(tool_choice.allowed_tools);
    if (is === "required" && !tools?.length)
      throw invalidToolChoice('it demands a tool, and "tools" has none. Send tools, or leave it out');
    return { is };
  }
  const { name } = tool_choice.function;
  if (!tools?.some((tool) => tool.function.name === name))
    throw invalidToolChoice(`there is no tool "${name.slice(0, 64)}" in "tools". Name one that is sent there`);
  if (allowed_tools && !allowed_tools.includes(name))
    throw invalidToolChoice(
      `the tool "${name.slice(0, 64)}" is not in "allowed_tools". Name one that is, or leave one out`,
    );
  return { is: "named", name };
}

function modeOfAllowed({ mode }: JsonObject): "auto" | "required" {
  return mode === "required" ? "required" : "auto";
}

const invalidToolChoice = (why: string) => invalidValue("tool_choice", why);

/** By their names. Without tools it limits nothing; beside tools a name that none of them has is a slip. */
export function allowedTools(request: ChatRequest): readonly string[] | undefined {
  const allowed = sentAllowedTools(request);
  if (allowed === undefined) return undefined;
  const tools = new Set(request.tools?.map((tool) => tool.function.name));
  const unknown = tools.size === 0 ? undefined : allowed.find((name) => !tools.has(name));
  if (unknown === undefined) return allowed;
  const param = request.allowed_tools ? "allowed_tools" : "tool_choice";
  throw invalidValue(
    param,
    `there is no tool "${unknown.slice(0, 64)}" in "tools". Name only those that are sent there`,
  );
}

/** In whichever of its two forms the list was sent. */
function sentAllowedTools({ allowed_tools, tool_choice }: ChatRequest): readonly string[] | undefined {
  if (!tool_choice || typeof tool_choice === "string" || tool_choice.type !== "allowed_tools")
    return allowed_tools ?? undefined;
  const { tools } = tool_choice.allowed_tools;
  const chosen = Array.isArray(tools) ? tools.flatMap(allowedToolName) : [];
  if (allowed_tools && new Set(allowed_tools).symmetricDifference(new Set(chosen)).size > 0)
    throw fault("invalid_value", {
      message: `Fields "allowed_tools" and "tool_choice": both list the tools that may be called, and differ. Send one of them.`,
      param: "allowed_tools",
    });
  return chosen;
}

function allowedToolName(tool: unknown): string[] {
  const called = isJsonObject(tool) ? tool["function"] : undefined;
  return isJsonObject(called) && typeof called["name"] === "string" ? [called["name"]] : [];
}

/** The dialect's own form of a list of allowed tools is a kind of choice; no call, or a call of one tool, says more than it. */
export function encodeToolChoice(choice: ToolChoice | undefined, allowed: unknown): JsonObject {
  if (Array.isArray(allowed) && choice?.is !== "none" && choice?.is !== "named") {
    const tools = allowed.map((name) => ({ type: "function", function: { name } }));
    const mode = choice?.is === "required" ? "required" : "auto";
    return { tool_choice: { type: "allowed_tools", allowed_tools: { mode, tools } } };
  }
  if (choice === undefined) return {};
  return { tool_choice: choice.is === "named" ? { type: "function", function: { name: choice.name } } : choice.is };
}
