import type { ConversationTurn } from "../../../canon/parts.ts";

/** Quirk: the server enforces an order of roles and wants a prefill marked. */
export const STRICT_TURNS = "strict-turns";

/** Assistant text at the end of the conversation that the model continues. */
export function prefillOf(turns: readonly ConversationTurn[]): string | undefined {
  const last = turns.at(-1);
  if (last?.role !== "assistant" || last.parts.some(({ is }) => is === "tool_call" || is === "tool_result"))
    return undefined;
  return last.parts.map((part) => (part.is === "text" || part.is === "refusal" ? part.text : "")).join("") || undefined;
}

/** Removes the prefill from the start of a reply, if the server repeats it. */
export class PrefillEcho {
  readonly #prefill: string;
  #matchedChars = 0;
  #isOver = false;

  constructor(prefill: string) {
    this.#prefill = prefill;
  }

  /** Returns the part of `text` that is not an echo. */
  strip(text: string): string {
    if (this.#isOver) return text;
    if (this.#prefill.startsWith(text, this.#matchedChars)) {
      this.#matchedChars += text.length;
      this.#isOver = this.#matchedChars === this.#prefill.length;
      return "";
    }
    const remaining = this.#prefill.slice(this.#matchedChars);
    if (text.startsWith(remaining)) {
      this.#isOver = true;
      return text.slice(remaining.length);
    }
    return this.close() + text;
  }

  /** Releases text that matched the start of the prefill but did not continue like it. */
  close(): string {
    const released = this.#isOver ? "" : this.#prefill.slice(0, this.#matchedChars);
    this.#isOver = true;
    return released;
  }
}
