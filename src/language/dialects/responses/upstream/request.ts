import { type Fault, fault } from "../../../../contract/faults.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import type { Call, ResponseFormat, ToolChoice, ToolDefinition } from "../../../canon/call.ts";
import { effortFor } from "../../../canon/effort.ts";
import type { Parameter } from "../../../canon/parameters.ts";
import { isDefaultSampling } from "../../../canon/sampling.ts";
import { validateLabels } from "../../labels.ts";
import { argumentsSchema, encodeTools } from "../../tool-encoding.ts";
import type { ModelFacts } from "../../upstream-dialect.ts";
import { FIELDS } from "../fields.ts";
import { encodeTurns } from "./turns.ts";

/** `store: false`, because the gateway keeps the state. */
export function encodeRequest(call: Call, facts: ModelFacts): string {
  const encodingError = firstEncodingError(call, facts);
  if (encodingError !== undefined) throw encodingError;
  validateLabels(call);
  const { maxOutputTokens, stream } = call;
  return JSON.stringify({
    model: facts.upstreamModel,
    ...encodeTurns(call, facts),
    ...encodeTools(call, { tool: encodeTool, choice: encodeToolChoice }),
    ...encodeText(call),
    ...encodeReasoning(call, facts),
    ...(maxOutputTokens === undefined ? {} : { max_output_tokens: maxOutputTokens }),
    ...encodeSampling(call, facts),
    ...passedParameters(call),
    store: false,
    ...(stream ? { stream } : {}),
  });
}

/** Strict is the default of this dialect but not of others, so it is always explicit. */
function encodeTool({ name, description, schema, strict }: ToolDefinition): JsonObject {
  return {
    type: "function",
    name,
    ...(description === null ? {} : { description }),
    parameters: argumentsSchema({ schema, strict }),
    strict: strict ?? false,
  };
}

function encodeToolChoice(choice: ToolChoice | undefined, allowed: unknown): JsonObject {
  if (Array.isArray(allowed) && choice?.is !== "none" && choice?.is !== "named") {
    const tools = allowed.map((name) => ({ type: "function", name }));
    return { tool_choice: { type: "allowed_tools", mode: choice?.is === "required" ? "required" : "auto", tools } };
  }
  if (choice === undefined) return {};
  return { tool_choice: choice.is === "named" ? { type: "function", name: choice.name } : choice.is };
}

function encodeText({ responseFormat, openAiParameters }: Call): JsonObject {
  const verbosity = openAiParameters?.verbosity;
  const text = {
    ...(responseFormat.is === "text" ? {} : { format: encodeFormat(responseFormat) }),
    ...(verbosity == null ? {} : { verbosity }),
  };
  return Object.keys(text).length === 0 ? {} : { text };
}

function encodeFormat(format: Exclude<ResponseFormat, { is: "text" }>): JsonObject {
  if (format.is === "json_object") return { type: "json_object" };
  const { name, description, schema, strict } = format;
  return {
    type: "json_schema",
    name,
    ...(description === null ? {} : { description }),
    schema,
    ...(strict === null ? {} : { strict }),
  };
}

/** Quirk: the provider rejects reasoning summaries. */
const UNSUMMARIZED = "unsummarized";

/** Summaries are returned only on request. The reasoning itself comes encrypted, to be sent back with the next turn. */
function encodeReasoning(call: Call, facts: ModelFacts): JsonObject {
  const { quirks, reasoning, reasoningEncryptedBy } = facts;
  const include = reasoningEncryptedBy == null ? {} : { include: ["reasoning.encrypted_content"] };
  const effort = effortFor(call, facts);
  if (effort === undefined) return include;
  // Models without reasoning reject the field.
  if (effort === "none") return reasoning === "never" ? {} : { reasoning: { effort } };
  const summary = quirks.includes(UNSUMMARIZED) ? {} : { summary: "auto" };
  return { reasoning: { effort, ...summary }, ...include };
}

function encodeSampling({ temperature, topP }: Call, { sampling }: ModelFacts): JsonObject {
  if (sampling === false) return {};
  return {
    ...(isDefaultSampling(temperature) ? {} : { temperature }),
    ...(isDefaultSampling(topP) ? {} : { top_p: topP }),
  };
}

/** Parameters without a canonical field, sent under their own names. */
const PASSED_PARAMETERS = [
  "prompt_cache_key",
  "safety_identifier",
  "service_tier",
  "user",
] as const satisfies readonly Parameter[];

function passedParameters({ openAiParameters = {} }: Call): JsonObject {
  return Object.fromEntries(
    PASSED_PARAMETERS.flatMap((row) => (openAiParameters[row] == null ? [] : [[row, openAiParameters[row]]])),
  );
}

const OUTPUT_TOKENS_MIN = 16;

/** The first part of a call that the dialect cannot express; undefined if it is fully expressible. */
export function firstEncodingError(call: Call, facts: ModelFacts): Fault | undefined {
  const { model } = facts;
  // Whether neutral values are accepted was decided when the endpoint was chosen.
  const parameter = call.parameters.find((row) => FIELDS[row] === "400" && !call.neutralParameters?.includes(row));
  if (parameter !== undefined) return unsupported(parameter, `${model} does not support the parameter ${parameter}`);
  const { maxOutputTokens } = call;
  if (maxOutputTokens !== undefined && maxOutputTokens < OUTPUT_TOKENS_MIN)
    return fault("invalid_value", {
      message: `max_tokens must be at least ${OUTPUT_TOKENS_MIN} for this request to ${model}.`,
      param: "max_tokens",
    });
  const sampled = samplingWhileReasoning(call, facts);
  if (sampled !== undefined)
    return unsupported(sampled, `${model} does not support ${sampled} with reasoning: omit one of them`);
  return audioError(call);
}

/** Models of this dialect reject sampling while reasoning, unless the catalogue says otherwise. */
function samplingWhileReasoning({ reasoning, temperature, topP }: Call, { sampling }: ModelFacts): string | undefined {
  if (sampling !== null || reasoning === undefined || reasoning.effort === "none") return undefined;
  if (!isDefaultSampling(temperature)) return "temperature";
  return isDefaultSampling(topP) ? undefined : "top_p";
}

function audioError({ turns }: Call): Fault | undefined {
  for (const [index, { parts }] of turns.entries()) {
    const at = parts.findIndex(({ is }) => is === "audio");
    if (at >= 0) return unsupported(`messages.${index}.content.${at}`, "The provider's API does not support audio");
  }
  return undefined;
}

function unsupported(param: string, message: string): Fault {
  return fault("unsupported_parameter", { message: `${message}.`, param });
}
