import { fault } from "../../../../contract/faults.ts";
import type { ChatMessage, ChatRequest, ChatTool } from "../../../../contract/schemas/chat.ts";
import type { MemberPatch } from "../../../../kit/json.ts";
import type { Call, Effort, ResponseFormat, ToolDefinition } from "../../../canon/call.ts";
import { effortFor } from "../../../canon/effort.ts";
import { isParameter, type Parameter } from "../../../canon/parameters.ts";
import {
  type CacheBreakpoint,
  type ConversationTurn,
  imageDetail,
  type MediaSource,
  type Part,
} from "../../../canon/parts.ts";
import type { Quirk } from "../../../canon/quirks.ts";
import { decodeRoutingHints, ROUTING_HINT_FIELDS } from "../../../canon/routing-hints.ts";
import { extrasOf } from "../../extras.ts";
import { validateLabels } from "../../labels.ts";
import { ALIASES, CALL_FIELDS } from "../fields.ts";
import { decodeDetail } from "../reasoning-details.ts";
import { decodeReasoning } from "./reasoning.ts";
import { allowedTools, decodeToolChoice, encodeToolChoice } from "./tool-choice.ts";

/** The canonical call behind a chat-completions request. */
export function decodeCall(request: ChatRequest): Call {
  const { max_tokens, max_completion_tokens } = request;
  if (max_tokens && max_completion_tokens && max_tokens !== max_completion_tokens) {
    throw fault("invalid_value", {
      message: `Fields "max_tokens" and "max_completion_tokens": they mean the same and differ (${max_tokens} and ${max_completion_tokens}). Send one of them.`,
      param: "max_tokens",
    });
  }
  const routingHints = decodeRoutingHints(request);
  return {
    model: request.model,
    turns: request.messages.map(decodeTurn),
    tools: (request.tools ?? []).map(decodeTool),
    toolChoice: decodeToolChoice(request),
    responseFormat: decodeFormat(request),
    reasoning: decodeReasoning(request),
    maxOutputTokens: max_completion_tokens ?? max_tokens ?? undefined,
    temperature: request.temperature ?? undefined,
    topP: request.top_p ?? undefined,
    topK: request.top_k ?? undefined,
    stop: typeof request.stop === "string" ? [request.stop] : (request.stop ?? []),
    stream: request.stream === true,
    includeUsage: request.stream_options?.include_usage === true,
    parameters: parametersOf(request),
    defaultValued: defaultValuedIn(request),
    ...sentNames(request),
    ...passedParameters(request),
    ...extrasOf("chat", request),
    ...(routingHints === undefined ? {} : { routingHints }),
  };
}

function decodeTool({ function: { name, description, parameters, strict }, cache_control }: ChatTool): ToolDefinition {
  return {
    name,
    description: description ?? null,
    schema: parameters ?? null,
    strict: strict ?? null,
    ...cacheMark(cache_control),
  };
}

function decodeFormat({ response_format }: ChatRequest): ResponseFormat {
  if (response_format?.type !== "json_schema") return { is: response_format?.type ?? "text" };
  const { name, description, schema, strict } = response_format.json_schema;
  return { is: "json_schema", name, description: description ?? null, schema: schema ?? {}, strict: strict ?? null };
}

type CacheControl = { readonly ttl?: "5m" | "1h" | null | undefined } | null | undefined;

function cacheMark(control: CacheControl): { cache?: CacheBreakpoint } {
  return control ? { cache: { ttl: control.ttl ?? null } } : {};
}

function parametersOf(request: ChatRequest): Parameter[] {
  const rows: Parameter[] = [];
  const add = (row: Parameter) => {
    if (!rows.includes(row)) rows.push(row);
  };
  const fields: Readonly<Record<string, unknown>> = request;
  for (const field in fields) {
    const value = fields[field];
    if (value === null || value === undefined || CALL_FIELDS.has(field)) continue;
    const row = ALIASES.get(field) ?? field;
    if (isParameter(row)) add(row);
  }
  // The wire's own form of a list of allowed tools is the same wish.
  const choice = request.tool_choice;
  if (choice && typeof choice === "object" && choice.type === "allowed_tools") add("allowed_tools");
  return rows;
}

/** In the order in which they are heard. */
const EFFORT_ALIASES = ["reasoning", "thinking"] as const;

