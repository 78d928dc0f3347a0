import { parentPort } from "node:worker_threads";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import type { Answered, Question, Words } from "./token-counter.ts";

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

/** Its tables are as large as those for counting, so they are read by the first who needs them. */
async function wordsOf(lists: readonly (readonly number[])[]): Promise<Words> {
  const { decode, vocabularySize } = await import("gpt-tokenizer/encoding/cl100k_base");
  const list = lists.findIndex((tokens) => tokens.some((token) => token >= vocabularySize));
  if (list >= 0) return { is: "unknown", list };
  return { is: "words", texts: lists.map((tokens) => decode(tokens)) };
}

parentPort?.on("message", async (question: Question) => {
  const { number } = question;
  const answer =
    "texts" in question ? question.texts.reduce((sum, text) => sum + tokensOf(text), 0) : await wordsOf(question.lists);
  const answered: Answered = { number, answer };
  parentPort?.postMessage(answered);
});
