/** A caller's value inside a message: bounded and without characters that draw. */
export function printable(text: string | undefined, charsMax = 100): string {
  return (text ?? "").replace(/\p{Cc}/gu, "?").slice(0, charsMax);
}
