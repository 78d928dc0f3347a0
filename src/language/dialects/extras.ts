import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { type BillableExtra, type BillableExtraName, EXTRAS, NO_EXTRAS } from "../canon/extras.ts";
import { listOf, offeredTools } from "./offered-tools.ts";

/**
 * The one place that knows what a provider bills apart: how a request asks for it, and where an answer says how often
 * it was used. What a request can ask of a provider and is not here costs nothing but tokens.
 */
type ExtrasReader = (request: JsonObject) => readonly BillableExtra[];

/** Words for the service that everyone gets at the usual price. */
const STANDARD_TIERS: ReadonlySet<unknown> = new Set([
  undefined,
  null,
  "auto",
  "default",
  "standard",
  "standard_only",
  "on_demand",
]);

function tierOf(request: JsonObject, forwarding: BillableExtra["forwarding"]): readonly BillableExtra[] {
  const { service_tier: tier } = request;
  if (STANDARD_TIERS.has(tier)) return NO_EXTRAS;
  const field = "service_tier";
  if (tier === "flex") return [{ name: "service_tier_flex", field, forwarding, isCheaper: true }];
  return [{ name: tier === "priority" ? "service_tier_priority" : "service_tier_other", field, forwarding }];
}

const CHAT: ExtrasReader = (request) => tierOf(request, "said");

type ToolRow = { readonly type: RegExp; readonly is: BillableExtraName | "tokens" };

/** Tools of the messages dialect by their type. Those that the caller runs itself, or that only read, cost tokens. */
const MESSAGE_TOOLS: readonly ToolRow[] = [
  { type: /^(custom|(bash|text_editor|computer|memory|tool_search_tool_\w+?)_\d+|mcp_toolset)$/, is: "tokens" },
  { type: /^web_search_\d+$/, is: "web_search" },
  { type: /^web_fetch_\d+$/, is: "web_fetch" },
  { type: /^code_execution_\d+$/, is: "code_execution" },
  { type: /^advisor_\d+$/, is: "other_models" },
];

/** Tools of the responses dialect. A shell runs at the caller's, unless it is given a container of the provider. */
const RESPONSE_TOOLS: readonly ToolRow[] = [
  { type: /^(function|custom|namespace|local_shell|shell|apply_patch|mcp|tool_search)$/, is: "tokens" },
  { type: /^computer(_use(_preview)?)?(_\d{4}_\d{2}_\d{2})?$/, is: "tokens" },
  { type: /^web_search(_preview)?(_\d{4}_\d{2}_\d{2})?$/, is: "web_search" },
  { type: /^file_search$/, is: "file_search" },
  { type: /^code_interpreter$/, is: "code_execution" },
  { type: /^image_generation$/, is: "image_generation" },
];

function extraForTool(tool: unknown, rows: readonly ToolRow[]): BillableExtraName | "tokens" {
  if (!isJsonObject(tool)) return "tokens";
  const { type } = tool;
  if (type === undefined || type === null) return "tokens";
  return rows.find((row) => row.type.test(String(type)))?.is ?? "hosted_tool";
}

const MESSAGES: ExtrasReader = (request) => {
  const { tools, messages, speed, inference_geo, container, fallbacks } = request;
  const found: BillableExtra[] = [...tierOf(request, "native")];
  const ask = (name: BillableExtraName, field: string) => found.push({ name, field, forwarding: "native" });
  if (speed != null && speed !== "standard") ask("fast_mode", "speed");
  if (inference_geo != null && inference_geo !== "global") ask("inference_geo", "inference_geo");
  if (container != null) ask("hosted_container", "container");
  if (fallbacks != null && !(Array.isArray(fallbacks) && fallbacks.length === 0)) ask("other_models", "fallbacks");
  for (const [at, tool] of listOf(tools).entries()) found.push(...extrasInMessageTool(tool, `tools.${at}`));
  // A tool can also come in the middle of the conversation.
  for (const [at, message] of listOf(messages).entries())
    for (const [place, block] of listOf(isJsonObject(message) ? message["content"] : undefined).entries())
      if (isJsonObject(block) && block["type"] === "tool_addition")
        found.push(...extrasInMessageTool(inlineDefinition(block["tool"]), `messages.${at}.content.${place}.tool`));
  return found;
};

