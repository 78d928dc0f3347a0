import type { JsonObject } from "../../../../kit/json.ts";
import type { SignatureVisibility } from "../reasoning-signatures.ts";
import {
  customInput,
  encodeItem,
  encodeOpenedItem,
  encodePart,
  encodeSummary,
  type GrowingText,
  type ItemStatus,
  type MessageItem,
  type MessagePart,
  type OutputItem,
  type ReasoningItem,
  type ToolCallItem,
} from "./output-items.ts";

/** What was already sent of the open item. */
type SentProgress = {
  opened: boolean;
  /** Completed parts. */
  parts: number;
  partOpened: boolean;
  annotations: number;
};

const NOTHING_SENT: SentProgress = { opened: false, parts: 0, partOpened: false, annotations: 0 };

/** Encodes the events of one item after the other with consecutive sequence numbers. */
export class ItemEventEncoder {
  readonly #visibility: SignatureVisibility;
  #sequence = 0;
  #said: SentProgress = { ...NOTHING_SENT };

  constructor(visibility: SignatureVisibility) {
    this.#visibility = visibility;
  }

  encode(type: string, fields: JsonObject): string {
    const event = { type, sequence_number: this.#sequence, ...fields };
    this.#sequence += 1;
    return `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`;
  }

  /** Events for the content added since the last call. */
  grow(draft: OutputItem, index: number): string {
    let text = "";
    if (!this.#said.opened) {
      this.#said.opened = true;
      text += this.encode("response.output_item.added", { output_index: index, item: encodeOpenedItem(draft) });
    }
    switch (draft.is) {
      case "message":
        return text + this.#growMessage(draft, index);
      case "reasoning":
        return text + this.#growReasoning(draft, index);
      case "function_call":
        return text + this.#delta("response.function_call_arguments", draft, itemLocation(draft, index), {});
      case "custom_tool_call":
        // Free text inside JSON can be decoded only when complete.
        return text;
    }
  }

  close(draft: OutputItem, index: number, status: ItemStatus): string {
    const text = this.#closeContent(draft, index);
    this.#said = { ...NOTHING_SENT };
    const item = encodeItem(draft, status, this.#visibility);
    return text + this.encode("response.output_item.done", { output_index: index, item });
  }

  #closeContent(draft: OutputItem, index: number): string {
    switch (draft.is) {
      case "message":
        return this.#closePieces(draft, index, draft.parts.length);
      case "reasoning":
        return this.#closeReasoning(draft, index);
      case "function_call":
        return this.#closeArguments(draft, index);
      case "custom_tool_call":
        return this.#closeInput(draft, index);
    }
  }

  #delta(kind: string, growing: GrowingText, where: JsonObject, more: JsonObject): string {
    const { unsent: delta } = growing;
    if (delta === "") return "";
    growing.unsent = "";
    return this.encode(`${kind}.delta`, { ...where, delta, ...more });
  }

  #growMessage(draft: MessageItem, index: number): string {
    const open = draft.parts.length - 1;
    let text = open > this.#said.parts ? this.#closePieces(draft, index, open) : "";
    const piece = draft.parts[open];
    if (piece !== undefined) text += this.#growPiece(piece, { ...itemLocation(draft, index), content_index: open });
    return text;
  }

  #growPiece(piece: MessagePart, where: JsonObject): string {
    let text = "";
    if (!this.#said.partOpened) {
      this.#said.partOpened = true;
      const part = encodePart(piece.is === "text" ? { ...piece, text: "", annotations: [] } : { ...piece, text: "" });
      text += this.encode("response.content_part.added", { ...where, part });
    }
    if (piece.is === "refusal") return text + this.#delta("response.refusal", piece, where, {});
    text += this.#delta("response.output_text", piece, where, { logprobs: [] });
    for (; this.#said.annotations < piece.annotations.length; this.#said.annotations += 1) {
      const annotation = piece.annotations[this.#said.annotations];
      const annotation_index = this.#said.annotations;
      text += this.encode("response.output_text.annotation.added", { ...where, annotation_index, annotation });
    }
    return text;
  }

  /** Closes the parts before `until`. */
  #closePieces(draft: MessageItem, index: number, until: number): string {
    let text = "";
    for (; this.#said.parts < until; this.#said.parts += 1) {
      const content_index = this.#said.parts;
      const piece = draft.parts[content_index];
      if (piece === undefined) break;
      const where = { ...itemLocation(draft, index), content_index };
      text += this.#growPiece(piece, where);
      text +=
        piece.is === "text"
          ? this.encode("response.output_text.done", { ...where, text: piece.text, logprobs: [] })
          : this.encode("response.refusal.done", { ...where, refusal: piece.text });
      text += this.encode("response.content_part.done", { ...where, part: encodePart(piece) });
      this.#said.partOpened = false;
      this.#said.annotations = 0;
    }
    return text;
  }

  #growReasoning(draft: ReasoningItem, index: number): string {
    if (draft.text === "") return "";
    const where = { ...itemLocation(draft, index), summary_index: 0 };
    let text = "";
    if (!this.#said.partOpened) {
      this.#said.partOpened = true;
      text += this.encode("response.reasoning_summary_part.added", { ...where, part: encodeSummary("") });
    }
    return text + this.#delta("response.reasoning_summary_text", draft, where, {});
  }

  #closeReasoning(draft: ReasoningItem, index: number): string {
    if (draft.text === "") return "";
    const where = { ...itemLocation(draft, index), summary_index: 0 };
    return (
      this.encode("response.reasoning_summary_text.done", { ...where, text: draft.text }) +
      this.encode("response.reasoning_summary_part.done", { ...where, part: encodeSummary(draft.text) })
    );
  }

  #closeArguments(draft: ToolCallItem, index: number): string {
    const where = itemLocation(draft, index);
    const { name, text } = draft;
    // Clients parse the arguments, so a call without any gets an empty object.
    const none = { text: "{}", unsent: "{}" };
    const told = text === "" ? this.#delta("response.function_call_arguments", none, where, {}) : "";
    const whole = text === "" ? none.text : text;
    return told + this.encode("response.function_call_arguments.done", { ...where, name, arguments: whole });
  }

  #closeInput(draft: ToolCallItem, index: number): string {
    const input = customInput(draft);
    return (
      this.#delta("response.custom_tool_call_input", { text: input, unsent: input }, itemLocation(draft, index), {}) +
      this.encode("response.custom_tool_call_input.done", { ...itemLocation(draft, index), input })
    );
  }
}

function itemLocation({ id }: OutputItem, index: number): JsonObject {
  return { item_id: id, output_index: index };
}
