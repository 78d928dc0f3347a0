import { ReasoningDetailWire } from "../../../../contract/schemas/chat.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import type { ReplyEvent } from "../../../canon/reply-events.ts";
import { decodeDetail } from "../reasoning-details.ts";
import { textIn } from "./tool-calls.ts";

type ReasoningBlock = { readonly key: unknown; text: string; signature: string; format: string | null };

/**
 * Decodes reasoning that servers send as plain text, as signed blocks, or as both. A block may come in fragments
 * beside the plain text or whole after it.
 */
export class ReasoningReader {
  readonly #form: "delta" | "message";
  #block: ReasoningBlock | undefined;
  /** Plain text since the last block. */
  #plain = "";

  constructor(form: "delta" | "message") {
    this.#form = form;
  }

  add(message: JsonObject): readonly ReplyEvent[] {
    const plain = textIn(message["reasoning_content"]);
    const details = detailsIn(message["reasoning_details"]);
    if (plain === undefined && details.length === 0) return [];
    const events: ReplyEvent[] = [];
    const isSame = details.map(detailText).join("") === plain;
    if (plain !== undefined && !isSame) {
      this.#plain += plain;
      events.push({ is: "reasoning", text: plain });
    }
    for (const detail of details) this.#addDetail(detail, events, { emitsText: plain === undefined || isSame });
    return events;
  }

  /** Other content follows, so the last block is complete. */
  close(): readonly ReplyEvent[] {
    const block = this.#block;
    this.#block = undefined;
    this.#plain = "";
    if (block === undefined) return [];
    const { text, signature, format } = block;
    const detail = decodeDetail({ type: "reasoning.text", text, signature, format });
    // A block without a signature need not be sent back.
    return detail?.signature ? [{ is: "reasoning_detail", detail }] : [];
  }

  #addDetail(wire: ReasoningDetailWire, events: ReplyEvent[], { emitsText }: { readonly emitsText: boolean }): void {
    if (wire.type === "reasoning.encrypted") {
      events.push(...this.close());
      const detail = decodeDetail(wire);
      if (detail !== undefined) events.push({ is: "reasoning_detail", detail });
      return;
    }
    const key = wire["index"];
    if (this.#block !== undefined && (this.#form === "message" || this.#block.key !== key))
      events.push(...this.close());
    this.#block ??= { key, text: "", signature: "", format: null };
    const text = detailText(wire);
    // The block repeats plain text that was already emitted.
    const isRepeated = this.#block.text === "" && text === this.#plain;
    if (text !== "" && emitsText && !isRepeated) events.push({ is: "reasoning", text });
    this.#block.text += text;
    this.#block.signature += wire.signature ?? "";
    this.#block.format ??= wire.format ?? null;
  }
}

function detailText({ type, text, summary }: ReasoningDetailWire): string {
  return type === "reasoning.encrypted" ? "" : (text ?? summary ?? "");
}

function detailsIn(value: unknown): ReasoningDetailWire[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item) => {
    const parsed = ReasoningDetailWire.safeParse(item);
    return parsed.success ? [parsed.data] : [];
  });
}
