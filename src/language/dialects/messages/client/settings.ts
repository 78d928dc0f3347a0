import { invalidValue } from "../../../../contract/faults.ts";
import type { CountTokensRequest, CustomTool, MessageTool } from "../../../../contract/schemas/messages.ts";
import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import {
  EFFORTS,
  type Effort,
  type ReasoningSettings,
  type ResponseFormat,
  type ToolChoice,
  type ToolDefinition,
} from "../../../canon/call.ts";
import { effortForBudget } from "../../../canon/effort.ts";
import { type FieldNotes, type FieldRule, type FieldRules, onlyAs } from "../../field-notes.ts";
import { classifyCacheControl, decodeCacheControl } from "./turns.ts";

const DIRECT_CALLERS_ONLY: FieldRule = (value) =>
  Array.isArray(value) && value.every((caller) => caller === "direct") ? "echo" : "native";

const TOOL_ROWS: FieldRules = {
  type: "read",
  name: "read",
  description: "read",
  input_schema: "read",
  strict: "read",
  cache_control: "read",
  allowed_callers: DIRECT_CALLERS_ONLY,
  defer_loading: onlyAs("echo", false),
  eager_input_streaming: "advisory",
  input_examples: "advisory",
};

/** Tools that the caller runs; server tools are native to this dialect. */
export function decodeTools(tools: readonly MessageTool[], notes: FieldNotes): ToolDefinition[] {
  return tools.flatMap((tool, at) => {
    if (!isCustomTool(tool)) {
      notes.note("native", `tools.${at}.type`);
      return [];
    }
    notes.classify(tool, TOOL_ROWS, `tools.${at}`);
    classifyCacheControl(tool.cache_control, `tools.${at}`, notes);
    const { name, description, input_schema, strict, cache_control } = tool;
    return [
      {
        name,
        description: description ?? null,
        schema: input_schema,
        strict: strict ?? null,
        ...decodeCacheControl(cache_control),
      },
    ];
  });
}

function isCustomTool(tool: MessageTool): tool is CustomTool {
  return tool.type == null || tool.type === "custom";
}

const CHOICE_ROWS: FieldRules = { type: "read", name: "read", disable_parallel_tool_use: "read" };

export function decodeToolChoice(
  choice: CountTokensRequest["tool_choice"],
  tools: readonly ToolDefinition[],
  notes: FieldNotes,
): ToolChoice | undefined {
  if (!choice) return undefined;
  notes.classify(choice, CHOICE_ROWS, "tool_choice");
  switch (choice.type) {
    case "auto":
    case "none":
      return { is: choice.type };
    case "any":
      if (notes.native.length === 0 && tools.length === 0)
        throw invalidValue("tool_choice", "requires a tool, but tools has none");
      return { is: "required" };
    case "tool":
      if (!choice.name) throw invalidValue("tool_choice.name", "is required with type tool: name the tool to call");
      if (notes.native.length === 0 && !tools.some(({ name }) => name === choice.name))
        throw invalidValue("tool_choice.name", `must name a tool in tools: there is no "${choice.name.slice(0, 64)}"`);
      return { is: "named", name: choice.name };
    default:
      notes.note("native", "tool_choice.type");
      return undefined;
  }
}

type DecodedReasoning = { readonly settings: ReasoningSettings; readonly field: string };

const THINKING_ROWS: FieldRules = { type: "read", budget_tokens: "read", display: "advisory" };
/** Effort if the caller enables thinking without one. */
const EFFORT_DEFAULT: Effort = "medium";
const EFFORT_BETWEEN_TOOLS: Effort = "low";

