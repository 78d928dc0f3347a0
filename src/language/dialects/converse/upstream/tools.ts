import { fault } from "../../../../contract/faults.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import type { Call, ResponseFormat, ToolChoice, ToolDefinition } from "../../../canon/call.ts";
import { strictSchema } from "../../messages/upstream/schema.ts";
import type { ModelFacts } from "../../upstream-dialect.ts";
import { ANSWER_TOOL, usesAnswerTool } from "./reply-assembler.ts";
import { cachePoint } from "./turns.ts";

type ToolConfig = { readonly tools: readonly JsonObject[]; readonly toolChoice?: JsonObject };

type ToolPlan = {
  readonly toolConfig: ToolConfig | undefined;
  /** Instruction for what the dialect has no field for. */
  readonly instruction: string | undefined;
};

const NO_TOOL_CALLS = "Do not call any tool in this answer.";

/**
 * A conversation with tool calls must define tools even if none may be called, and the dialect has no tool choice
 * "none".
 */
export function planTools(call: Call, facts: ModelFacts): ToolPlan {
  const support: ToolSupport = { strict: facts.structuredOutput !== "tool", marks: facts.promptCaching === true };
  const { responseFormat } = call;
  if (responseFormat.is === "json_schema" && usesAnswerTool({ call, facts }))
    return { toolConfig: answerConfig(call, responseFormat, support), instruction: undefined };
  const isDisabled = call.tools.length === 0 || call.toolChoice?.is === "none";
  const calledNames = namesUsed(call);
  if (isDisabled && calledNames.length === 0) return { toolConfig: undefined, instruction: undefined };
  const tools = call.tools.length > 0 ? toolSpecs(call.tools, support) : calledNames.map(nameOnlySpec);
  if (isDisabled) return { toolConfig: { tools }, instruction: NO_TOOL_CALLS };
  const { toolChoice } = call;
  return {
    toolConfig: toolChoice === undefined ? { tools } : { tools, toolChoice: wireChoice(toolChoice) },
    instruction: undefined,
  };
}

function namesUsed({ turns }: Call): string[] {
  const names = turns.flatMap(({ parts }) => parts.flatMap((part) => (part.is === "tool_call" ? [part.name] : [])));
  return [...new Set(names)];
}

function nameOnlySpec(name: string): JsonObject {
  return { toolSpec: { name, inputSchema: { json: { type: "object" } } } };
}

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

type ToolSupport = { readonly strict: boolean; readonly marks: boolean };

function toolSpecs(tools: readonly ToolDefinition[], support: ToolSupport): JsonObject[] {
  return tools.flatMap((tool, index) => {
    const { name, description, schema, strict, cache } = tool;
    if (!TOOL_NAME.test(name)) {
      const param = `tools.${index}.function.name`;
      const message = `${param} must be 1 to 64 letters, digits, _ or -, as the provider's API requires.`;
      throw fault("invalid_value", { message, param });
    }
    const isStrict = strict === true && support.strict;
    const json = schema === null ? { type: "object", properties: {} } : { type: "object", ...schema };
    const toolSpec = {
      name,
      ...(description === null || description === "" ? {} : { description }),
      inputSchema: { json: isStrict ? strictSchema(json) : json },
      ...(isStrict ? { strict: true } : {}),
    };
    return cache !== undefined && support.marks ? [{ toolSpec }, cachePoint(cache)] : [{ toolSpec }];
  });
}

function wireChoice(choice: ToolChoice): JsonObject {
  switch (choice.is) {
    case "named":
      return { tool: { name: choice.name } };
    case "required":
      return { any: {} };
    case "auto":
    case "none":
      return { auto: {} };
  }
}

type AnswerFormat = Extract<ResponseFormat, { is: "json_schema" }>;

/** The structured reply as an additional tool; it is forced if the caller sent no tools. */
function answerConfig({ tools, toolChoice }: Call, format: AnswerFormat, support: ToolSupport): ToolConfig {
  const own = toolSpecs(toolChoice?.is === "none" ? [] : tools, support);
  // The caller forces a tool call, so this turn is not the final reply.
  if (toolChoice?.is === "required" || toolChoice?.is === "named")
    return { tools: own, toolChoice: wireChoice(toolChoice) };
  const choice = own.length === 0 ? { tool: { name: ANSWER_TOOL } } : { any: {} };
  return { tools: [...own, answerSpec(format)], toolChoice: choice };
}

function answerSpec({ schema, description }: AnswerFormat): JsonObject {
  if ((schema["type"] ?? "object") !== "object") {
    const param = "response_format.json_schema.schema";
    throw fault("invalid_value", { message: `${param} must describe an object for this model.`, param });
  }
  const inputSchema = { json: { type: "object", ...schema } };
  return { toolSpec: { name: ANSWER_TOOL, description: description ?? "Gives the answer.", inputSchema } };
}
