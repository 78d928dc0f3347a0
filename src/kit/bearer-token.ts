/** Undefined for another scheme or a malformed header. */
export function parseBearerToken(authorization: string | undefined): string | undefined {
  return /^bearer[ \t]+(\S+)$/i.exec(authorization?.trim() ?? "")?.[1];
}
