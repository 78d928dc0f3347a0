/** The only characters this dialect takes in the id of a tool call. */
const PLAIN = /^[a-zA-Z0-9_-]+$/;
const MARK = "idx_";

/** An id of any dialect in this one's alphabet; different ids stay different, and most stay as they are. */
export function wireToolId(id: string): string {
  return PLAIN.test(id) && !id.startsWith(MARK) ? id : `${MARK}${Buffer.from(id).toString("base64url")}`;
}

/** The id behind one that was rewritten; an id that nobody here wrote stays as it came. */
export function clientToolId(wire: string): string {
  if (!wire.startsWith(MARK)) return wire;
  const id = Buffer.from(wire.slice(MARK.length), "base64url").toString();
  return wireToolId(id) === wire ? id : wire;
}
