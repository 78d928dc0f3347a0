/** The sandbox's tokenizer: one token per four bytes of UTF-8, rounded up. */
const BYTES_PER_TOKEN = 4;

export function countTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

/** The longest prefix within `tokensMax`, cut between characters. */
export function truncateToTokens(text: string, tokensMax: number): string {
  const bytes = Buffer.from(text);
  let end = tokensMax * BYTES_PER_TOKEN;
  if (bytes.length <= end) return text;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString("utf8", 0, end);
}

/** Splits text into stream deltas: words with their leading space. */
export function splitWords(text: string): string[] {
  return text.match(/\s*\S+|\s+$/gu) ?? [];
}

/** Splits tool arguments into stream deltas: short runs of characters. */
export function splitRuns(text: string): string[] {
  return text.match(/[\s\S]{1,12}/gu) ?? [];
}
