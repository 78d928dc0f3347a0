import { fault } from "../../../../contract/faults.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import type { ConversationTurn, Part, ToolCallPart, ToolResultPart } from "../../../canon/parts.ts";
import type { Quirk } from "../../../canon/quirks.ts";
import { resultText } from "../../tool-encoding.ts";
import { mediaPart } from "./media.ts";
import { prefillOf, STRICT_TURNS } from "./prefill.ts";
import { ToolIds } from "./tool-ids.ts";

/** Quirk: the server requires the reasoning of earlier assistant messages. */
export const REASONING_IN_HISTORY = "reasoning-in-history";
/** Quirk: the model requires the signatures of its tool calls. */
export const SIGNED_TOOL_CALLS = "signed-tool-calls";
/** Quirk: the server accepts system messages anywhere; others want one, at the start. */
export const ALL_ROLES = "all-roles";
/** Inserted where a server requires an assistant message between tool results and the user. */
const ACKNOWLEDGEMENT = { role: "assistant", content: "Ok." };

export function encodeTurns(turns: readonly ConversationTurn[], quirks: readonly Quirk[]): readonly JsonObject[] {
  const list = new MessageList(quirks);
  for (const [index, turn] of turns.entries()) list.add(turn, `messages.${index}`);
  const messages = list.finish();
  return quirks.includes(STRICT_TURNS)
    ? withStrictOrder(messages, prefillOf(turns) === undefined ? "user" : "prefill")
    : messages;
}

function withStrictOrder(messages: readonly JsonObject[], ending: "user" | "prefill"): readonly JsonObject[] {
  return messages.flatMap((message, at) => {
    if (ending === "prefill" && at === messages.length - 1) return [{ ...message, prefix: true }];
    return message["role"] === "user" && messages[at - 1]?.["role"] === "tool" ? [ACKNOWLEDGEMENT, message] : [message];
  });
}

class MessageList {
  readonly #quirks: readonly Quirk[];
  readonly #ids: ToolIds;
  readonly #messages: JsonObject[] = [];
  /**
   * Prepended to the next user message: images of tool results, which are text only in this dialect, and later
   * instructions.
   */
  #pending: JsonObject[] = [];
  /** Tool results must directly follow their calls. */
  #resultsAt: number | undefined;

  constructor(quirks: readonly Quirk[]) {
    this.#quirks = quirks;
    this.#ids = new ToolIds(quirks);
  }

  add({ role, parts }: ConversationTurn, param: string): void {
    switch (role) {
      case "system":
      case "developer":
        this.#addInstructions(parts, param);
        return;
      case "assistant":
        this.#addAssistant(parts, param);
        this.#addResults(parts, param);
        return;
      case "user":
      case "tool":
        // Tool results precede other content of the turn.
        this.#addResults(parts, param);
        this.#addUserMessage(role, parts, param);
        return;
    }
  }

