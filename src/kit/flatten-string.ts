/** V8 represents a concatenated string as a rope, and one rope takes JSON.stringify off its fast path for the whole record. */
export function flattenString(text: string): string {
  return [text.charAt(0), text.slice(1)].join("");
}
