const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/** A Host header that names this machine: with DNS rebinding it carries the attacker's name. */
export function isLoopbackHost(host: string | undefined): host is string {
  return host !== undefined && LOOPBACK.test(host);
}

/** Origins whose pages may use a person's cookie: the public URL, and a loopback Host. */
export function trustedOrigins(publicUrl: string | null, host: string | undefined): string[] {
  const origins = publicUrl === null ? [] : [new URL(publicUrl).origin];
  if (isLoopbackHost(host)) origins.push(`http://${host.toLowerCase()}`);
  return origins;
}
