import { parentPort } from "node:worker_threads";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import type { DecodedTokens, TokenWorkerRequest, TokenWorkerResponse } from "./token-counter.ts";

/** The tokenizer is quadratic in the length of a word, so it gets at most this much at once. */
const PIECE_CHARS = 1000;
/** Special tokens are counted as plain text. */
const PLAIN_TEXT = { disallowedSpecial: new Set<string>() };

function countText(text: string): number {
  let tokens = 0;
  for (let from = 0; from < text.length; ) {
    const end = pieceEnd(text, from);
    tokens += countTokens(text.slice(from, end), PLAIN_TEXT);
    from = end;
  }
  return tokens;
}

/** Cuts before a space if there is one, as the tokenizer does. */
function pieceEnd(text: string, from: number): number {
  const end = from + PIECE_CHARS;
  if (end >= text.length) return text.length;
  const space = text.lastIndexOf(" ", end);
  return space > from ? space : end;
}

/** Imported on first use, because its tables are as large as those for counting. */
async function decodeLists(lists: readonly (readonly number[])[]): Promise<DecodedTokens> {
  const { decode } = await import("gpt-tokenizer/encoding/cl100k_base");
  const known = new Set<number>();
  const texts: string[] = [];
  for (const [list, tokens] of lists.entries()) {
    const token = tokens.find((id) => !known.has(id) && !isToken(id, decode, known));
    if (token !== undefined) return { is: "unknown", list, token };
    texts.push(decode(tokens));
  }
  return { is: "decoded", texts };
}

/** The id space has gaps, for which `decode` throws. */
function isToken(token: number, decode: (tokens: readonly number[]) => string, known: Set<number>): boolean {
  try {
    decode([token]);
    known.add(token);
    return true;
  } catch {
    return false;
  }
}

parentPort?.on("message", async (request: TokenWorkerRequest) => {
  const { number } = request;
  const answer =
    "texts" in request
      ? request.texts.reduce((sum, text) => sum + countText(text), 0)
      : await decodeLists(request.lists);
  const response: TokenWorkerResponse = { number, answer };
  parentPort?.postMessage(response);
});
