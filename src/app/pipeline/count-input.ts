import type { TokenCounter } from "../../io/tokens/token-counter.ts";
import type { Call } from "../../language/canon/call.ts";
import { countableInput } from "../../language/canon/countable-input.ts";

/** Counts with a generic tokenizer; undefined when the counter is overloaded. */
export async function countInput(tokens: TokenCounter, call: Call): Promise<number | undefined> {
  const { texts, otherTokens } = countableInput(call);
  const counted = await tokens.count(texts);
  return counted === undefined ? undefined : otherTokens + counted;
}
