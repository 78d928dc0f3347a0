/** Everything but letters, digits, `-`, `.`, `_` and `~` as percent and two capitals: RFC 3986 to the letter. */
export function percentEncode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
