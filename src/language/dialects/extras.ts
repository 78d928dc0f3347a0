import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { type BillableExtra, type BillableExtraName, EXTRAS, NO_EXTRAS } from "../canon/extras.ts";
import { listOf, offeredTools } from "./offered-tools.ts";

/**
 * All knowledge about separately billed features: how a request asks for them and how a reply reports their use.
 * Everything else costs only tokens.
 */
type ExtrasReader = (request: JsonObject) => readonly BillableExtra[];

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

const CHAT: ExtrasReader = (request) => tierOf(request, "translated");

type ToolRow = { readonly type: RegExp; readonly is: BillableExtraName | "tokens" };

/** Server tools of the messages dialect by type. Tools that the caller runs cost only tokens. */
const MESSAGE_TOOLS: readonly ToolRow[] = [
  { type: /^(custom|(bash|text_editor|computer|memory|tool_search_tool_\w+?)_\d+|mcp_toolset)$/, is: "tokens" },
  { type: /^web_search_\d+$/, is: "web_search" },
  { type: /^web_fetch_\d+$/, is: "web_fetch" },
  { type: /^code_execution_\d+$/, is: "code_execution" },
  { type: /^advisor_\d+$/, is: "other_models" },
];

/** Server tools of the responses dialect. A shell costs only tokens unless it uses a provider container. */
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
  // Tools can also be added mid-conversation.
  for (const [at, message] of listOf(messages).entries())
    for (const [blockIndex, block] of listOf(isJsonObject(message) ? message["content"] : undefined).entries())
      if (isJsonObject(block) && block["type"] === "tool_addition")
        found.push(
          ...extrasInMessageTool(inlineDefinition(block["tool"]), `messages.${at}.content.${blockIndex}.tool`),
        );
  return found;
};

function extrasInMessageTool(tool: unknown, path: string): BillableExtra[] {
  const name = extraForTool(tool, MESSAGE_TOOLS);
  if (name === "tokens") return [];
  const uses = isJsonObject(tool) ? tool["max_uses"] : undefined;
  const usesMax = typeof uses === "number" && Number.isInteger(uses) && uses > 0 ? { usesMax: uses } : {};
  return [{ name, field: `${path}.type`, forwarding: "native", ...usesMax }];
}

/** A referenced tool is defined in the request's `tools`. */
function inlineDefinition(tool: unknown): unknown {
  if (!isJsonObject(tool) || tool["type"] === "tool_reference") return undefined;
  return tool["definition"] ?? tool;
}

/** Agents offer these with every request, so they are dropped if the endpoint lacks them. */
const DROPPABLE_TOOLS: ReadonlySet<BillableExtraName> = new Set(["web_search", "image_generation"]);

