import type { Call } from "./call.ts";
import type { Part } from "./parts.ts";

/** What a call asks of an endpoint beyond plain text. */
export const NEEDS = [
  "tools",
  "forced_tools",
  "json_schema",
  "json_with_tools",
  "reasoning_off",
  "thinking_with_tools",
  "image_input",
  "audio_input",
  "pdf_input",
  "remote_url",
  "uploaded_file",
] as const;
export type Need = (typeof NEEDS)[number];

/** A need and the field of the request that has it, so that a refusal can name it. */
export type NeedSource = { readonly need: Need; readonly param: string };

export function needsOf(call: Call): NeedSource[] {
  const needs: NeedSource[] = [];
  const format = call.parameterNames?.response_format ?? "response_format";
  if (call.tools.length > 0) needs.push({ need: "tools", param: "tools" });
  if (call.toolChoice?.is === "required" || call.toolChoice?.is === "named")
    needs.push({ need: "forced_tools", param: "tool_choice" });
  if (call.tools.length > 0 && call.responseFormat.is !== "text" && call.toolChoice?.is !== "none")
    needs.push({ need: "json_with_tools", param: format });
  if (call.reasoning !== undefined && call.reasoning.dispensable !== true) {
    const param = call.parameterNames?.reasoning_effort ?? "reasoning_effort";
    if (call.reasoning.effort === "none") needs.push({ need: "reasoning_off", param });
    else if (call.tools.length > 0) needs.push({ need: "thinking_with_tools", param });
  }
  if (call.responseFormat.is === "json_schema") needs.push({ need: "json_schema", param: format });
  for (let turn = 0; turn < call.turns.length; turn += 1) {
    const { parts = [], partPaths } = call.turns[turn] ?? {};
    for (let at = 0; at < parts.length; at += 1) {
      const own = `messages.${turn}.content.${at}`;
      const inside = parts[at]?.is === "tool_result" ? `${own}.content` : own;
      addMediaNeeds(needs, parts[at], partPaths?.[at] ?? inside);
    }
  }
  return needs;
}

/** Pictures inside the result of a tool are pictures, too. */
function addMediaNeeds(needs: NeedSource[], part: Part | undefined, param: string): void {
  if (part?.is === "tool_result") {
    for (const [index, inner] of part.content.entries()) addMediaNeeds(needs, inner, `${param}.${index}`);
    return;
  }
  const need = part === undefined ? undefined : MEDIA_NEEDS[part.is];
  if (part === undefined || need === undefined) return;
  needs.push({ need, param });
  if ("source" in part && part.source.is === "url") needs.push({ need: "remote_url", param });
  if ("source" in part && part.source.is === "uploaded") needs.push({ need: "uploaded_file", param });
}

/** Whether the call may name things that a provider keeps: files, or whatever fields of its own dialect stand for. */
export function namesKept(call: Call): boolean {
  return (call.native?.length ?? 0) > 0 || needsOf(call).some(({ need }) => need === "uploaded_file");
}

const MEDIA_NEEDS: Partial<Record<Part["is"], Need>> = {
  image: "image_input",
  audio: "audio_input",
  file: "pdf_input",
};

/** Whether the call asks to keep anything in a cache for an hour, which costs more than the usual five minutes. */
export function keepsAnHour({ tools, turns }: Call): boolean {
  if (tools.some(({ cache }) => cache?.ttl === "1h")) return true;
  return turns.some(({ parts }) => parts.some((part) => "cache" in part && part.cache?.ttl === "1h"));
}

const CHARS_PER_TOKEN = 4;
export const TOKENS_PER_TURN = 4;
/** What a provider may count for one picture or one document page; only used for estimates. */
export const TOKENS_PER_MEDIA = 1600;

/** Tokens of a text by its length: ASCII at four characters a token, anything else at one and a half. */
export function estimateTextTokens(text: string): number {
  let wide = 0;
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) > 127) wide += 1;
  return Math.ceil((text.length - wide) / CHARS_PER_TOKEN + wide / 1.5);
}

/** The input of a call, estimated: for holds, for expected cost, and for billing where a provider reports nothing. */
export function estimateInputTokens(call: Call, toolsJsonLength: number): number {
  let tokens = Math.ceil(toolsJsonLength / CHARS_PER_TOKEN);
  for (const turn of call.turns) {
    tokens += TOKENS_PER_TURN;
    for (const part of turn.parts) tokens += estimatePartTokens(part);
  }
  return tokens;
}

function estimatePartTokens(part: Part): number {
  switch (part.is) {
    case "text":
    case "refusal":
      return estimateTextTokens(part.text);
    case "reasoning":
      return part.detail.is === "open" ? estimateTextTokens(part.detail.text) : 0;
    case "tool_result":
      return part.content.reduce((sum, inner) => sum + estimatePartTokens(inner), 0);
    case "tool_call":
      return estimateTextTokens(part.argumentsText) + estimateTextTokens(part.name);
    case "image":
    case "audio":
    case "file":
      return TOKENS_PER_MEDIA;
  }
}
