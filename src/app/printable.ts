/** Truncates a caller's value for a message and replaces control characters. */
export function printable(text: string | undefined, charsMax = 100): string {
  return (text ?? "").replace(/\p{Cc}/gu, "?").slice(0, charsMax);
}
