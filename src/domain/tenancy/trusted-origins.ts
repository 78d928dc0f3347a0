const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/** Origins whose pages may use a person's cookie: the public URL, and a loopback Host. */
export function trustedOrigins(publicUrl: string | null, host: string | undefined): string[] {
  const origins = publicUrl === null ? [] : [new URL(publicUrl).origin];
  // Only loopback names: with DNS rebinding, the Host header carries the attacker's name.
  if (host !== undefined && LOOPBACK.test(host)) origins.push(`http://${host.toLowerCase()}`);
  return origins;
}
