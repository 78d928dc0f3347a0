import { countTokens } from "./tokens.ts";

/** How long vectors are when nobody asks for another length; the catalogue says the same. */
export const EMBEDDING_DIMENSIONS = 256;
export const EMBEDDING_DIMENSIONS_MAX = 1024;

const GRAM_CHARS = 3;
/** The offset and the prime of FNV-1a for 32 bits. */
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * A vector of length one for a text, the same at every provider: its runs of three characters, each hashed to a place
 * and a sign. Texts that share many of them are near each other, and nothing is nearer to a text than itself.
 */
export function embedText(text: string, dimensions: number): number[] {
  const vector = Array.from({ length: dimensions }, () => 0);
  const padded = ` ${text.toLowerCase()} `;
  for (let at = 0; at + GRAM_CHARS <= padded.length; at += 1) {
    const hash = fnv1a(padded.slice(at, at + GRAM_CHARS));
    const place = (hash >>> 1) % dimensions;
    vector[place] = (vector[place] ?? 0) + ((hash & 1) === 0 ? 1 : -1);
  }
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  // Signs may cancel out everything; a vector of nothing has no direction.
  if (length === 0) vector[0] = 1;
  return vector.map((value) => Math.fround(length === 0 ? value : value / length));
}

function fnv1a(text: string): number {
  let hash = FNV_OFFSET;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME) >>> 0;
  // The low bits of it are poor: the high ones are mixed in.
  return (hash ^ (hash >>> 15)) >>> 0;
}

export function embeddingTokens(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + countTokens(text), 0);
}
