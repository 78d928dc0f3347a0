import type { ChatMessage, ChatRequest } from "../../../contract/schemas/chat.ts";
import type { MemberPatch } from "../../../kit/json.ts";
import type { Call, ReasoningWish } from "../../canon/call.ts";
import type { MediaSource, Part, Turn } from "../../canon/parts.ts";
import { ALIASES, CALL_FIELDS, FIELDS } from "./fields.ts";

/** The canonical call behind a chat-completions request. */
export function decodeCall(request: ChatRequest): Call {
  return {
    model: request.model,
    turns: request.messages.map(decodeTurn),
    tools: (request.tools ?? []).map((tool) => ({ name: tool.function.name })),
    responseFormat: request.response_format?.type ?? "text",
    reasoning: decodeReasoning(request),
    maxOutputTokens: request.max_completion_tokens ?? request.max_tokens ?? undefined,
    stream: request.stream === true,
    includeUsage: request.stream_options?.include_usage === true,
    parameters: parametersOf(request),
  };
}

function parametersOf(request: ChatRequest): string[] {
  const rows: string[] = [];
  for (const [field, value] of Object.entries(request)) {
    if (value === null || value === undefined || CALL_FIELDS.has(field)) continue;
    const row = ALIASES[field] ?? field;
    if (!rows.includes(row)) rows.push(row);
  }
  return rows;
}

const EFFORT_BUDGETS = [
  { upToTokens: 2048, effort: "low" },
  { upToTokens: 8192, effort: "medium" },
  { upToTokens: Number.POSITIVE_INFINITY, effort: "high" },
] as const;

function effortOfBudget(tokens: number): string {
  return EFFORT_BUDGETS.find((step) => tokens <= step.upToTokens)?.effort ?? "high";
}

/** The aliases say the same thing in other words; the plain field wins where several are sent. */
function decodeReasoning(request: ChatRequest): ReasoningWish | undefined {
  if (request.reasoning_effort) return { effort: request.reasoning_effort };
  const { reasoning, thinking } = request;
  if (reasoning) {
    if (reasoning.enabled === false) return { effort: "none" };
    if (reasoning.effort) return { effort: reasoning.effort };
    return { effort: reasoning.max_tokens ? effortOfBudget(reasoning.max_tokens) : "medium" };
  }
  if (!thinking) return undefined;
  if (thinking.type === "disabled") return { effort: "none" };
  return { effort: thinking.budget_tokens ? effortOfBudget(thinking.budget_tokens) : "medium" };
}

function decodeTurn(message: ChatMessage): Turn {
  switch (message.role) {
    case "system":
    case "developer":
      return { role: message.role, parts: textParts(message.content) };
    case "user":
      return {
        role: "user",
        parts: typeof message.content === "string" ? textParts(message.content) : message.content.map(decodeUserPart),
      };
    case "tool":
      return {
        role: "tool",
        parts: [{ is: "tool_result", callId: message.tool_call_id, text: joinedText(message.content) }],
      };
    case "assistant":
      return { role: "assistant", parts: decodeAssistantParts(message) };
  }
}

type TextContent = string | readonly { readonly text: string }[];

function textParts(content: TextContent): Part[] {
  return typeof content === "string"
    ? [{ is: "text", text: content }]
    : content.map(({ text }) => ({ is: "text", text }));
}

function joinedText(content: TextContent): string {
  return typeof content === "string" ? content : content.map(({ text }) => text).join("");
}

function decodeAssistantParts(message: Extract<ChatMessage, { role: "assistant" }>): Part[] {
  const parts: Part[] = [];
  if (message.reasoning_content) parts.push({ is: "reasoning", text: message.reasoning_content });
  if (typeof message.content === "string") parts.push({ is: "text", text: message.content });
  else {
    for (const part of message.content ?? []) {
      parts.push(part.type === "text" ? { is: "text", text: part.text } : { is: "refusal", text: part.refusal });
    }
  }
  if (message.refusal) parts.push({ is: "refusal", text: message.refusal });
  for (const call of message.tool_calls ?? []) {
    parts.push({ is: "tool_call", id: call.id, name: call.function.name, argumentsText: call.function.arguments });
  }
  return parts;
}

type UserPart = Exclude<Extract<ChatMessage, { role: "user" }>["content"], string>[number];

function decodeUserPart(part: UserPart): Part {
  switch (part.type) {
    case "text":
      return { is: "text", text: part.text };
    case "image_url":
      return { is: "image", source: mediaSource(part.image_url.url) };
    case "input_audio":
      return {
        is: "audio",
        source: { is: "inline", mediaType: `audio/${part.input_audio.format}`, base64: part.input_audio.data },
      };
    case "file": {
      const { file_data, file_id, filename } = part.file;
      const source: MediaSource = file_id ? { is: "uploaded", id: file_id } : mediaSource(file_data ?? "");
      return { is: "file", source, filename: filename ?? null };
    }
  }
}

const DATA_URL = /^data:([^;,]+);base64,/;

function mediaSource(url: string): MediaSource {
  const match = DATA_URL.exec(url.slice(0, 256));
  if (match === null) return { is: "url", url };
  return { is: "inline", mediaType: match[1] ?? "", base64: url.slice(match[0].length) };
}

/** The named patches of the direct lane: everything else goes to the provider as the client wrote it. */
export function directPatches(request: ChatRequest, call: Call, upstreamModel: string): MemberPatch[] {
  const patches: MemberPatch[] = [{ key: "model", json: JSON.stringify(upstreamModel) }];
  for (const field of Object.keys(request)) if (FIELDS[field] === "svc") patches.push({ key: field, json: null });
  if (call.stream) {
    const options = { ...request.stream_options, include_usage: true };
    patches.push({ key: "stream_options", json: JSON.stringify(options) });
  } else if (request.stream_options !== undefined) patches.push({ key: "stream_options", json: null });
  if (call.reasoning !== undefined && request.reasoning_effort !== call.reasoning.effort) {
    patches.push({ key: "reasoning_effort", json: JSON.stringify(call.reasoning.effort) });
  }
  if (request.reasoning !== undefined) patches.push({ key: "reasoning", json: null });
  if (request.thinking !== undefined) patches.push({ key: "thinking", json: null });
  if (request.allowed_tools) patches.push(...allowedToolsPatches(request, request.allowed_tools));
  return patches;
}

/** The dialect's own form of a list of allowed tools is a kind of tool choice. */
function allowedToolsPatches(request: ChatRequest, names: readonly string[]): MemberPatch[] {
  const choice = {
    type: "allowed_tools",
    allowed_tools: {
      mode: request.tool_choice === "required" ? "required" : "auto",
      tools: names.map((name) => ({ type: "function", function: { name } })),
    },
  };
  return [
    { key: "tool_choice", json: JSON.stringify(choice) },
    { key: "allowed_tools", json: null },
  ];
}