/** The names that rows were sent by, where those are not their own. */
function sentNames(request: ChatRequest): Pick<Call, "parameterNames"> {
  const limit = request.max_tokens == null && request.max_completion_tokens != null;
  const effort = request.reasoning_effort ? undefined : EFFORT_ALIASES.find((name) => request[name] != null);
  if (!limit && effort === undefined) return NOTHING;
  return {
    parameterNames: {
      ...(limit ? { max_tokens: "max_completion_tokens" } : {}),
      ...(effort === undefined ? {} : { reasoning_effort: effort }),
    },
  };
}

/** Rows that no canonical field holds, and that another dialect has a place for all the same. */
const PASSED_PARAMETERS = [
  "parallel_tool_calls",
  "verbosity",
  "prompt_cache_key",
  "safety_identifier",
  "service_tier",
  "user",
] as const satisfies readonly Parameter[];

function passedParameters(request: ChatRequest): Pick<Call, "openAiParameters"> {
  const allowed = allowedTools(request);
  if (allowed === undefined && !PASSED_PARAMETERS.some((row) => request[row] != null)) return NOTHING;
  const openAiParameters: Partial<Record<Parameter, unknown>> = allowed === undefined ? {} : { allowed_tools: allowed };
  for (const row of PASSED_PARAMETERS) if (request[row] != null) openAiParameters[row] = request[row];
  return { openAiParameters };
}
const NOTHING = {};

const DEFAULT_ONE = ["temperature", "top_p"] as const;

function defaultValuedIn(request: ChatRequest): readonly Parameter[] | undefined {
  if (request.temperature !== 1 && request.top_p !== 1) return undefined;
  return DEFAULT_ONE.filter((field) => request[field] === 1);
}

function decodeTurn(message: ChatMessage): ConversationTurn {
  switch (message.role) {
    case "system":
    case "developer":
      return { role: message.role, parts: textParts(message.content) };
    case "user":
      return {
        role: "user",
        parts: typeof message.content === "string" ? textParts(message.content) : message.content.map(decodeUserPart),
      };
    case "tool": {
      const content = textParts(message.content);
      return {
        role: "tool",
        parts: [
          {
            is: "tool_result",
            callId: message.tool_call_id,
            content,
            failed: false,
            ...cacheMark(message.cache_control),
          },
        ],
      };
    }
    case "assistant":
      return { role: "assistant", parts: decodeAssistantParts(message) };
  }
}

type TextContent = string | readonly { readonly text: string; readonly cache_control?: CacheControl }[];
type TextPart = Extract<Part, { is: "text" }>;

function textParts(content: TextContent): TextPart[] {
  if (typeof content === "string") return [{ is: "text", text: content }];
  return content.map(({ text, cache_control }) => ({ is: "text", text, ...cacheMark(cache_control) }));
}

/** Reasoning comes before what it led to; sealed blocks win over the plain text they contain. */
function decodeAssistantParts(message: Extract<ChatMessage, { role: "assistant" }>): Part[] {
  const parts: Part[] = [];
  const details = (message.reasoning_details ?? []).flatMap((wire) => decodeDetail(wire) ?? []);
  for (const detail of details) parts.push({ is: "reasoning", detail });
  if (details.length === 0 && message.reasoning_content) {
    parts.push({ is: "reasoning", detail: { is: "open", text: message.reasoning_content, seal: null } });
  }
  if (typeof message.content === "string") parts.push({ is: "text", text: message.content });
  else {
    for (const part of message.content ?? []) {
      if (part.type === "text") parts.push({ is: "text", text: part.text, ...cacheMark(part.cache_control) });
      else parts.push({ is: "refusal", text: part.refusal });
    }
  }
  if (message.refusal) parts.push({ is: "refusal", text: message.refusal });
  for (const { id, function: called, extra_content } of message.tool_calls ?? []) {
    const signature = extra_content?.google?.thought_signature;
    parts.push({
      is: "tool_call",
      id,
      name: called.name,
      argumentsText: called.arguments,
      ...(signature ? { signature: { family: "google", data: signature } } : {}),
    });
  }
  return parts;
}

type UserPart = Exclude<Extract<ChatMessage, { role: "user" }>["content"], string>[number];

