const PLAIN = /^[a-zA-Z0-9_-]+$/;
const ENCODED_PREFIX = "idx_";

/** Maps an id to the allowed alphabet without collisions; most ids stay unchanged. */
export function encodeToolId(id: string): string {
  return PLAIN.test(id) && !id.startsWith(ENCODED_PREFIX)
    ? id
    : `${ENCODED_PREFIX}${Buffer.from(id).toString("base64url")}`;
}

/** Reverses `encodeToolId`; other ids stay unchanged. */
export function decodeToolId(wire: string): string {
  if (!wire.startsWith(ENCODED_PREFIX)) return wire;
  const id = Buffer.from(wire.slice(ENCODED_PREFIX.length), "base64url").toString();
  return encodeToolId(id) === wire ? id : wire;
}