/** Reasoning settings and the field that states them. A token budget is required; an effort is optional. */
export function decodeReasoning(
  { thinking, output_config }: Pick<CountTokensRequest, "thinking" | "output_config">,
  notes: FieldNotes,
): DecodedReasoning | undefined {
  const statedEffort = decodeEffort(output_config?.effort, notes);
  if (!thinking)
    return statedEffort === undefined
      ? undefined
      : { settings: optionalEffort(statedEffort), field: "output_config.effort" };
  notes.classify(thinking, THINKING_ROWS, "thinking");
  const field = "thinking";
  switch (thinking.type) {
    case "disabled":
      return { settings: optionalEffort("none"), field };
    case "adaptive":
      return {
        settings: statedEffort === undefined ? defaultedEffort(EFFORT_DEFAULT) : optionalEffort(statedEffort),
        field,
      };
    case "between_tools":
      return {
        settings: statedEffort === undefined ? defaultedEffort(EFFORT_BETWEEN_TOOLS) : optionalEffort(statedEffort),
        field,
      };
    case "enabled": {
      const budgetTokens = thinking.budget_tokens ?? null;
      const effort = statedEffort ?? (budgetTokens === null ? EFFORT_DEFAULT : effortForBudget(budgetTokens));
      return { settings: { effort, budgetTokens }, field };
    }
    default:
      notes.note("native", "thinking.type");
      return undefined;
  }
}

function optionalEffort(effort: Effort): ReasoningSettings {
  return { effort, budgetTokens: null, isOptional: true };
}

function defaultedEffort(effort: Effort): ReasoningSettings {
  return { ...optionalEffort(effort), isEffortDefaulted: true };
}

function decodeEffort(statedEffort: string | null | undefined, notes: FieldNotes): Effort | undefined {
  if (!statedEffort) return undefined;
  const effort = EFFORTS.find((known) => known === statedEffort);
  if (effort === undefined) notes.note("native", "output_config.effort");
  return effort;
}

const CONFIG_ROWS: FieldRules = { effort: "read", format: "read" };
const FORMAT_ROWS: FieldRules = { type: "read", schema: "read" };
const FORMAT_NAME = "answer";

type OutputFormat = NonNullable<NonNullable<CountTokensRequest["output_config"]>["format"]>;

/** `output_format` is the older name. */
export function decodeFormat(
  config: CountTokensRequest["output_config"],
  older: unknown,
  notes: FieldNotes,
): ResponseFormat {
  if (config) notes.classify(config, CONFIG_ROWS, "output_config");
  if (config?.format) return formatOf(config.format, "output_config.format", notes);
  return isJsonObject(older) ? formatOf({ ...older, type: String(older["type"]) }, "output_format", notes) : TEXT;
}

const TEXT: ResponseFormat = { is: "text" };

function formatOf(format: OutputFormat, path: string, notes: FieldNotes): ResponseFormat {
  if (format.type !== "json_schema") {
    notes.note("native", `${path}.type`);
    return TEXT;
  }
  notes.classify(format, FORMAT_ROWS, path);
  if (!isJsonObject(format.schema))
    throw invalidValue(`${path}.schema`, "is required: the JSON schema of the response");
  const strict = isClosed(format.schema) ? true : null;
  return { is: "json_schema", name: FORMAT_NAME, description: null, schema: format.schema, strict };
}

/** Only fully specified schemas can be enforced strictly in every dialect. */
function isClosed(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isClosed);
  if (!isJsonObject(schema)) return true;
  return (
    (!isJsonObject(schema["properties"]) || requiresAllProperties(schema, schema["properties"])) &&
    Object.values(schema).every(isClosed)
  );
}

function requiresAllProperties(schema: JsonObject, properties: JsonObject): boolean {
  const { required } = { required: schema["required"] };
  if (schema["additionalProperties"] !== false || !Array.isArray(required)) return false;
  return Object.keys(properties).every((name) => required.includes(name));
}

const COMPACTION_DEFAULT_TOKENS = 150_000;

export function decodeCompaction(management: unknown): { readonly compactionThresholdTokens?: number } {
  const edits = isJsonObject(management) ? management["edits"] : undefined;
  if (!Array.isArray(edits)) return {};
  const edit = edits.find((edit) => isJsonObject(edit) && String(edit["type"]).startsWith("compact_"));
  if (!isJsonObject(edit)) return {};
  const value = isJsonObject(edit["trigger"]) ? edit["trigger"]["value"] : undefined;
  return { compactionThresholdTokens: typeof value === "number" ? value : COMPACTION_DEFAULT_TOKENS };
}
