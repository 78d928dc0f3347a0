/** The `__Host-` prefix keeps other hosts of the domain from setting the cookie; browsers accept it over https only. */
export function cookiePrefix(publicUrl: string | null): string {
  return isSecure(publicUrl) ? "__Host-gateway" : "gateway";
}

export function isSecure(publicUrl: string | null): boolean {
  return publicUrl?.startsWith("https://") ?? false;
}

/** The `name=value` pairs of a Cookie header. */
export function cookiePairs(cookie: string): string[] {
  return cookie.split(";").map((pair) => pair.trim());
}