const RESPONSES: ExtrasReader = (request) => {
  const found: BillableExtra[] = [...tierOf(request, "translated")];
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

/** Whether tool_choice can be met without server tools. */
function areHostedToolsOptional({ tools, tool_choice: choice }: JsonObject): boolean {
  if (choice == null || choice === "auto" || choice === "none") return true;
  if (choice === "required") return listOf(tools).some((tool) => extraForTool(tool, RESPONSE_TOOLS) === "tokens");
  return isJsonObject(choice) && (choice["type"] === "function" || choice["type"] === "custom");
}

/** Tools of the Gemini dialect that the provider runs, by the member that offers them; "tokens": they cost only tokens. */
const GEMINI_TOOLS: Readonly<Record<string, BillableExtraName | "tokens">> = {
  functionDeclarations: "tokens",
  urlContext: "tokens",
  computerUse: "tokens",
  googleSearch: "web_search",
  googleSearchRetrieval: "web_search",
  enterpriseWebSearch: "web_search",
  fileSearch: "file_search",
  codeExecution: "code_execution",
};

const GEMINI: ExtrasReader = ({ serviceTier, tools }) => {
  const tier = serviceTier === "unspecified" ? undefined : serviceTier;
  const found: BillableExtra[] = tierOf({ service_tier: tier }, "native").map((extra) => ({
    ...extra,
    field: "serviceTier",
  }));
  for (const [at, tool] of listOf(tools).entries())
    for (const [member, value] of Object.entries(isJsonObject(tool) ? tool : {})) {
      const name = Object.hasOwn(GEMINI_TOOLS, member) ? GEMINI_TOOLS[member] : "hosted_tool";
      if (value != null && name !== undefined && name !== "tokens")
        found.push({ name, field: `tools.${at}.${member}`, forwarding: "native" });
    }
  return found;
};

const READERS = { chat: CHAT, messages: MESSAGES, responses: RESPONSES, gemini: GEMINI } as const;

/** Absent for most requests. */
export function extrasOf(
  dialect: keyof typeof READERS,
  request: JsonObject,
): { readonly extras?: readonly BillableExtra[] } {
  const extras = READERS[dialect](request);
  return extras.length === 0 ? NOTHING : { extras };
}
const NOTHING = {};

export type ExtraUses = Readonly<Partial<Record<BillableExtraName, number>>>;

/** Server tool uses reported in `usage`; implausible counts are replaced by the uses seen in the blocks. */
export function extraUsesInMessage(usage: unknown, seen: ExtraUses): ExtraUses | undefined {
  const reported = isJsonObject(usage) ? usage["server_tool_use"] : undefined;
  if (!isJsonObject(reported)) return undefined;
  return {
    ...usesEntry("web_search", reported["web_search_requests"], seen),
    ...usesEntry("web_fetch", reported["web_fetch_requests"], seen),
    ...usesEntry("code_execution", reported["code_execution_requests"], seen),
  };
}

/** Iterations whose sum is the message's usage. Adviser iterations belong to another model and price. */
export const PROMPT_ITERATION_TYPES: ReadonlySet<unknown> = new Set(["message", "fallback_message"]);

/** Upper bound of plausible prompts per reply. */
export const PROMPTS_MAX = 50;

/**
 * Number of prompts that a message's usage covers: after a server tool run the provider prompts its model again.
 * Without separate reports each run counts as one prompt.
 */
export function promptCountInMessage(usage: unknown, runs: number): number {
  const reported = isJsonObject(usage) ? listOf(usage["iterations"]) : [];
  const prompts = reported.filter((one) => isJsonObject(one) && PROMPT_ITERATION_TYPES.has(one["type"])).length;
  if (prompts > 0) return Math.min(prompts, PROMPTS_MAX);
  const uses = Object.values(extraUsesInMessage(usage, NO_USES) ?? {}).reduce((sum, count) => sum + count, 0);
  return Math.min(1 + Math.max(uses, runs), PROMPTS_MAX);
}

/** Server tools and MCP tools. */
export function isServerToolRun(block: unknown): boolean {
  return isJsonObject(block) && (block["type"] === "server_tool_use" || block["type"] === "mcp_tool_use");
}

const NO_USES: ExtraUses = {};
/** Upper bound of plausible uses per reply. */
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

export function extraUsedInBlock(block: unknown): BillableExtraName | undefined {
  if (!isJsonObject(block) || block["type"] !== "server_tool_use") return undefined;
  const name = String(block["name"]);
  return Object.hasOwn(SERVER_TOOLS, name) ? SERVER_TOOLS[name] : undefined;
}

export function extraUsesInBlocks(blocks: readonly unknown[]): ExtraUses {
  const seen: Partial<Record<BillableExtraName, number>> = {};
  for (const block of blocks) {
    const used = extraUsedInBlock(block);
    if (used !== undefined) seen[used] = (seen[used] ?? 0) + 1;
  }
  return seen;
}

/** The larger count of each extra, since reported counts may lag. */
export function maxExtraUses(reported: ExtraUses | undefined, seen: ExtraUses): ExtraUses | undefined {
  const names = EXTRAS.filter((name) => reported?.[name] !== undefined || seen[name] !== undefined);
  if (names.length === 0) return reported;
  return Object.fromEntries(names.map((name) => [name, Math.max(reported?.[name] ?? 0, seen[name] ?? 0)]));
}

/** Searches of a reply of the Gemini dialect, which lists the queries of all candidates. */
export function extraUsesInCandidates(candidates: unknown): ExtraUses | undefined {
  let searches = 0;
  for (const candidate of listOf(candidates)) {
    const metadata = isJsonObject(candidate) ? candidate["groundingMetadata"] : undefined;
    searches += isJsonObject(metadata) ? listOf(metadata["webSearchQueries"]).length : 0;
  }
  return searches === 0 ? undefined : { web_search: Math.min(searches, USES_MAX) };
}

const ITEM_EXTRAS: Readonly<Record<string, BillableExtraName>> = {
  web_search_call: "web_search",
  file_search_call: "file_search",
  code_interpreter_call: "code_execution",
  image_generation_call: "image_generation",
};

/** The model is prompted again after each tool run. */
export function promptCountInResponse(output: unknown): number {
  const runs = listOf(output).filter((item) => isJsonObject(item) && isProviderRun(String(item["type"])));
  return Math.min(1 + runs.length, PROMPTS_MAX);
}

function isProviderRun(type: string): boolean {
  return Object.hasOwn(ITEM_EXTRAS, type) || type === "mcp_call";
}

/** Opening or searching a found page is not a billed search. */
function isPageRead({ action }: JsonObject): boolean {
  return isJsonObject(action) && (action["type"] === "open_page" || action["type"] === "find_in_page");
}

/** Counts server tool items; reuse of one container counts once. */
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