function decodeUserPart(part: UserPart): Part {
  switch (part.type) {
    case "text":
      return { is: "text", text: part.text, ...cacheMark(part.cache_control) };
    case "image_url":
      return {
        is: "image",
        source: mediaSource(part.image_url.url),
        ...imageDetail(part.image_url.detail),
        ...cacheMark(part.cache_control),
      };
    case "input_audio":
      return {
        is: "audio",
        source: { is: "inline", mediaType: `audio/${part.input_audio.format}`, base64: part.input_audio.data },
      };
    case "file": {
      const { file_data, file_id, filename } = part.file;
      const source: MediaSource = file_id ? { is: "uploaded", id: file_id } : mediaSource(file_data ?? "");
      return { is: "file", source, filename: filename ?? null, ...cacheMark(part.cache_control) };
    }
  }
}

/** Parameters of the media type, such as a character set or a name, say nothing here. */
const DATA_URL = /^data:([^;,]+)(?:;[^;,]*)*;base64,/i;

function mediaSource(url: string): MediaSource {
  const match = DATA_URL.exec(url.slice(0, 256));
  if (match === null) return { is: "url", url };
  return { is: "inline", mediaType: match[1] ?? "", base64: url.slice(match[0].length) };
}

/** Its streams tell what was used by themselves, and to ask for it is refused. */
export const USAGE_UNASKED = "usage-unasked";

/** The named patches of the direct lane: everything else goes to the provider as the client wrote it. */
export function requestPatches(request: ChatRequest, call: Call, facts: DirectChatFacts): MemberPatch[] {
  const { upstreamModel, outputLimit, quirks } = facts;
  validateLabels(call);
  const patches: MemberPatch[] = [{ key: "model", json: JSON.stringify(upstreamModel) }];
  for (const field of ROUTING_HINT_FIELDS) if (field in request) patches.push({ key: field, json: null });
  if (call.stream && !quirks.includes(USAGE_UNASKED)) {
    const options = { ...request.stream_options, include_usage: true };
    patches.push({ key: "stream_options", json: JSON.stringify(options) });
  } else if (request.stream_options !== undefined) patches.push({ key: "stream_options", json: null });
  const effort = effortFor(call, facts);
  if (effort !== undefined && request.reasoning_effort !== effort) {
    patches.push({ key: "reasoning_effort", json: JSON.stringify(effort) });
  }
  if (request.reasoning !== undefined) patches.push({ key: "reasoning", json: null });
  if (request.thinking !== undefined) patches.push({ key: "thinking", json: null });
  if (request.allowed_tools) {
    patches.push({ key: "allowed_tools", json: null });
    // Without tools it limits nothing, and servers refuse to be told of it.
    if (call.tools.length > 0) {
      const { tool_choice } = encodeToolChoice(call.toolChoice, request.allowed_tools);
      patches.push({ key: "tool_choice", json: JSON.stringify(tool_choice) });
    }
  }
  if (outputLimit !== null && call.maxOutputTokens !== undefined) patches.push(...limitPatches(request, outputLimit));
  dropNulls(patches, request);
  return patches;
}

/** The two names of one limit: servers that know only one of them refuse or overlook the other. */
export const OUTPUT_LIMITS = ["max_tokens", "max_completion_tokens"] as const;
export type OutputLimit = (typeof OUTPUT_LIMITS)[number];

/** What the catalogue says of the server behind the direct lane. */
export type DirectChatFacts = {
  readonly upstreamModel: string;
  /** Null: the client's own name is left as it is. */
  readonly outputLimit: OutputLimit | null;
  /** The words for how hard to think that it takes; absent or null: nobody knows. */
  readonly efforts?: readonly Effort[] | null;
  readonly quirks: readonly Quirk[];
};

function limitPatches(request: ChatRequest, wanted: OutputLimit): MemberPatch[] {
  const other = wanted === "max_tokens" ? "max_completion_tokens" : "max_tokens";
  if (!request[other]) return [];
  return [
    { key: wanted, json: String(request[other]) },
    { key: other, json: null },
  ];
}

/** A null is the same as absent, and some servers refuse it: it stays with us, unless its place is taken already. */
function dropNulls(patches: MemberPatch[], request: ChatRequest): void {
  const fields: Readonly<Record<string, unknown>> = request;
  for (const key in fields) {
    if (fields[key] === null && !patches.some((patch) => patch.key === key)) patches.push({ key, json: null });
  }
}
