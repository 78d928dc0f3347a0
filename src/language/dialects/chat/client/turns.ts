import type { ChatMessage } from "../../../../contract/schemas/chat.ts";
import {
  type CacheBreakpoint,
  type ConversationTurn,
  imageDetail,
  type MediaSource,
  type Part,
} from "../../../canon/parts.ts";
import { decodeDetail } from "../reasoning-details.ts";

export type ChatCacheControl = { readonly ttl?: "5m" | "1h" | null | undefined } | null | undefined;

export function decodeCacheControl(control: ChatCacheControl): { cache?: CacheBreakpoint } {
  return control ? { cache: { ttl: control.ttl ?? null } } : {};
}

/** A mark on the message is one on its last part, unless that has its own. */
export function withMessageMark(turn: ConversationTurn, control: ChatCacheControl): ConversationTurn {
  const last = turn.parts.findLastIndex(({ is }) => is !== "reasoning");
  const parts = turn.parts.map((part, at) => (at === last ? { ...decodeCacheControl(control), ...part } : part));
  return { ...turn, parts };
}

/** Reasoning precedes the content it led to; signed blocks replace the plain text they contain. */
export function decodeAssistantParts(message: Extract<ChatMessage, { role: "assistant" }>): Part[] {
  const parts: Part[] = [];
  const details = (message.reasoning_details ?? []).flatMap((wire) => decodeDetail(wire) ?? []);
  for (const detail of details) parts.push({ is: "reasoning", detail });
  if (details.length === 0 && message.reasoning_content) {
    parts.push({ is: "reasoning", detail: { is: "readable", text: message.reasoning_content, signature: null } });
  }
  if (typeof message.content === "string") parts.push({ is: "text", text: message.content });
  else {
    for (const part of message.content ?? []) {
      if (part.type === "text") parts.push({ is: "text", text: part.text, ...decodeCacheControl(part.cache_control) });
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

type ChatUserPart = Exclude<Extract<ChatMessage, { role: "user" }>["content"], string>[number];

export function decodeUserPart(part: ChatUserPart): Part {
  switch (part.type) {
    case "text":
      return { is: "text", text: part.text, ...decodeCacheControl(part.cache_control) };
    case "image_url":
      return {
        is: "image",
        source: mediaSource(part.image_url.url),
        ...imageDetail(part.image_url.detail),
        ...decodeCacheControl(part.cache_control),
      };
    case "input_audio":
      return {
        is: "audio",
        source: { is: "inline", mediaType: `audio/${part.input_audio.format}`, base64: part.input_audio.data },
      };
    case "file": {
      const { file_data, file_id, filename } = part.file;
      const source: MediaSource = file_id ? { is: "uploaded", id: file_id } : mediaSource(file_data ?? "");
      return { is: "file", source, filename: filename ?? null, ...decodeCacheControl(part.cache_control) };
    }
  }
}

/** Media type parameters, such as a charset, are ignored. */
const DATA_URL = /^data:([^;,]+)(?:;[^;,]*)*;base64,/i;

function mediaSource(url: string): MediaSource {
  const match = DATA_URL.exec(url.slice(0, 256));
  if (match === null) return { is: "url", url };
  return { is: "inline", mediaType: match[1] ?? "", base64: url.slice(match[0].length) };
}
