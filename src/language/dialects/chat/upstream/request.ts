import type { JsonObject } from "../../../../kit/json.ts";
import type { Call, ResponseFormat, ToolChoice, ToolDefinition } from "../../../canon/call.ts";
import { effortFor } from "../../../canon/effort.ts";
import type { Parameter } from "../../../canon/parameters.ts";
import { argumentsSchema, encodeTools } from "../../tool-encoding.ts";
import type { ModelFacts } from "../../upstream-dialect.ts";
import { encodeTurns } from "./turns.ts";

const INCLUDE_USAGE: JsonObject = { stream_options: { include_usage: true } };

export function encodeRequest(call: Call, facts: ModelFacts): string {
  const { maxOutputTokens, stop, stream } = call;
  return JSON.stringify({
    model: facts.upstreamModel,
    messages: encodeTurns(call.turns, facts.quirks),
    ...encodeTools(call, { tool: encodeTool, choice: encodeToolChoice }),
    ...encodeFormat(call.responseFormat),
    ...encodeReasoning(call, facts),
    ...(maxOutputTokens === undefined ? {} : { [facts.outputLimit ?? "max_tokens"]: maxOutputTokens }),
    ...encodeSampling(call, facts),
    ...(stop.length === 0 ? {} : { stop }),
    ...passedParameters(call),
    ...(stream ? { stream, ...(facts.quirks.includes(USAGE_UNASKED) ? {} : INCLUDE_USAGE) } : {}),
  });
}

function encodeTool({ name, description, schema, strict }: ToolDefinition): JsonObject {
  return {
    type: "function",
    function: {
      name,
      ...(description === null ? {} : { description }),
      parameters: argumentsSchema({ schema, strict }),
      ...(strict === null ? {} : { strict }),
    },
  };
}

function encodeFormat(format: ResponseFormat): JsonObject {
  if (format.is === "text") return {};
  if (format.is === "json_object") return { response_format: { type: "json_object" } };
  const { name, description, schema, strict } = format;
  const json_schema = {
    name,
    ...(description === null ? {} : { description }),
    schema,
    ...(strict === null ? {} : { strict }),
  };
  return { response_format: { type: "json_schema", json_schema } };
}

/** Servers reject the field for models without reasoning. */
function encodeReasoning(call: Call, facts: ModelFacts): JsonObject {
  const effort = effortFor(call, facts);
  if (effort === undefined || (facts.reasoning === "never" && effort === "none")) return {};
  return { reasoning_effort: effort };
}

/** The dialect has no top_k. */
function encodeSampling({ temperature, topP }: Call, { sampling }: ModelFacts): JsonObject {
  if (sampling === false) return {};
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
  };
}

/** Parameters without a canonical field, sent under their own names. */
const PASSED_PARAMETERS = [
  "seed",
  "logprobs",
  "top_logprobs",
  "presence_penalty",
  "frequency_penalty",
  "logit_bias",
  "verbosity",
  "prediction",
  "prompt_cache_key",
  "safety_identifier",
  "service_tier",
  "user",
] as const satisfies readonly Parameter[];

function passedParameters({ openAiParameters = {} }: Call): JsonObject {
  const sent = PASSED_PARAMETERS.flatMap((row) =>
    openAiParameters[row] == null ? [] : [[row, openAiParameters[row]] as const],
  );
  // top_logprobs requires logprobs.
  const implied = openAiParameters.top_logprobs != null && openAiParameters.logprobs == null ? { logprobs: true } : {};
  return { ...implied, ...Object.fromEntries(sent) };
}

/** Quirk: the server always streams usage and rejects stream_options. */
export const USAGE_UNASKED = "usage-unasked";

/** A list of allowed tools is a kind of tool_choice; "none" and a named tool take precedence. */
export function encodeToolChoice(choice: ToolChoice | undefined, allowed: unknown): JsonObject {
  if (Array.isArray(allowed) && choice?.is !== "none" && choice?.is !== "named") {
    const tools = allowed.map((name) => ({ type: "function", function: { name } }));
    const mode = choice?.is === "required" ? "required" : "auto";
    return { tool_choice: { type: "allowed_tools", allowed_tools: { mode, tools } } };
  }
  if (choice === undefined) return {};
  return { tool_choice: choice.is === "named" ? { type: "function", function: { name: choice.name } } : choice.is };
}
