import { fault } from "../../../../contract/faults.ts";
import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import type { Call, ToolDefinition } from "../../../canon/call.ts";
import { ONE_TOOL_CALL, wantsOneToolCall } from "../../tool-encoding.ts";
import type { ModelFacts } from "../../upstream-dialect.ts";
import { encodeReasoning } from "./reasoning.ts";
import { encodeTurns } from "./turns.ts";

/** Quirks that change the request. */
const SIGNED_TOOL_CALLS = "signed-tool-calls";
const JSON_OR_TOOLS = "json-or-tools";

const STOP_SEQUENCES_MAX = 5;
const TOOL_NAME = /^[a-zA-Z_][a-zA-Z0-9_.-]*$/;

/** Whole and streamed requests have the same body. */
export function encodeRequest(call: Call, facts: ModelFacts): string {
  const form = facts.quirks.includes(SIGNED_TOOL_CALLS) ? "signed" : "plain";
  const { system, contents } = encodeTurns(call.turns, form);
  const tools = callableTools(call, facts);
  const config = encodeConfig(call, facts);
  const instructions = wantsOneToolCall(call) ? [...system, { text: ONE_TOOL_CALL }] : system;
  return JSON.stringify({
    ...(instructions.length === 0 ? {} : { systemInstruction: { parts: instructions } }),
    contents,
    ...(tools.length === 0
      ? {}
      : { tools: [{ functionDeclarations: tools.map(encodeTool) }], ...encodeToolChoice(call) }),
    ...(Object.keys(config).length === 0 ? {} : { generationConfig: config }),
  });
}

export function encodePath({ stream }: Call, { upstreamModel }: ModelFacts): string {
  const method = stream ? "streamGenerateContent?alt=sse" : "generateContent";
  return `/models/${encodeURIComponent(upstreamModel)}:${method}`;
}

/** Older models support JSON output or tools, not both: uncallable tools are dropped, others rejected. */
function callableTools(call: Call, { quirks }: ModelFacts): readonly ToolDefinition[] {
  if (call.responseFormat.is === "text" || call.tools.length === 0 || !quirks.includes(JSON_OR_TOOLS))
    return call.tools;
  if (call.toolChoice?.is === "none") return [];
  throw fault("unsupported_parameter", {
    message: `${call.model}: response_format is not supported together with tools. Omit one of them, or use another model.`,
    param: "response_format",
  });
}

function encodeTool({ name, description, schema }: ToolDefinition, index: number): JsonObject {
  if (!TOOL_NAME.test(name)) {
    const param = `tools.${index}.function.name`;
    throw fault("invalid_value", { message: `${param} must begin with a letter or _ for this model.`, param });
  }
  return {
    name,
    ...(description === null ? {} : { description }),
    ...(schema === null || isEmptySchema(schema) ? {} : { parametersJsonSchema: schema }),
  };
}

/** Some models reject a schema without properties; it is omitted instead. */
function isEmptySchema({ properties, ...rest }: JsonObject): boolean {
  if (Object.keys(rest).length === 0 && properties === undefined) return true;
  const { type, required, additionalProperties, $schema, title, description, ...others } = rest;
  return (
    isJsonObject(properties) &&
    Object.keys(properties).length === 0 &&
    Object.keys(others).length === 0 &&
    (additionalProperties === undefined || additionalProperties === false)
  );
}

function encodeToolChoice({ toolChoice }: Call): JsonObject {
  if (toolChoice === undefined) return {};
  switch (toolChoice.is) {
    case "auto":
      return choice({ mode: "AUTO" });
    case "none":
      return choice({ mode: "NONE" });
    case "required":
      return choice({ mode: "ANY" });
    case "named":
      return choice({ mode: "ANY", allowedFunctionNames: [toolChoice.name] });
  }
}

function choice(config: JsonObject): JsonObject {
  return { toolConfig: { functionCallingConfig: config } };
}

function encodeConfig(call: Call, facts: ModelFacts): JsonObject {
  const stop = call.stop.filter((sequence) => sequence !== "");
  if (stop.length > STOP_SEQUENCES_MAX) {
    throw fault("invalid_value", {
      message: `stop: ${call.model} supports at most ${STOP_SEQUENCES_MAX} stop sequences.`,
      param: "stop",
    });
  }
  const thinkingConfig = encodeReasoning(call, facts);
  return {
    ...(call.temperature === undefined ? {} : { temperature: call.temperature }),
    ...(call.topP === undefined ? {} : { topP: call.topP }),
    // Zero means no limit, which is the default here.
    ...(call.topK === undefined || call.topK === 0 ? {} : { topK: call.topK }),
    ...(call.maxOutputTokens === undefined ? {} : { maxOutputTokens: call.maxOutputTokens }),
    ...(stop.length === 0 ? {} : { stopSequences: stop }),
    ...encodeFormat(call),
    ...(thinkingConfig === undefined ? {} : { thinkingConfig }),
  };
}

function encodeFormat({ responseFormat }: Call): JsonObject {
  if (responseFormat.is === "text") return {};
  const json = { responseMimeType: "application/json" };
  if (responseFormat.is === "json_object" || Object.keys(responseFormat.schema).length === 0) return json;
  const { description, schema } = responseFormat;
  return { ...json, responseJsonSchema: description === null ? schema : { description, ...schema } };
}
