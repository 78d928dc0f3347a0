/** Encodes all but the unreserved characters of RFC 3986; `encodeURIComponent` leaves `!'()*`. */
export function percentEncode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
