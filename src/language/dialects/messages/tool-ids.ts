/** The only characters this dialect takes in the id of a tool call. */
const PLAIN = /^[a-zA-Z0-9_-]+$/;
const ENCODED_PREFIX = "idx_";

/** An id of any dialect in this one's alphabet; different ids stay different, and most stay as they are. */
export function encodeToolId(id: string): string {
  return PLAIN.test(id) && !id.startsWith(ENCODED_PREFIX)
    ? id
    : `${ENCODED_PREFIX}${Buffer.from(id).toString("base64url")}`;
}

/** The id behind one that was rewritten; an id that nobody here wrote stays as it came. */
export function decodeToolId(wire: string): string {
  if (!wire.startsWith(ENCODED_PREFIX)) return wire;
  const id = Buffer.from(wire.slice(ENCODED_PREFIX.length), "base64url").toString();
  return encodeToolId(id) === wire ? id : wire;
}