  finish(): readonly JsonObject[] {
    this.#flushPending();
    if (this.#messages.length === 0)
      throw fault("invalid_value", {
        message: "messages must have at least one turn with content.",
        param: "messages",
      });
    return this.#messages;
  }

  #addInstructions(parts: readonly Part[], param: string): void {
    const content = joined(textsOf(parts, param), "\n\n");
    if (content === "") return;
    const [first] = this.#messages;
    // Not every server knows the developer role.
    if (first === undefined) this.#messages.push({ role: "system", content });
    else if (first["role"] === "system" && this.#messages.length === 1)
      this.#messages[0] = { role: "system", content: `${first["content"]}\n\n${content}` };
    else if (this.#quirks.includes(ALL_ROLES)) {
      this.#flushPending();
      this.#messages.push({ role: "system", content });
    } else this.#pending.push({ type: "text", text: content });
  }

  #addAssistant(parts: readonly Part[], param: string): void {
    this.#flushPending();
    const calls = parts.flatMap((part) => (part.is === "tool_call" ? [this.#call(part)] : []));
    // Other dialects split one text into several blocks.
    const text = textsOf(parts, param).join("");
    if (text === "" && calls.length === 0) return;
    this.#messages.push({
      role: "assistant",
      content: text === "" && calls.length > 0 ? null : text,
      ...(this.#quirks.includes(REASONING_IN_HISTORY) ? { reasoning_content: readableReasoning(parts) } : {}),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    });
    this.#resultsAt = this.#messages.length;
  }

  #call({ id, name, argumentsText, signature }: ToolCallPart): JsonObject {
    const isWanted = signature?.family === "google" && this.#quirks.includes(SIGNED_TOOL_CALLS);
    return {
      id: this.#ids.encode(id),
      type: "function",
      function: { name, arguments: argumentsText.trim() === "" ? "{}" : argumentsText },
      ...(isWanted ? { extra_content: { google: { thought_signature: signature.data } } } : {}),
    };
  }

  #addResults(parts: readonly Part[], param: string): void {
    for (const [at, part] of parts.entries())
      if (part.is === "tool_result") this.#addResult(part, `${param}.content.${at}`);
  }

  #addResult({ callId, content, failed }: ToolResultPart, param: string): void {
    const id = this.#ids.encode(callId);
    const images = content.flatMap((part, at) =>
      part.is === "image" ? [mediaPart(part, `${param}.content.${at}`)] : [],
    );
    const message = {
      role: "tool",
      tool_call_id: id,
      content: resultMessageText({ text: resultText(content), hasImages: images.length > 0, failed }),
    };
    this.#resultsAt ??= this.#messages.length;
    this.#messages.splice(this.#resultsAt, 0, message);
    this.#resultsAt += 1;
    if (images.length > 0) this.#pending.push({ type: "text", text: `From the result of tool call ${id}:` }, ...images);
  }

  /** A turn that contains only tool results adds no user message. */
  #addUserMessage(role: "user" | "tool", parts: readonly Part[], param: string): void {
    const hasResults = parts.some(({ is }) => is === "tool_result");
    const own = parts.flatMap((part, at) => userPart(part, `${param}.content.${at}`));
    if (own.length === 0 && (hasResults || role === "tool")) return;
    const content = [...this.#pending, ...own];
    this.#pending = [];
    this.#messages.push({ role: "user", content: contentOf(content) });
  }

  #flushPending(): void {
    if (this.#pending.length > 0) this.#messages.push({ role: "user", content: contentOf(this.#pending) });
    this.#pending = [];
  }
}

/** The dialect has no failure flag, so the text states it. */
type ToolResultText = { readonly text: string; readonly hasImages: boolean; readonly failed: boolean };

function resultMessageText({ text, hasImages, failed }: ToolResultText): string {
  const content = text === "" && hasImages ? "(The result is an image, in the next message.)" : text;
  if (!failed) return content;
  return content === "" ? "The tool failed." : `The tool failed: ${content}`;
}

function userPart(part: Part, param: string): JsonObject[] {
  switch (part.is) {
    case "text":
    case "refusal":
      return part.text === "" ? [] : [{ type: "text", text: part.text }];
    case "image":
    case "audio":
    case "file":
      return [mediaPart(part, param)];
    case "reasoning":
    case "tool_call":
    case "tool_result":
      // Tool results are encoded separately; the other two never occur in user turns.
      return [];
  }
}

/** Text only becomes a string, because not every server accepts a list. */
function contentOf(parts: readonly JsonObject[]): string | readonly JsonObject[] {
  const texts = parts.flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : []));
  return texts.length === parts.length ? joined(texts, "\n\n") : parts;
}

function textsOf(parts: readonly Part[], param: string): string[] {
  return parts.flatMap((part, at) => {
    if (part.is === "text" || part.is === "refusal") return [part.text];
    if (part.is === "image" || part.is === "audio" || part.is === "file") {
      const path = `${param}.content.${at}`;
      throw fault("invalid_value", {
        message: `${path}: the provider's API supports text only in this turn. Send it in a user turn.`,
        param: path,
      });
    }
    return [];
  });
}

const joined = (list: readonly string[], between: string) => list.filter((text) => text !== "").join(between);

/** Signed blocks are valid only for the provider that created them. */
function readableReasoning(parts: readonly Part[]): string {
  return parts
    .map((part) => (part.is === "reasoning" && part.detail.is === "readable" ? part.detail.text : ""))
    .join("");
}
