import { fault, invalidValue } from "../../../../contract/faults.ts";
import type {
  FunctionDeclaration,
  GeminiTool,
  GenerateContentRequest,
  GenerationConfig,
  ThinkingConfig,
  ToolConfig,
} from "../../../../contract/schemas/gemini.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import type { Effort, ReasoningSettings, ResponseFormat, ToolChoice, ToolDefinition } from "../../../canon/call.ts";
import { effortForBudget } from "../../../canon/effort.ts";
import { type FieldNotes, type FieldRules, onlyAs } from "../../field-notes.ts";
import { toJsonSchema } from "./schema.ts";

const TOOL_RULES: FieldRules = { functionDeclarations: "read" };
const FUNCTION_RULES: FieldRules = {
  name: "read",
  description: "read",
  parameters: "read",
  parametersJsonSchema: "read",
  // The model does not return them, so only the description of the tool is less complete.
  response: "advisory",
  responseJsonSchema: "advisory",
  behavior: onlyAs("echo", "BLOCKING", "UNSPECIFIED"),
};

/** Functions of all tools, in order, with the path of each. */
export type DecodedTools = { readonly tools: readonly ToolDefinition[]; readonly paths: readonly string[] };

export function decodeTools(tools: readonly GeminiTool[], notes: FieldNotes): DecodedTools {
  const found: ToolDefinition[] = [];
  const paths: string[] = [];
  for (const [at, tool] of tools.entries()) {
    notes.classify(tool, TOOL_RULES, `tools.${at}`);
    for (const [index, declaration] of (tool.functionDeclarations ?? []).entries()) {
      const path = `tools.${at}.functionDeclarations.${index}`;
      notes.classify(declaration, FUNCTION_RULES, path);
      found.push(toolOf(declaration, path));
      paths.push(path);
    }
  }
  return { tools: found, paths };
}

function toolOf(declaration: FunctionDeclaration, path: string): ToolDefinition {
  const { name, description, parameters, parametersJsonSchema } = declaration;
  if (parameters != null && parametersJsonSchema != null)
    throw invalidValue(`${path}.parameters`, "must not be sent together with parametersJsonSchema: send one of them");
  const schema = parametersJsonSchema ?? (parameters == null ? null : toJsonSchema(parameters));
  return { name, description: description ?? null, schema, strict: null };
}

const TOOL_CONFIG_RULES: FieldRules = {
  functionCallingConfig: "read",
  includeServerSideToolInvocations: onlyAs("echo", false),
};
const CALLING_RULES: FieldRules = { mode: "read", allowedFunctionNames: "read" };
export const ALLOWED_NAMES_PATH = "toolConfig.functionCallingConfig.allowedFunctionNames";

type DecodedChoice = { readonly choice: ToolChoice | undefined; readonly allowed: readonly string[] | undefined };

export function decodeToolConfig(
  config: ToolConfig | null | undefined,
  tools: readonly ToolDefinition[],
  notes: FieldNotes,
): DecodedChoice {
  if (config == null) return NO_CHOICE;
  notes.classify(config, TOOL_CONFIG_RULES, "toolConfig");
  const { functionCallingConfig: calling } = config;
  if (calling == null) return NO_CHOICE;
  notes.classify(calling, CALLING_RULES, "toolConfig.functionCallingConfig");
  const names = calling.allowedFunctionNames ?? [];
  for (const [at, name] of names.entries())
    if (notes.native.length === 0 && !tools.some((tool) => tool.name === name))
      throw invalidValue(
        `${ALLOWED_NAMES_PATH}.${at}`,
        `must name a function in tools: there is no "${name.slice(0, 64)}"`,
      );
  const [only] = names;
  const mode = calling.mode?.toUpperCase() ?? "MODE_UNSPECIFIED";
  switch (mode) {
    case "ANY":
      if (notes.native.length === 0 && tools.length === 0)
        throw invalidValue("toolConfig.functionCallingConfig.mode", "requires a function, but tools has none");
      if (names.length === 1 && only !== undefined) return { choice: { is: "named", name: only }, allowed: undefined };
      return { choice: { is: "required" }, allowed: names.length > 0 ? names : undefined };
    case "NONE":
      if (names.length > 0) notes.note("native", ALLOWED_NAMES_PATH);
      return { choice: { is: "none" }, allowed: undefined };
    case "VALIDATED":
      // Calls that follow their schemas, which other providers enforce or not.
      notes.note("advisory", "toolConfig.functionCallingConfig.mode");
      return { choice: tools.length > 0 ? { is: "auto" } : undefined, allowed: names.length > 0 ? names : undefined };
    case "AUTO":
    case "MODE_UNSPECIFIED":
      if (names.length > 0) notes.note("native", ALLOWED_NAMES_PATH);
      return mode === "AUTO" ? { choice: { is: "auto" }, allowed: undefined } : NO_CHOICE;
    default:
      notes.note("native", "toolConfig.functionCallingConfig.mode");
      return NO_CHOICE;
  }
}
const NO_CHOICE: DecodedChoice = { choice: undefined, allowed: undefined };

const CONFIG_RULES: FieldRules = {
  temperature: "read",
  topP: "read",
  topK: "read",
  candidateCount: "read",
  maxOutputTokens: "read",
  stopSequences: "read",
  presencePenalty: "read",
  frequencyPenalty: "read",
  seed: "read",
  // Translated replies have no place for them.
  responseLogprobs: onlyAs("echo", false),
  logprobs: "native",
  responseMimeType: "read",
  responseSchema: "read",
  responseJsonSchema: "read",
  responseModalities: "read",
  mediaResolution: onlyAs("echo", "MEDIA_RESOLUTION_UNSPECIFIED"),
  thinkingConfig: "read",
};

