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
  #sent: SentProgress = { ...NOTHING_SENT };

  constructor(visibility: SignatureVisibility) {
    this.#visibility = visibility;
  }

  encode(type: string, fields: JsonObject): string {
    const event = { type, sequence_number: this.#sequence, ...fields };
    this.#sequence += 1;
    return `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`;
  }

  /** Events for the content added since the last call. */
  grow(item_: OutputItem, index: number): string {
    let text = "";
    if (!this.#sent.opened) {
      this.#sent.opened = true;
      text += this.encode("response.output_item.added", { output_index: index, item: encodeOpenedItem(item_) });
    }
    switch (item_.is) {
      case "message":
        return text + this.#growMessage(item_, index);
      case "reasoning":
        return text + this.#growReasoning(item_, index);
      case "function_call":
        return text + this.#delta("response.function_call_arguments", item_, itemLocation(item_, index), {});
      case "custom_tool_call":
        // Free text inside JSON can be decoded only when complete.
        return text;
    }
  }

  close(item_: OutputItem, index: number, status: ItemStatus): string {
    const text = this.#closeContent(item_, index);
    this.#sent = { ...NOTHING_SENT };
    const item = encodeItem(item_, status, this.#visibility);
    return text + this.encode("response.output_item.done", { output_index: index, item });
  }

  #closeContent(item_: OutputItem, index: number): string {
    switch (item_.is) {
      case "message":
        return this.#closePieces(item_, index, item_.parts.length);
      case "reasoning":
        return this.#closeReasoning(item_, index);
      case "function_call":
        return this.#closeArguments(item_, index);
      case "custom_tool_call":
        return this.#closeInput(item_, index);
    }
  }

  #delta(kind: string, growing: GrowingText, where: JsonObject, more: JsonObject): string {
    const { unsent: delta } = growing;
    if (delta === "") return "";
    growing.unsent = "";
    return this.encode(`${kind}.delta`, { ...where, delta, ...more });
  }

  #growMessage(item_: MessageItem, index: number): string {
    const open = item_.parts.length - 1;
    let text = open > this.#sent.parts ? this.#closePieces(item_, index, open) : "";
    const part_ = item_.parts[open];
    if (part_ !== undefined) text += this.#growPiece(part_, { ...itemLocation(item_, index), content_index: open });
    return text;
  }

  #growPiece(part_: MessagePart, where: JsonObject): string {
    let text = "";
    if (!this.#sent.partOpened) {
      this.#sent.partOpened = true;
      const part = encodePart(part_.is === "text" ? { ...part_, text: "", annotations: [] } : { ...part_, text: "" });
      text += this.encode("response.content_part.added", { ...where, part });
    }
    if (part_.is === "refusal") return text + this.#delta("response.refusal", part_, where, {});
    text += this.#delta("response.output_text", part_, where, { logprobs: [] });
    for (; this.#sent.annotations < part_.annotations.length; this.#sent.annotations += 1) {
      const annotation = part_.annotations[this.#sent.annotations];
      const annotation_index = this.#sent.annotations;
      text += this.encode("response.output_text.annotation.added", { ...where, annotation_index, annotation });
    }
    return text;
  }

  /** Closes the parts before `until`. */
  #closePieces(item_: MessageItem, index: number, until: number): string {
    let text = "";
    for (; this.#sent.parts < until; this.#sent.parts += 1) {
      const content_index = this.#sent.parts;
      const part_ = item_.parts[content_index];
      if (part_ === undefined) break;
      const where = { ...itemLocation(item_, index), content_index };
      text += this.#growPiece(part_, where);
      text +=
        part_.is === "text"
          ? this.encode("response.output_text.done", { ...where, text: part_.text, logprobs: [] })
          : this.encode("response.refusal.done", { ...where, refusal: part_.text });
      text += this.encode("response.content_part.done", { ...where, part: encodePart(part_) });
      this.#sent.partOpened = false;
      this.#sent.annotations = 0;
    }
    return text;
  }

  #growReasoning(item_: ReasoningItem, index: number): string {
    if (item_.text === "") return "";
    const where = { ...itemLocation(item_, index), summary_index: 0 };
    let text = "";
    if (!this.#sent.partOpened) {
      this.#sent.partOpened = true;
      text += this.encode("response.reasoning_summary_part.added", { ...where, part: encodeSummary("") });
    }
    return text + this.#delta("response.reasoning_summary_text", item_, where, {});
  }

  #closeReasoning(item_: ReasoningItem, index: number): string {
    if (item_.text === "") return "";
    const where = { ...itemLocation(item_, index), summary_index: 0 };
    return (
      this.encode("response.reasoning_summary_text.done", { ...where, text: item_.text }) +
      this.encode("response.reasoning_summary_part.done", { ...where, part: encodeSummary(item_.text) })
    );
  }

  #closeArguments(item_: ToolCallItem, index: number): string {
    const where = itemLocation(item_, index);
    const { name, text } = item_;
    // Clients parse the arguments, so a call without any gets an empty object.
    const none = { text: "{}", unsent: "{}" };
    const delta_ = text === "" ? this.#delta("response.function_call_arguments", none, where, {}) : "";
    const whole = text === "" ? none.text : text;
    return delta_ + this.encode("response.function_call_arguments.done", { ...where, name, arguments: whole });
  }

  #closeInput(item_: ToolCallItem, index: number): string {
    const input = customInput(item_);
    return (
      this.#delta("response.custom_tool_call_input", { text: input, unsent: input }, itemLocation(item_, index), {}) +
      this.encode("response.custom_tool_call_input.done", { ...itemLocation(item_, index), input })
    );
  }
}

function itemLocation({ id }: OutputItem, index: number): JsonObject {
  return { item_id: id, output_index: index };
}
