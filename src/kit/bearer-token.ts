/** The token of an `Authorization` header that brings one as a bearer. */
export function parseBearerToken(authorization: string | undefined): string | undefined {
  return /^bearer[ \t]+(\S+)$/i.exec(authorization?.trim() ?? "")?.[1];
}
