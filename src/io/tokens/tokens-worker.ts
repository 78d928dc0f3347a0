import { parentPort } from "node:worker_threads";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import type { DecodedTokens, TokenWorkerRequest, TokenWorkerResponse } from "./token-counter.ts";

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
async function wordsOf(lists: readonly (readonly number[])[]): Promise<DecodedTokens> {
  const { decode } = await import("gpt-tokenizer/encoding/cl100k_base");
  const known = new Set<number>();
  const texts: string[] = [];
  for (const [list, tokens] of lists.entries()) {
    const token = tokens.find((one) => !known.has(one) && !isToken(one, decode, known));
    if (token !== undefined) return { is: "unknown", list, token };
    texts.push(decode(tokens));
  }
  return { is: "words", texts };
}

/** There are gaps between the last tokens, and whoever decodes one of them throws. */
function isToken(token: number, decode: (tokens: readonly number[]) => string, known: Set<number>): boolean {
  try {
    decode([token]);
    known.add(token);
    return true;
  } catch {
    return false;
  }
}

parentPort?.on("message", async (question: TokenWorkerRequest) => {
  const { number } = question;
  const answer =
    "texts" in question ? question.texts.reduce((sum, text) => sum + tokensOf(text), 0) : await wordsOf(question.lists);
  const answered: TokenWorkerResponse = { number, answer };
  parentPort?.postMessage(answered);
});