function extrasInMessageTool(tool: unknown, path: string): BillableExtra[] {
  const name = extraForTool(tool, MESSAGE_TOOLS);
  if (name === "tokens") return [];
  const uses = isJsonObject(tool) ? tool["max_uses"] : undefined;
  const usesMax = typeof uses === "number" && Number.isInteger(uses) && uses > 0 ? { usesMax: uses } : {};
  return [{ name, field: `${path}.type`, forwarding: "native", ...usesMax }];
}

/** One that is only referred to stands among the tools of the request. */
function inlineDefinition(tool: unknown): unknown {
  if (!isJsonObject(tool) || tool["type"] === "tool_reference") return undefined;
  return tool["definition"] ?? tool;
}

/** Agents offer these with every request to every model: where they cannot be had they are left out. */
const DROPPABLE_TOOLS: ReadonlySet<BillableExtraName> = new Set(["web_search", "image_generation"]);

const RESPONSES: ExtrasReader = (request) => {
  const found: BillableExtra[] = [...tierOf(request, "said")];
  for (const { tool, path } of offeredTools(request)) {
    if (usesHostedContainer(tool))
      found.push({ name: "hosted_container", field: `${path}.environment`, forwarding: "native" });
    const name = extraForTool(tool, RESPONSE_TOOLS);
    if (name === "tokens") continue;
    const toolIndex =
      DROPPABLE_TOOLS.has(name) && areHostedToolsOptional(request) ? listOf(request["tools"]).indexOf(tool) : -1;
    found.push({ name, field: `${path}.type`, forwarding: "native", ...(toolIndex < 0 ? {} : { toolIndex }) });
  }
  return found;
};

function usesHostedContainer({ environment }: JsonObject): boolean {
  return isJsonObject(environment) && String(environment["type"]).startsWith("container");
}

/** Whether the model may do without the tools of the provider. */
function areHostedToolsOptional({ tools, tool_choice: choice }: JsonObject): boolean {
  if (choice == null || choice === "auto" || choice === "none") return true;
  if (choice === "required") return listOf(tools).some((tool) => extraForTool(tool, RESPONSE_TOOLS) === "tokens");
  return isJsonObject(choice) && (choice["type"] === "function" || choice["type"] === "custom");
}

const READERS = { chat: CHAT, messages: MESSAGES, responses: RESPONSES } as const;

/** Everything a request asks for that is billed apart; mostly nothing. */
export function extrasOf(
  dialect: keyof typeof READERS,
  request: JsonObject,
): { readonly extras?: readonly BillableExtra[] } {
  const extras = READERS[dialect](request);
  return extras.length === 0 ? NOTHING : { extras };
}
const NOTHING = {};

export type ExtraUses = Readonly<Partial<Record<BillableExtraName, number>>>;

/** What `usage` of the messages dialect says of tools that the provider ran; what was seen of them, where that cannot be. */
export function extraUsesInMessage(usage: unknown, seen: ExtraUses): ExtraUses | undefined {
  const told = isJsonObject(usage) ? usage["server_tool_use"] : undefined;
  if (!isJsonObject(told)) return undefined;
  return {
    ...usesEntry("web_search", told["web_search_requests"], seen),
    ...usesEntry("web_fetch", told["web_fetch_requests"], seen),
    ...usesEntry("code_execution", told["code_execution_requests"], seen),
  };
}

/** Prompts that the figures of a message are the sums of. Those of an adviser are another model's, at other prices. */
export const PROMPT_ITERATION_TYPES: ReadonlySet<unknown> = new Set(["message", "fallback_message"]);

/** So many prompts are believed of one answer. */
export const PROMPTS_MAX = 50;

/**
 * How many prompts the figures of a message are of: after tools that the provider ran it asks its model again, and tells
 * the sum. Where it does not tell them apart, each use stands for one, told or seen as a block.
 */
export function promptCountInMessage(usage: unknown, runs: number): number {
  const told = isJsonObject(usage) ? listOf(usage["iterations"]) : [];
  const prompts = told.filter((one) => isJsonObject(one) && PROMPT_ITERATION_TYPES.has(one["type"])).length;
  if (prompts > 0) return Math.min(prompts, PROMPTS_MAX);
  const uses = Object.values(extraUsesInMessage(usage, NO_USES) ?? {}).reduce((sum, count) => sum + count, 0);
  return Math.min(1 + Math.max(uses, runs), PROMPTS_MAX);
}

