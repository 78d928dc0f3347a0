import { fault, invalidValue } from "../../../../contract/faults.ts";
import type { ChatMessage, ChatRequest, ChatTool } from "../../../../contract/schemas/chat.ts";
import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import type { Call, ResponseFormat, ToolChoice, ToolDefinition } from "../../../canon/call.ts";
import { isParameter, type Parameter } from "../../../canon/parameters.ts";
import type { ConversationTurn, Part } from "../../../canon/parts.ts";
import { decodeRoutingHints, ROUTING_HINT_FIELDS } from "../../../canon/routing-hints.ts";
import { extrasOf } from "../../extras.ts";
import { ALIASES, CALL_FIELDS } from "../fields.ts";
import { decodeReasoning } from "./reasoning.ts";
import { type ChatCacheControl, decodeAssistantParts, decodeCacheControl, decodeUserPart } from "./turns.ts";

export function decodeRequest(request: ChatRequest): Call {
  const { max_tokens, max_completion_tokens } = request;
  if (max_tokens && max_completion_tokens && max_tokens !== max_completion_tokens) {
    throw fault("invalid_value", {
      message: `Fields "max_tokens" and "max_completion_tokens": they mean the same and differ (${max_tokens} and ${max_completion_tokens}). Send one of them.`,
      param: "max_tokens",
    });
  }
  const routingHints = hasRoutingHints(request) ? decodeRoutingHints(request) : undefined;
  return {
    model: request.model,
    turns: request.messages.map(decodeTurn),
    tools: (request.tools ?? []).map(decodeTool),
    toolChoice: decodeToolChoice(request),
    responseFormat: decodeFormat(request),
    reasoning: setsReasoning(request) ? decodeReasoning(request) : undefined,
    maxOutputTokens: max_completion_tokens ?? max_tokens ?? undefined,
    temperature: request.temperature ?? undefined,
    topP: request.top_p ?? undefined,
    topK: request.top_k ?? undefined,
    stop: typeof request.stop === "string" ? [request.stop] : (request.stop ?? []),
    stream: request.stream === true,
    includeUsage: request.stream_options?.include_usage === true,
    parameters: parametersOf(request),
    defaultValued: defaultValuedIn(request),
    ...sentNames(request),
    ...passedParameters(request),
    // The service tier is the only billable extra of this dialect.
    ...(request.service_tier == null ? NOTHING : extrasOf("chat", request)),
    ...(routingHints === undefined ? {} : { routingHints }),
  };
}

function hasRoutingHints(request: ChatRequest): boolean {
  for (const field of ROUTING_HINT_FIELDS) if (request[field] != null) return true;
  return false;
}

function setsReasoning({ reasoning_effort, reasoning, thinking }: ChatRequest): boolean {
  return reasoning_effort != null || Boolean(reasoning) || Boolean(thinking);
}

function decodeTurn(message: ChatMessage): ConversationTurn {
  switch (message.role) {
    case "system":
    case "developer":
      return { role: message.role, parts: textParts(message.content) };
    case "user":
      return {
        role: "user",
        parts: typeof message.content === "string" ? textParts(message.content) : message.content.map(decodeUserPart),
      };
    case "tool": {
      const content = textParts(message.content);
      return {
        role: "tool",
        parts: [
          {
            is: "tool_result",
            callId: message.tool_call_id,
            content,
            failed: false,
            ...decodeCacheControl(message.cache_control),
          },
        ],
      };
    }
    case "assistant":
      return { role: "assistant", parts: decodeAssistantParts(message) };
  }
}

type TextContent = string | readonly { readonly text: string; readonly cache_control?: ChatCacheControl }[];

type TextPart = Extract<Part, { is: "text" }>;

function textParts(content: TextContent): TextPart[] {
  if (typeof content === "string") return [{ is: "text", text: content }];
  return content.map(({ text, cache_control }) => ({ is: "text", text, ...decodeCacheControl(cache_control) }));
}

function decodeTool({ function: { name, description, parameters, strict }, cache_control }: ChatTool): ToolDefinition {
  return {
    name,
    description: description ?? null,
    schema: parameters ?? null,
    strict: strict ?? null,
    ...decodeCacheControl(cache_control),
  };
}

function decodeFormat({ response_format }: ChatRequest): ResponseFormat {
  if (response_format?.type !== "json_schema") return { is: response_format?.type ?? "text" };
  const { name, description, schema, strict } = response_format.json_schema;
  return { is: "json_schema", name, description: description ?? null, schema: schema ?? {}, strict: strict ?? null };
}

function parametersOf(request: ChatRequest): Parameter[] {
  const rows: Parameter[] = [];
  const add = (row: Parameter) => {
    if (!rows.includes(row)) rows.push(row);
  };
  const fields: Readonly<Record<string, unknown>> = request;
  for (const field in fields) {
    const value = fields[field];
    if (value === null || value === undefined || CALL_FIELDS.has(field)) continue;
    const row = ALIASES.get(field) ?? field;
    if (isParameter(row)) add(row);
  }
  // The nested form of allowed tools in tool_choice counts as the same parameter.
  const choice = request.tool_choice;
  if (choice && typeof choice === "object" && choice.type === "allowed_tools") add("allowed_tools");
  return rows;
}

/** In order of precedence. */
const EFFORT_ALIASES = ["reasoning", "thinking"] as const;

/** The caller's names of parameters that were sent under an alias. */
function sentNames(request: ChatRequest): Pick<Call, "parameterNames"> {
  const limit = request.max_tokens == null && request.max_completion_tokens != null;
  const effort = request.reasoning_effort ? undefined : EFFORT_ALIASES.find((name) => request[name] != null);
  if (!limit && effort === undefined) return NOTHING;
  return {
    parameterNames: {
      ...(limit ? { max_tokens: "max_completion_tokens" } : {}),
      ...(effort === undefined ? {} : { reasoning_effort: effort }),
    },
  };
}

/** Parameters without a canonical field that another dialect can carry. */
const PASSED_PARAMETERS = [
  "parallel_tool_calls",
  "verbosity",
  "prompt_cache_key",
  "safety_identifier",
  "service_tier",
  "user",
] as const satisfies readonly Parameter[];

function passedParameters(request: ChatRequest): Pick<Call, "openAiParameters"> {
  const allowed = allowedTools(request);
  if (allowed === undefined && !PASSED_PARAMETERS.some((row) => request[row] != null)) return NOTHING;
  const openAiParameters: Partial<Record<Parameter, unknown>> = allowed === undefined ? {} : { allowed_tools: allowed };
  for (const row of PASSED_PARAMETERS) if (request[row] != null) openAiParameters[row] = request[row];
  return { openAiParameters };
}

const NOTHING = {};

const DEFAULT_ONE = ["temperature", "top_p"] as const;

function defaultValuedIn(request: ChatRequest): readonly Parameter[] | undefined {
  if (request.temperature !== 1 && request.top_p !== 1) return undefined;
  return DEFAULT_ONE.filter((field) => request[field] === 1);
}

/** Rejected here because some providers ignore a choice that cannot be met and reply with text. */
function decodeToolChoice({ tool_choice, tools, allowed_tools }: ChatRequest): ToolChoice | undefined {
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

/** Ignored without tools; a name that is not in `tools` is rejected. */
function allowedTools(request: ChatRequest): readonly string[] | undefined {
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
