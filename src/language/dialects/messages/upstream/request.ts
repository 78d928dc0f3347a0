import { fault } from "../../../../contract/faults.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import type { Call, ResponseFormat, ToolChoice, ToolDefinition } from "../../../canon/call.ts";
import type { ConversationTurn } from "../../../canon/parts.ts";
import { NO_ARGUMENTS, rejectForcedChoice } from "../../tool-encoding.ts";
import type { ModelFacts } from "../../upstream-dialect.ts";
import { planReasoning } from "./reasoning.ts";
import { strictSchema } from "./schema.ts";
import { encodeTurns, type WireMessage, withCacheControl } from "./turns.ts";

const CACHE_BREAKPOINTS_MAX = 4;
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;

const JSON_ONLY =
  "Answer with one valid JSON object and nothing else: no introduction, no explanation, no code fence around it.";

export function encodeRequest(call: Call, facts: ModelFacts): string {
  return JSON.stringify({ model: facts.upstreamModel, ...requestBody(call, facts) });
}

/** Body without the model, for hosts that have it in the path. */
export function requestBody(call: Call, facts: ModelFacts): JsonObject {
  const { maxTokens, thinking, effort } = planReasoning(call, facts);
  const { system, messages } = encodeTurns(call.turns);
  const instructions =
    call.responseFormat.is === "json_object" ? [...system, { type: "text", text: JSON_ONLY }] : system;
  const tools = encodeTools(call);
  checkCacheBreakpoints(instructions, tools, messages);
  const outputConfig = { ...(effort === undefined ? {} : { effort: effort }), ...encodeFormat(call.responseFormat) };
  return {
    max_tokens: maxTokens,
    ...(instructions.length === 0 ? {} : { system: instructions }),
    messages,
    ...(tools.length === 0 ? {} : { tools, ...encodeToolChoice(call) }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(Object.keys(outputConfig).length === 0 ? {} : { output_config: outputConfig }),
    ...(call.temperature === undefined ? {} : { temperature: call.temperature }),
    ...(call.topP === undefined ? {} : { top_p: call.topP }),
    ...(call.topK === undefined ? {} : { top_k: call.topK }),
    ...encodeStop(call.stop),
    ...(call.stream ? { stream: true } : {}),
  };
}

/** The API requires definitions of all tools that were called earlier, even if the caller sends none. */
function encodeTools({ tools, toolChoice, turns }: Call): JsonObject[] {
  if (tools.length > 0) return tools.map(encodeTool);
  rejectForcedChoice(toolChoice);
  return [...calledNames(turns)].map((name) => ({ name, input_schema: NO_ARGUMENTS }));
}

function calledNames(turns: readonly ConversationTurn[]): Set<string> {
  const names = new Set<string>();
  for (const { parts } of turns) for (const part of parts) if (part.is === "tool_call") names.add(part.name);
  return names;
}

function encodeTool({ name, description, schema, strict, cache }: ToolDefinition, index: number): JsonObject {
  if (!TOOL_NAME.test(name)) {
    const param = `tools.${index}.function.name`;
    throw fault("invalid_value", {
      message: `${param} must have letters, digits, _ and - only with this model.`,
      param,
    });
  }
  const inputSchema =
    schema === null || Object.keys(schema).length === 0 ? NO_ARGUMENTS : { type: "object", ...schema };
  const block = {
    name,
    ...(description === null ? {} : { description }),
    input_schema: strict === true ? strictSchema(inputSchema) : inputSchema,
    ...(strict === true ? { strict } : {}),
  };
  return withCacheControl(block, cache);
}

function encodeToolChoice({ tools, toolChoice, openAiParameters }: Call): JsonObject {
  if (tools.length === 0) return { tool_choice: { type: "none" } };
  // Serial tool calls are part of tool_choice in this dialect.
  const serial = openAiParameters?.parallel_tool_calls === false && toolChoice?.is !== "none";
  if (toolChoice === undefined && !serial) return {};
  const choice = toolChoice ?? AUTO;
  return { tool_choice: { ...CHOICES[choice.is](choice), ...(serial ? { disable_parallel_tool_use: true } : {}) } };
}

const AUTO: ToolChoice = { is: "auto" };

const CHOICES: Readonly<Record<ToolChoice["is"], (choice: ToolChoice) => JsonObject>> = {
  auto: () => ({ type: "auto" }),
  none: () => ({ type: "none" }),
  required: () => ({ type: "any" }),
  named: (choice) => ({ type: "tool", ...(choice.is === "named" ? { name: choice.name } : {}) }),
};

/** The format name has no field; its description goes into the schema. */
function encodeFormat(format: ResponseFormat): JsonObject {
  if (format.is !== "json_schema") return {};
  const described = format.description === null ? {} : { description: format.description };
  return { format: { type: "json_schema", schema: strictSchema({ ...described, ...format.schema }) } };
}

function encodeStop(stop: readonly string[]): JsonObject {
  if (stop.length === 0) return {};
  if (stop.some((sequence) => sequence.trim() === ""))
    throw fault("invalid_value", {
      message:
        "stop: the provider's API does not support stop sequences of white space only. Send one with a visible character.",
      param: "stop",
    });
  return { stop_sequences: stop };
}

function checkCacheBreakpoints(
  system: readonly JsonObject[],
  tools: readonly JsonObject[],
  messages: readonly WireMessage[],
): void {
  const blocks = [...system, ...tools, ...messages.flatMap(({ content }) => content)];
  const marks = blocks.filter((block) => block["cache_control"] !== undefined).length;
  if (marks > CACHE_BREAKPOINTS_MAX)
    throw fault("invalid_value", {
      message: `cache_control can be set at most ${CACHE_BREAKPOINTS_MAX} times in a request to this model; this request sets it ${marks} times.`,
      param: "messages",
    });
}