/** Whether a block of a message is of a tool that the provider ran, its own or an MCP server's. */
export function isServerToolRun(block: unknown): boolean {
  return isJsonObject(block) && (block["type"] === "server_tool_use" || block["type"] === "mcp_tool_use");
}

const NO_USES: ExtraUses = {};
/** No model uses a tool more often for one answer. */
const USES_MAX = 1_000;

function usesEntry(name: BillableExtraName, count: unknown, seen: ExtraUses): ExtraUses {
  if (typeof count !== "number" || !Number.isInteger(count) || count <= 0) return {};
  const believed = count <= USES_MAX ? count : seen[name];
  return believed === undefined ? {} : { [name]: believed };
}

const SERVER_TOOLS: Readonly<Record<string, BillableExtraName>> = {
  web_search: "web_search",
  web_fetch: "web_fetch",
  code_execution: "code_execution",
  bash_code_execution: "code_execution",
  text_editor_code_execution: "code_execution",
};

/** The tool of the provider's that a block of a message is a use of. */
export function extraUsedInBlock(block: unknown): BillableExtraName | undefined {
  if (!isJsonObject(block) || block["type"] !== "server_tool_use") return undefined;
  const name = String(block["name"]);
  return Object.hasOwn(SERVER_TOOLS, name) ? SERVER_TOOLS[name] : undefined;
}

/** The uses of the provider's tools that the blocks of a whole message show. */
export function extraUsesInBlocks(blocks: readonly unknown[]): ExtraUses {
  const seen: Partial<Record<BillableExtraName, number>> = {};
  for (const block of blocks) {
    const used = extraUsedInBlock(block);
    if (used !== undefined) seen[used] = (seen[used] ?? 0) + 1;
  }
  return seen;
}

/** The larger count of each: what was told may be older than what was seen. */
export function maxExtraUses(told: ExtraUses | undefined, seen: ExtraUses): ExtraUses | undefined {
  const names = EXTRAS.filter((name) => told?.[name] !== undefined || seen[name] !== undefined);
  if (names.length === 0) return told;
  return Object.fromEntries(names.map((name) => [name, Math.max(told?.[name] ?? 0, seen[name] ?? 0)]));
}

const ITEM_EXTRAS: Readonly<Record<string, BillableExtraName>> = {
  web_search_call: "web_search",
  file_search_call: "file_search",
  code_interpreter_call: "code_execution",
  image_generation_call: "image_generation",
};

/** How many prompts the figures of a response are of: the model reads on after whatever the provider ran for it. */
export function promptCountInResponse(output: unknown): number {
  const runs = listOf(output).filter((item) => isJsonObject(item) && isProviderRun(String(item["type"])));
  return Math.min(1 + runs.length, PROMPTS_MAX);
}

function isProviderRun(type: string): boolean {
  return Object.hasOwn(ITEM_EXTRAS, type) || type === "mcp_call";
}

/** To open a page that a search has found, or to look for words in it, is no search of its own. */
function isPageRead({ action }: JsonObject): boolean {
  return isJsonObject(action) && (action["type"] === "open_page" || action["type"] === "find_in_page");
}

/** What the items of a response say of tools that the provider ran. A container that is used again is one use. */
export function extraUsesInResponse(output: unknown): ExtraUses | undefined {
  const uses: Partial<Record<BillableExtraName, number>> = {};
  const containers = new Set<unknown>();
  for (const item of listOf(output)) {
    if (!isJsonObject(item)) continue;
    const type = String(item["type"]);
    const name = Object.hasOwn(ITEM_EXTRAS, type) ? ITEM_EXTRAS[type] : undefined;
    if (name === undefined || isPageRead(item)) continue;
    const container = item["container_id"];
    if (container != null && containers.has(container)) continue;
    containers.add(container);
    uses[name] = (uses[name] ?? 0) + 1;
  }
  return Object.keys(uses).length === 0 ? undefined : uses;
}
