import { fault } from "../../../../contract/faults.ts";
import type { ChatMessage, ChatRequest } from "../../../../contract/schemas/chat.ts";
import type { Call, ResponseFormat } from "../../../canon/call.ts";
import { isParameter, type Parameter } from "../../../canon/parameters.ts";
import type { ConversationTurn, Part } from "../../../canon/parts.ts";
import { decodeRoutingHints, ROUTING_HINT_FIELDS } from "../../../canon/routing-hints.ts";
import { extrasOf } from "../../extras.ts";
import { neutralParametersOf } from "../../neutral-values.ts";
import { ALIASES, CALL_FIELDS } from "../fields.ts";
import { decodeReasoning } from "./reasoning.ts";
import { allowedTools, decodeTool, decodeToolChoice, unknownSetting } from "./tool-settings.ts";
import {
  type ChatCacheControl,
  decodeAssistantParts,
  decodeCacheControl,
  decodeUserPart,
  withMessageMark,
} from "./turns.ts";

export function decodeRequest(request: ChatRequest): Call {
  const { max_tokens, max_completion_tokens } = request;
  if (max_tokens && max_completion_tokens && max_tokens !== max_completion_tokens) {
    throw fault("invalid_value", {
      message: `Fields "max_tokens" and "max_completion_tokens" are aliases with different values (${max_tokens} and ${max_completion_tokens}). Send one of them.`,
      param: "max_tokens",
    });
  }
  const routingHints = hasRoutingHints(request) ? decodeRoutingHints(request) : undefined;
  return {
    model: request.model,
    turns: request.messages.map(decodeTurn),
    tools: (request.tools ?? []).map(decodeTool),
    toolChoice: request.tool_choice ? decodeToolChoice(request) : undefined,
    responseFormat: decodeFormat(request),
    reasoning: setsReasoning(request) ? decodeReasoning(request) : undefined,
    maxOutputTokens: max_completion_tokens ?? max_tokens ?? undefined,
    temperature: request.temperature ?? undefined,
    topP: request.top_p ?? undefined,
    topK: request.top_k ?? undefined,
    stop: typeof request.stop === "string" ? [request.stop] : (request.stop ?? []),
    stream: request.stream === true,
    includeUsage: request.stream_options?.include_usage === true,
    ...sentParameters(request),
    ...sentNames(request),
    ...passedParameters(request),
    ...(hasStructuredSettings(request) ? unknownSetting(request) : NOTHING),
    // The service tier is the only billable extra of this dialect.
    ...(request.service_tier == null ? NOTHING : extrasOf("chat", request)),
    ...(routingHints === undefined ? {} : { routingHints }),
  };
}

function hasRoutingHints(request: ChatRequest): boolean {
  for (const field of ROUTING_HINT_FIELDS) if (request[field] != null) return true;
  return false;
}

function hasStructuredSettings({ tools, tool_choice, response_format }: ChatRequest): boolean {
  return Boolean(tools) || Boolean(tool_choice) || Boolean(response_format);
}

function setsReasoning({ reasoning_effort, reasoning, thinking }: ChatRequest): boolean {
  return reasoning_effort != null || Boolean(reasoning) || Boolean(thinking);
}

function decodeTurn(message: ChatMessage): ConversationTurn {
  const turn = decodeUnmarkedTurn(message);
  return message.cache_control ? withMessageMark(turn, message.cache_control) : turn;
}

function decodeUnmarkedTurn(message: ChatMessage): ConversationTurn {
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

function decodeFormat({ response_format }: ChatRequest): ResponseFormat {
  if (response_format?.type !== "json_schema") return { is: response_format?.type ?? "text" };
  const { name, description, schema, strict } = response_format.json_schema;
  return { is: "json_schema", name, description: description ?? null, schema: schema ?? {}, strict: strict ?? null };
}

function sentParameters(request: ChatRequest): Pick<Call, "parameters" | "neutralParameters"> {
  const parameters = parametersOf(request);
  return parameters.length === 0 ? { parameters } : { parameters, neutralParameters: neutralParametersOf(request) };
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
  const allowed = request.allowed_tools || request.tool_choice ? allowedTools(request) : undefined;
  if (allowed === undefined && !PASSED_PARAMETERS.some((row) => request[row] != null)) return NOTHING;
  const openAiParameters: Partial<Record<Parameter, unknown>> = allowed === undefined ? {} : { allowed_tools: allowed };
  for (const row of PASSED_PARAMETERS) if (request[row] != null) openAiParameters[row] = request[row];
  return { openAiParameters };
}

const NOTHING = {};
