import type { ResponsesRequest, ResponseTool } from "../../../../contract/schemas/responses.ts";
import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import type { ToolChoice, ToolDefinition } from "../../../canon/call.ts";
import { customDefinition, type ResponsesCustomTool } from "./custom-tools.ts";
import { flatName } from "./namespaces.ts";

type FunctionTool = Extract<ResponseTool, { name: string; type: "function" }>;
type NamespaceTool = Extract<ResponseTool, { name: string; type: "namespace" }>;

/** Tools of a call, and the paths of dropped and native ones. */
type DecodedTools = {
  readonly tools: readonly ToolDefinition[];
  readonly choice: ToolChoice | undefined;
  readonly native: readonly string[];
  readonly advisory: readonly string[];
};

/**
 * Server tools that agents offer with every request. They are dropped and logged where unavailable; other server
 * tools make the request native.
 */
const OPTIONAL_TOOLS = /^(web_search|web_search_preview|image_generation)(_\d{4}_\d{2}_\d{2})?$/;

/** Free text needs no mention, and a grammar goes into the description, where it is not enforced. */
const FORMATS: ReadonlySet<string> = new Set(["text", "grammar"]);

export function decodeTools({ tools, tool_choice }: ResponsesRequest): DecodedTools {
  const found: ToolDefinition[] = [];
  const native: string[] = [];
  const advisory: string[] = [];
  for (const { tool, namespace, path } of flattenTools(tools ?? [])) {
    if (isFunction(tool)) found.push(withNamespace(namespace, functionDefinition(tool)));
    else if (isCustom(tool)) {
      found.push(withNamespace(namespace, customDefinition(tool)));
      if (tool.format != null) (FORMATS.has(tool.format.type) ? advisory : native).push(`${path}.format`);
    } else if (OPTIONAL_TOOLS.test(tool.type)) advisory.push(path);
    else native.push(`${path}.type`);
  }
  for (const [at, group] of (tools ?? []).entries())
    if (isNamespace(group) && group.description) advisory.push(`tools.${at}.description`);
  const chosen = decodeChoice(tool_choice, found);
  if (chosen === undefined) return { tools: found, choice: undefined, native: [...native, "tool_choice"], advisory };
  // A required call needs a callable tool.
  if (!isSatisfiable(chosen)) native.push("tool_choice");
  return { ...chosen, native, advisory };
}

/** The echo of a translated request: tools that no provider received are not repeated. */
export function withoutOmittedTools(echo: JsonObject): JsonObject {
  const { tools } = echo;
  if (!Array.isArray(tools) || !tools.some(isOmitted)) return echo;
  return { ...echo, tools: tools.filter((tool) => !isOmitted(tool)) };
}

function isOmitted(tool: unknown): boolean {
  return isJsonObject(tool) && typeof tool["type"] === "string" && OPTIONAL_TOOLS.test(tool["type"]);
}

/** Paths of the call's tools in the request. */
export function toolPaths(request: ResponsesRequest): string[] {
  const { tools } = decodeTools(request);
  const offered = flattenTools(request.tools ?? []).filter(({ tool }) => isFunction(tool) || isCustom(tool));
  return tools.map(({ name }) => {
    const one = offered.find(({ tool, namespace }) => flatName(namespace, String(tool["name"])) === name);
    return one?.path ?? "tools";
  });
}

type PathedTool = { readonly tool: ResponseTool; readonly namespace: string | undefined; readonly path: string };

function flattenTools(tools: readonly ResponseTool[]): PathedTool[] {
  return tools.flatMap((tool, index): PathedTool[] => {
    const path = `tools.${index}`;
    if (!isNamespace(tool)) return [{ tool, namespace: undefined, path }];
    return tool.tools.map((inner, at) => ({ tool: inner, namespace: tool.name, path: `${path}.tools.${at}` }));
  });
}

function withNamespace(namespace: string | undefined, definition: ToolDefinition): ToolDefinition {
  return { ...definition, name: flatName(namespace, definition.name) };
}

function isNamespace(tool: ResponseTool): tool is NamespaceTool {
  return tool.type === "namespace";
}

function isFunction(tool: ResponseTool): tool is FunctionTool {
  return tool.type === "function";
}

function isCustom(tool: ResponseTool): tool is ResponsesCustomTool {
  return tool.type === "custom";
}

function functionDefinition(tool: FunctionTool): ToolDefinition {
  const { name, description, parameters } = tool;
  return { name, description: description ?? null, schema: parameters ?? null, strict: strictOf(tool) };
}

/** Strict is the default of this dialect if the schema allows it. */
export function strictOf({ strict, parameters }: Pick<FunctionTool, "strict" | "parameters">): boolean {
  return strict ?? (parameters ? isClosed(parameters) : true);
}

/** Every object requires all its properties and allows no others. */
function isClosed(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isClosed);
  if (!isJsonObject(schema)) return true;
  if (!Object.entries(schema).every(([key, value]) => LITERAL_KEYWORDS.has(key) || isClosed(value))) return false;
  const { type, properties, required, additionalProperties } = schema;
  const isObject = type === "object" || isPropertyMap(properties);
  if (!isObject) return true;
  if (additionalProperties !== false) return false;
  const names = Object.keys(isPropertyMap(properties) ? properties : {});
  return Array.isArray(required) ? names.every((name) => required.includes(name)) : names.length === 0;
}

/** Keywords whose values are not schemas. */
const LITERAL_KEYWORDS: ReadonlySet<string> = new Set(["const", "enum", "default", "examples", "required"]);

function isPropertyMap(properties: unknown): properties is JsonObject {
  return isJsonObject(properties) && Object.values(properties).every(isJsonObject);
}

type ToolSelection = { readonly tools: readonly ToolDefinition[]; readonly choice: ToolChoice | undefined };

function isSatisfiable({ tools, choice }: ToolSelection): boolean {
  if (choice?.is === "named") return tools.some(({ name }) => name === choice.name);
  return choice?.is !== "required" || tools.length > 0;
}

/** Undefined: a choice that only this dialect has. */
function decodeChoice(
  sent: ResponsesRequest["tool_choice"],
  tools: readonly ToolDefinition[],
): ToolSelection | undefined {
  if (!sent) return { tools, choice: undefined };
  if (typeof sent === "string") return { tools, choice: { is: sent } };
  const { type, name, mode } = sent;
  if (type === "function" || type === "custom")
    return typeof name === "string"
      ? { tools, choice: { is: "named", name: flatName(sent["namespace"], name) } }
      : undefined;
  if (type !== "allowed_tools" || !Array.isArray(sent["tools"])) return undefined;
  // Other dialects have no allowed_tools, so only these tools are offered.
  const allowed = new Set<unknown>();
  for (const tool of sent["tools"]) {
    if (!isJsonObject(tool)) continue;
    const { type: kind, name: one, namespace } = tool;
    if (kind === "function" || kind === "custom") allowed.add(typeof one === "string" ? flatName(namespace, one) : one);
    else if (typeof tool["type"] !== "string" || !OPTIONAL_TOOLS.test(tool["type"])) return undefined;
  }
  return {
    tools: tools.filter((tool) => allowed.has(tool.name)),
    choice: { is: mode === "required" ? "required" : "auto" },
  };
}
