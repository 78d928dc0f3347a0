import type { ConversationTurn } from "../../../canon/parts.ts";

/** The quirk of servers that hold to an order of roles, and want an answer that is to be gone on with marked as one. */
export const STRICT_TURNS = "strict-turns";

/** The words at the end of the conversation that the model shall go on with; undefined where somebody else spoke last. */
export function prefillOf(turns: readonly ConversationTurn[]): string | undefined {
  const last = turns.at(-1);
  if (last?.role !== "assistant" || last.parts.some(({ is }) => is === "tool_call" || is === "tool_result"))
    return undefined;
  return last.parts.map((part) => (part.is === "text" || part.is === "refusal" ? part.text : "")).join("") || undefined;
}

/** Takes the words that a model was to go on with off the beginning of its answer, where the server repeats them. */
export class PrefillEcho {
  readonly #words: string;
  #heard = 0;
  #isOver = false;

  constructor(words: string) {
    this.#words = words;
  }

  /** What is new in the next piece of the answer. */
  strip(text: string): string {
    if (this.#isOver) return text;
    if (this.#words.startsWith(text, this.#heard)) {
      this.#heard += text.length;
      this.#isOver = this.#heard === this.#words.length;
      return "";
    }
    const awaited = this.#words.slice(this.#heard);
    if (text.startsWith(awaited)) {
      this.#isOver = true;
      return text.slice(awaited.length);
    }
    return this.close() + text;
  }

  /** No more comes: what began like the words and did not go on like them is the answer's own. */
  close(): string {
    const own = this.#isOver ? "" : this.#words.slice(0, this.#heard);
    this.#isOver = true;
    return own;
  }
}
