/** Weak comparison of `If-None-Match` (RFC 9110): a proxy may have weakened the ETag. */
export function matchesEtag(condition: string | undefined, etag: string): boolean {
  if (condition === undefined) return false;
  if (condition.trim() === "*") return true;
  return condition.split(",").some((one) => one.trim().replace(/^W\//, "") === etag);
}

/** Each encoding of a resource is a representation of its own, with its own strong ETag. */
export function etagOfEncoding(etag: string, encoding: string): string {
  return encoding === "identity" ? etag : etag.replace(/"$/, `-${encoding}"`);
}
