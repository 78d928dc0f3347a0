import { fault } from "../../../../contract/faults.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import type { Call } from "../../../canon/call.ts";
import type {
  ConversationTurn,
  ImagePart,
  MediaSource,
  Part,
  ReasoningDetail,
  ToolResultPart,
} from "../../../canon/parts.ts";
import { ToolIds } from "../../chat/upstream/tool-ids.ts";
import { dataUrl, encodeFile } from "../../media.ts";
import { resultText } from "../../tool-encoding.ts";
import type { ModelFacts } from "../../upstream-dialect.ts";
import { dataForProvider } from "../reasoning-signatures.ts";

type EncodedConversation = { readonly instructions?: string; readonly input: readonly JsonObject[] };

/** A leading system turn becomes `instructions`. */
export function encodeTurns({ turns, responseFormat }: Call, facts: ModelFacts): EncodedConversation {
  const first = turns[0];
  // JSON mode requires the word JSON in the input, so the instructions stay there.
  const isApart = first?.role === "system" && responseFormat.is !== "json_object";
  const instructions = isApart ? instructionParts(first, "messages.0") : [];
  const input = itemsOf(turns, isApart ? 1 : 0, facts);
  // Instructions alone become the input.
  if (instructions.length > 0 && input.length === 0) return { input: itemsOf(turns, 0, facts) };
  if (instructions.length > 0) return { instructions: instructions.map(({ text }) => text).join("\n\n"), input };
  if (input.length === 0)
    throw fault("invalid_value", {
      message: "messages must have at least one turn with content.",
      param: "messages",
    });
  return { input };
}

function itemsOf(turns: readonly ConversationTurn[], from: number, facts: ModelFacts): readonly JsonObject[] {
  const list = new ItemList(facts);
  for (let at = from; at < turns.length; at += 1) {
    const turn = turns[at];
    if (turn !== undefined) list.add(turn, `messages.${at}`);
  }
  return list.items;
}

class ItemList {
  readonly items: JsonObject[] = [];
  readonly #ids: ToolIds;
  readonly #provider: string | null;

  constructor({ quirks, reasoningEncryptedBy }: ModelFacts) {
    this.#ids = new ToolIds(quirks);
    this.#provider = reasoningEncryptedBy ?? null;
  }

  add(turn: ConversationTurn, param: string): void {
    const { role, parts } = turn;
    switch (role) {
      case "system":
      case "developer":
        this.#addMessage(role, instructionParts(turn, param));
        return;
      case "assistant":
        this.#addAssistant(parts, param);
        return;
      case "user":
      case "tool":
        // Tool results precede other content of the turn.
        for (const part of parts) if (part.is === "tool_result") this.#addResult(part);
        this.#addMessage(
          "user",
          parts.flatMap((part, at) => userPart(part, `${param}.content.${at}`)),
        );
        return;
    }
  }

  #addMessage(role: Exclude<ConversationTurn["role"], "tool">, content: readonly JsonObject[]): void {
    if (content.length > 0) this.items.push({ type: "message", role, content });
  }

  /** One assistant turn becomes several items: messages, calls and reasoning. */
  #addAssistant(parts: readonly Part[], param: string): void {
    let texts: JsonObject[] = [];
    const flushTexts = () => {
      this.#addMessage("assistant", texts);
      texts = [];
    };
    for (const [at, part] of parts.entries()) {
      if (part.is === "text" || part.is === "refusal") {
        texts.push(...assistantParts(part));
        continue;
      }
      flushTexts();
      if (part.is === "reasoning") this.#addReasoning(part.detail);
      else if (part.is === "tool_result") this.#addResult(part);
      else if (part.is === "tool_call") {
        const text = part.argumentsText.trim() === "" ? "{}" : part.argumentsText;
        this.items.push({
          type: "function_call",
          call_id: this.#ids.encode(part.id),
          name: part.name,
          arguments: text,
        });
      } else throw textOnlyError(`${param}.content.${at}`);
    }
    flushTexts();
    // The API rejects reasoning that no item follows.
    while (this.items.at(-1)?.["type"] === "reasoning") this.items.pop();
  }

  /** Only this provider's own encrypted reasoning is valid. */
  #addReasoning(detail: ReasoningDetail): void {
    const encrypted = dataForProvider(this.#provider, detail.signature);
    if (encrypted === undefined) return;
    const text = detail.is === "readable" ? detail.text : "";
    const summary = text === "" ? [] : [{ type: "summary_text", text }];
    this.items.push({ type: "reasoning", summary, encrypted_content: encrypted });
  }

  #addResult({ callId, content, failed }: ToolResultPart): void {
    const isText = content.every(({ is }) => is === "text");
    const text = resultText(content);
    const encoded = failed ? failureText(text) : text;
    const images = content.flatMap((part) => (part.is === "image" ? [imagePart(part)] : []));
    const output = isText ? encoded : [...(encoded === "" ? [] : [{ type: "input_text", text: encoded }]), ...images];
    this.items.push({ type: "function_call_output", call_id: this.#ids.encode(callId), output });
  }
}

/** The dialect has no failure flag, so the text states it. */
function failureText(text: string): string {
  return text === "" ? "The tool failed." : `The tool failed: ${text}`;
}

function instructionParts(
  { parts }: ConversationTurn,
  param: string,
): { readonly type: "input_text"; readonly text: string }[] {
  return parts.flatMap((part, at) => {
    if (part.is !== "text" && part.is !== "refusal") throw textOnlyError(`${param}.content.${at}`);
    return part.text === "" ? [] : [{ type: "input_text" as const, text: part.text }];
  });
}

function assistantParts(part: Extract<Part, { is: "text" } | { is: "refusal" }>): JsonObject[] {
  if (part.text === "") return [];
  if (part.is === "refusal") return [{ type: "refusal", refusal: part.text }];
  return [{ type: "output_text", text: part.text, annotations: [] }];
}

function userPart(part: Part, param: string): JsonObject[] {
  switch (part.is) {
    case "text":
    case "refusal":
      return part.text === "" ? [] : [{ type: "input_text", text: part.text }];
    case "image":
      return [imagePart(part)];
    case "file":
      return [filePart(part.source, part.filename, param)];
    case "audio":
    case "reasoning":
    case "tool_call":
    case "tool_result":
      // Audio is rejected earlier; results are encoded separately; the other two never occur in user turns.
      return [];
  }
}

function textOnlyError(param: string) {
  return fault("invalid_value", {
    message: `${param}: the provider's API supports text only in this turn. Send it in a user turn.`,
    param,
  });
}

export const IMAGE_DETAILS: ReadonlySet<string> = new Set(["low", "high", "original"]);

function imagePart({ source, detail: requested = "auto" }: ImagePart): JsonObject {
  const detail = IMAGE_DETAILS.has(requested) ? requested : "auto";
  switch (source.is) {
    case "url":
      return { type: "input_image", image_url: source.url, detail };
    case "uploaded":
      return { type: "input_image", file_id: source.id, detail };
    case "inline":
      return { type: "input_image", image_url: dataUrl(source), detail };
  }
}

function filePart(source: MediaSource, filename: string | null, param: string): JsonObject {
  if (source.is === "uploaded") return { type: "input_file", file_id: source.id };
  if (source.is === "url") return { type: "input_file", file_url: source.url };
  const { is, ...encoded } = encodeFile(source, filename, param);
  return { type: `input_${is}`, ...encoded };
}
