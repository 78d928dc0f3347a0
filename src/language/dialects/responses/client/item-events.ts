import type { JsonObject } from "../../../../kit/json.ts";
import { stringifyWithSpans } from "../../../../kit/json-span.ts";
import type { SignatureVisibility } from "../reasoning-signatures.ts";
import {
  customInput,
  encodeItem,
  encodeOpenedItem,
  encodePart,
  encodeSummary,
  encodeText,
  type GrowingText,
  type ItemStatus,
  type LateAnnotation,
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
    return `event: ${type}\ndata: ${stringifyWithSpans(event)}\n\n`;
  }

  /** Events for the content added since the last call. */
  grow(outputItem: OutputItem, index: number): string {
    let text = "";
    if (!this.#sent.opened) {
      this.#sent.opened = true;
      text += this.encode("response.output_item.added", { output_index: index, item: encodeOpenedItem(outputItem) });
    }
    switch (outputItem.is) {
      case "message":
        return text + this.#growMessage(outputItem, index);
      case "reasoning":
        return text + this.#growReasoning(outputItem, index);
      case "function_call":
        return text + this.#delta("response.function_call_arguments", outputItem, itemLocation(outputItem, index), {});
      case "custom_tool_call":
        // Free text inside JSON can be decoded only when complete.
        return text;
    }
  }

  close(outputItem: OutputItem, index: number, status: ItemStatus): string {
    const text = this.#closeContent(outputItem, index);
    this.#sent = { ...NOTHING_SENT };
    const item = encodeItem(outputItem, status, this.#visibility);
    return text + this.encode("response.output_item.done", { output_index: index, item });
  }

  #closeContent(outputItem: OutputItem, index: number): string {
    switch (outputItem.is) {
      case "message":
        return this.#closeParts(outputItem, index, outputItem.parts.length);
      case "reasoning":
        return this.#closeReasoning(outputItem, index);
      case "function_call":
        return this.#closeArguments(outputItem, index);
      case "custom_tool_call":
        return this.#closeInput(outputItem, index);
    }
  }

  #delta(kind: string, growing: GrowingText, location: JsonObject, more: JsonObject): string {
    const { unsent } = growing;
    if (unsent === "") return "";
    growing.unsent = "";
    // A text that came at once is its own delta.
    const delta = unsent.length === growing.text.length ? encodeText(growing) : unsent;
    return this.encode(`${kind}.delta`, { ...location, delta, ...more });
  }

  #growMessage(outputItem: MessageItem, index: number): string {
    const open = outputItem.parts.length - 1;
    let text = open > this.#sent.parts ? this.#closeParts(outputItem, index, open) : "";
    const messagePart = outputItem.parts[open];
    if (messagePart !== undefined)
      text += this.#growPart(messagePart, { ...itemLocation(outputItem, index), content_index: open });
    return text;
  }

  #growPart(messagePart: MessagePart, location: JsonObject): string {
    let text = "";
    if (!this.#sent.partOpened) {
      this.#sent.partOpened = true;
      const part = encodePart(
        messagePart.is === "text" ? { ...messagePart, text: "", annotations: [] } : { ...messagePart, text: "" },
      );
      text += this.encode("response.content_part.added", { ...location, part });
    }
    if (messagePart.is === "refusal") return text + this.#delta("response.refusal", messagePart, location, {});
    text += this.#delta("response.output_text", messagePart, location, { logprobs: [] });
    for (; this.#sent.annotations < messagePart.annotations.length; this.#sent.annotations += 1) {
      const annotation = messagePart.annotations[this.#sent.annotations];
      const annotation_index = this.#sent.annotations;
      text += this.encode("response.output_text.annotation.added", { ...location, annotation_index, annotation });
    }
    return text;
  }

  /** An annotation of a part that is closed already: the final response has it, too. */
  late({ itemIndex, contentIndex, annotationIndex, annotation }: LateAnnotation, list: readonly OutputItem[]): string {
    const item = list[itemIndex];
    if (item === undefined) return "";
    const location = { ...itemLocation(item, itemIndex), content_index: contentIndex };
    return this.encode("response.output_text.annotation.added", {
      ...location,
      annotation_index: annotationIndex,
      annotation,
    });
  }

  /** Closes the parts before `until`. */
  #closeParts(outputItem: MessageItem, index: number, until: number): string {
    let text = "";
    for (; this.#sent.parts < until; this.#sent.parts += 1) {
      const content_index = this.#sent.parts;
      const messagePart = outputItem.parts[content_index];
      if (messagePart === undefined) break;
      const location = { ...itemLocation(outputItem, index), content_index };
      text += this.#growPart(messagePart, location);
      text +=
        messagePart.is === "text"
          ? this.encode("response.output_text.done", { ...location, text: encodeText(messagePart), logprobs: [] })
          : this.encode("response.refusal.done", { ...location, refusal: encodeText(messagePart) });
      text += this.encode("response.content_part.done", { ...location, part: encodePart(messagePart) });
      this.#sent.partOpened = false;
      this.#sent.annotations = 0;
    }
    return text;
  }

  #growReasoning(outputItem: ReasoningItem, index: number): string {
    if (outputItem.text === "") return "";
    const location = { ...itemLocation(outputItem, index), summary_index: 0 };
    let text = "";
    if (!this.#sent.partOpened) {
      this.#sent.partOpened = true;
      text += this.encode("response.reasoning_summary_part.added", {
        ...location,
        part: encodeSummary({ text: "", unsent: "" }),
      });
    }
    return text + this.#delta("response.reasoning_summary_text", outputItem, location, {});
  }

  #closeReasoning(outputItem: ReasoningItem, index: number): string {
    if (outputItem.text === "") return "";
    const location = { ...itemLocation(outputItem, index), summary_index: 0 };
    return (
      this.encode("response.reasoning_summary_text.done", { ...location, text: encodeText(outputItem) }) +
      this.encode("response.reasoning_summary_part.done", { ...location, part: encodeSummary(outputItem) })
    );
  }

  #closeArguments(outputItem: ToolCallItem, index: number): string {
    const location = itemLocation(outputItem, index);
    const { name, text } = outputItem;
    // Clients parse the arguments, so a call without any gets an empty object.
    const emptyArguments = { text: "{}", unsent: "{}" };
    const argumentsDelta =
      text === "" ? this.#delta("response.function_call_arguments", emptyArguments, location, {}) : "";
    const argumentsText = text === "" ? emptyArguments.text : encodeText(outputItem);
    return (
      argumentsDelta +
      this.encode("response.function_call_arguments.done", { ...location, name, arguments: argumentsText })
    );
  }

  #closeInput(outputItem: ToolCallItem, index: number): string {
    const input = customInput(outputItem);
    return (
      this.#delta(
        "response.custom_tool_call_input",
        { text: input, unsent: input },
        itemLocation(outputItem, index),
        {},
      ) + this.encode("response.custom_tool_call_input.done", { ...itemLocation(outputItem, index), input })
    );
  }
}

function itemLocation({ id }: OutputItem, index: number): JsonObject {
  return { item_id: id, output_index: index };
}