const THINKING_RULES: FieldRules = { includeThoughts: "read", thinkingBudget: "read", thinkingLevel: "read" };
const LEVELS: Readonly<Record<string, Effort>> = { MINIMAL: "minimal", LOW: "low", MEDIUM: "medium", HIGH: "high" };
/** The model decides how long it reasons. */
const DYNAMIC_BUDGET = -1;
const DYNAMIC_EFFORT: Effort = "medium";

export function classifyConfig(config: GenerationConfig | null | undefined, notes: FieldNotes): GenerationConfig {
  if (config == null) return {};
  notes.classify(config, CONFIG_RULES, "generationConfig");
  for (const [at, modality] of (config.responseModalities ?? []).entries())
    if (modality !== "TEXT" && modality !== "MODALITY_UNSPECIFIED")
      throw fault("unsupported_parameter", {
        message: `Field "generationConfig.responseModalities.${at}": responses of this operation are text. Use /v1/audio/speech for speech.`,
        param: `generationConfig.responseModalities.${at}`,
      });
  return config;
}

type DecodedReasoning = { readonly settings: ReasoningSettings; readonly field: string };

/** Clients state it for every model, so it is optional: models without reasoning control omit it. */
export function decodeReasoning(
  config: ThinkingConfig | null | undefined,
  notes: FieldNotes,
): DecodedReasoning | undefined {
  if (config == null) return undefined;
  const path = "generationConfig.thinkingConfig";
  notes.classify(config, THINKING_RULES, path);
  const stated = config.thinkingLevel?.toUpperCase() ?? "";
  const level = Object.hasOwn(LEVELS, stated) ? LEVELS[stated] : undefined;
  if (level === undefined && stated !== "" && stated !== "THINKING_LEVEL_UNSPECIFIED")
    notes.note("native", `${path}.thinkingLevel`);
  const budget = config.thinkingBudget == null ? undefined : Number(config.thinkingBudget);
  if (level !== undefined && budget !== undefined)
    throw invalidValue(`${path}.thinkingBudget`, "must not be sent together with thinkingLevel: send one of them");
  if (level !== undefined)
    return { settings: { effort: level, budgetTokens: null, isOptional: true }, field: `${path}.thinkingLevel` };
  if (budget === undefined) return undefined;
  const field = `${path}.thinkingBudget`;
  if (budget < DYNAMIC_BUDGET) throw invalidValue(field, "must be at least -1");
  if (budget === DYNAMIC_BUDGET)
    return {
      settings: { effort: DYNAMIC_EFFORT, budgetTokens: null, isOptional: true, isEffortDefaulted: true },
      field,
    };
  if (budget === 0) return { settings: { effort: "none", budgetTokens: null, isOptional: true }, field };
  return { settings: { effort: effortForBudget(budget), budgetTokens: budget, isOptional: true }, field };
}

const JSON_TYPE = "application/json";
const FORMAT_NAME = "answer";

type DecodedFormat = { readonly format: ResponseFormat; readonly field: string };

export function decodeFormat(config: GenerationConfig, notes: FieldNotes): DecodedFormat {
  const { responseMimeType: type, responseSchema, responseJsonSchema } = config;
  const field = "generationConfig.responseMimeType";
  if (responseSchema != null && responseJsonSchema != null)
    throw invalidValue(
      "generationConfig.responseSchema",
      "must not be sent together with responseJsonSchema: send one of them",
    );
  const schemaField = `generationConfig.${responseSchema == null ? "responseJsonSchema" : "responseSchema"}`;
  const schema: JsonObject | undefined =
    responseJsonSchema ?? (responseSchema == null ? undefined : toJsonSchema(responseSchema));
  if (type != null && type !== "" && type !== "text/plain" && type !== JSON_TYPE) {
    notes.note("native", field);
    return { format: TEXT, field };
  }
  if (schema === undefined) return { format: type === JSON_TYPE ? { is: "json_object" } : TEXT, field };
  if (type !== JSON_TYPE) throw invalidValue(field, `must be ${JSON_TYPE} with a schema of the response`);
  const format: ResponseFormat = { is: "json_schema", name: FORMAT_NAME, description: null, schema, strict: null };
  return { format, field: schemaField };
}
const TEXT: ResponseFormat = { is: "text" };

/** Thresholds that block nothing, or leave the choice to the provider. */
const HARMLESS: ReadonlySet<unknown> = new Set([
  undefined,
  null,
  "BLOCK_NONE",
  "OFF",
  "HARM_BLOCK_THRESHOLD_UNSPECIFIED",
]);
const SAFETY_RULES: FieldRules = { category: "read", threshold: "read" };

/** Other providers have no such thresholds: those that block something need one that has them. */
export function classifySafety({ safetySettings }: GenerateContentRequest, notes: FieldNotes): void {
  for (const [at, setting] of (safetySettings ?? []).entries()) {
    notes.classify(setting, SAFETY_RULES, `safetySettings.${at}`);
    if (HARMLESS.has(setting.threshold)) notes.note("advisory", "safetySettings");
    else notes.note("native", `safetySettings.${at}.threshold`);
  }
}
