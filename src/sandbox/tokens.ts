/** The sandbox's own measure of text: one token for every four bytes of UTF-8, rounded up. */
const BYTES_PER_TOKEN = 4;

export function countTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

/** The longest beginning of a text that costs no more than `tokensMax`, cut between characters. */
export function truncateToTokens(text: string, tokensMax: number): string {
  const bytes = Buffer.from(text);
  let end = tokensMax * BYTES_PER_TOKEN;
  if (bytes.length <= end) return text;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString("utf8", 0, end);
}

/** Text as a stream delivers it: word by word, the space in front. Joined they are the text again. */
export function splitWords(text: string): string[] {
  return text.match(/\s*\S+|\s+$/gu) ?? [];
}

/** Arguments as a stream delivers them: short runs of characters, cut anywhere between two of them. */
export function splitRuns(text: string): string[] {
  return text.match(/[\s\S]{1,12}/gu) ?? [];
}
