import type { JsonObject } from "../../../../kit/json.ts";
import type { Seals } from "../reasoning-signatures.ts";
import {
  type CallDraft,
  type Draft,
  type Growing,
  type ItemStatus,
  inputOf,
  itemOf,
  type MessageDraft,
  openedItem,
  type Piece,
  partOf,
  type ReasoningDraft,
  summaryOf,
} from "./output-items.ts";

/** What was said so far of the item that is open. */
type Said = {
  opened: boolean;
  /** Parts of a message that are over. */
  pieces: number;
  /** Whether the part that is open was announced. */
  partOpened: boolean;
  annotations: number;
};

const NOTHING_SAID: Said = { opened: false, pieces: 0, partOpened: false, annotations: 0 };

/** The events of one item after the other, numbered without gaps. */
export class ItemEvents {
  readonly #seals: Seals;
  #sequence = 0;
  #said: Said = { ...NOTHING_SAID };

  constructor(seals: Seals) {
    this.#seals = seals;
  }

  encode(type: string, fields: JsonObject): string {
    const event = { type, sequence_number: this.#sequence, ...fields };
    this.#sequence += 1;
    return `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`;
  }

  /** What is new in the item that is open. */
  grow(draft: Draft, index: number): string {
    let text = "";
    if (!this.#said.opened) {
      this.#said.opened = true;
      text += this.encode("response.output_item.added", { output_index: index, item: openedItem(draft) });
    }
    switch (draft.is) {
      case "message":
        return text + this.#growMessage(draft, index);
      case "reasoning":
        return text + this.#growReasoning(draft, index);
      case "function_call":
        return text + this.#delta("response.function_call_arguments", draft, at(draft, index), {});
      case "custom_tool_call":
        // Free text inside of JSON: it can be told once it is whole.
        return text;
    }
  }

  close(draft: Draft, index: number, status: ItemStatus): string {
    const text = this.#closeContent(draft, index);
    this.#said = { ...NOTHING_SAID };
    const item = itemOf(draft, status, this.#seals);
    return text + this.encode("response.output_item.done", { output_index: index, item });
  }

  #closeContent(draft: Draft, index: number): string {
    switch (draft.is) {
      case "message":
        return this.#closePieces(draft, index, draft.parts.length);
      case "reasoning":
        return this.#closeReasoning(draft, index);
      case "function_call":
        return this.#closeArguments(draft, index);
      case "custom_tool_call":
        return this.#tellInput(draft, index);
    }
  }

  #delta(kind: string, growing: Growing, where: JsonObject, more: JsonObject): string {
    const { unsent: delta } = growing;
    if (delta === "") return "";
    growing.unsent = "";
    return this.encode(`${kind}.delta`, { ...where, delta, ...more });
  }

  #growMessage(draft: MessageDraft, index: number): string {
    const open = draft.parts.length - 1;
    let text = open > this.#said.pieces ? this.#closePieces(draft, index, open) : "";
    const piece = draft.parts[open];
    if (piece !== undefined) text += this.#growPiece(piece, { ...at(draft, index), content_index: open });
    return text;
  }

  #growPiece(piece: Piece, where: JsonObject): string {
    let text = "";
    if (!this.#said.partOpened) {
      this.#said.partOpened = true;
      const part = partOf(piece.is === "text" ? { ...piece, text: "", annotations: [] } : { ...piece, text: "" });
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

  /** Ends the parts of a message before `until`. */
  #closePieces(draft: MessageDraft, index: number, until: number): string {
    let text = "";
    for (; this.#said.pieces < until; this.#said.pieces += 1) {
      const content_index = this.#said.pieces;
      const piece = draft.parts[content_index];
      if (piece === undefined) break;
      const where = { ...at(draft, index), content_index };
      text += this.#growPiece(piece, where);
      text +=
        piece.is === "text"
          ? this.encode("response.output_text.done", { ...where, text: piece.text, logprobs: [] })
          : this.encode("response.refusal.done", { ...where, refusal: piece.text });
      text += this.encode("response.content_part.done", { ...where, part: partOf(piece) });
      this.#said.partOpened = false;
      this.#said.annotations = 0;
    }
    return text;
  }

  #growReasoning(draft: ReasoningDraft, index: number): string {
    if (draft.text === "") return "";
    const where = { ...at(draft, index), summary_index: 0 };
    let text = "";
    if (!this.#said.partOpened) {
      this.#said.partOpened = true;
      text += this.encode("response.reasoning_summary_part.added", { ...where, part: summaryOf("") });
    }
    return text + this.#delta("response.reasoning_summary_text", draft, where, {});
  }

  #closeReasoning(draft: ReasoningDraft, index: number): string {
    if (draft.text === "") return "";
    const where = { ...at(draft, index), summary_index: 0 };
    return (
      this.encode("response.reasoning_summary_text.done", { ...where, text: draft.text }) +
      this.encode("response.reasoning_summary_part.done", { ...where, part: summaryOf(draft.text) })
    );
  }

  #closeArguments(draft: CallDraft, index: number): string {
    const where = at(draft, index);
    const { name, text } = draft;
    // Callers parse the arguments: those of a call without any are an empty object.
    const none = { text: "{}", fresh: "{}" };
    const told = text === "" ? this.#delta("response.function_call_arguments", none, where, {}) : "";
    const whole = text === "" ? none.text : text;
    return told + this.encode("response.function_call_arguments.done", { ...where, name, arguments: whole });
  }

  #tellInput(draft: CallDraft, index: number): string {
    const input = inputOf(draft);
    return (
      this.#delta("response.custom_tool_call_input", { text: input, unsent: input }, at(draft, index), {}) +
      this.encode("response.custom_tool_call_input.done", { ...at(draft, index), input })
    );
  }
}

function at({ id }: Draft, index: number): JsonObject {
  return { item_id: id, output_index: index };
}
