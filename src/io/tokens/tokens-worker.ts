import { parentPort } from "node:worker_threads";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import type { Counted, Question } from "./token-counter.ts";

/** The tokenizer needs the square of the length of a word, so nothing longer than this is given to it at once. */
const PIECE_CHARS = 1000;
/** Words that mean something to some models are only words here. */
const AS_WORDS = { disallowedSpecial: new Set<string>() };

function tokensOf(text: string): number {
  let tokens = 0;
  for (let from = 0; from < text.length; ) {
    const end = cutAfter(text, from);
    tokens += countTokens(text.slice(from, end), AS_WORDS);
    from = end;
  }
  return tokens;
}

/** Before a space where there is one, as the tokenizer would itself. */
function cutAfter(text: string, from: number): number {
  const end = from + PIECE_CHARS;
  if (end >= text.length) return text.length;
  const space = text.lastIndexOf(" ", end);
  return space > from ? space : end;
}

parentPort?.on("message", ({ number, texts }: Question) => {
  const answer: Counted = { number, tokens: texts.reduce((sum, text) => sum + tokensOf(text), 0) };
  parentPort?.postMessage(answer);
});
