const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/** The origins whose pages may act for a person: the public address, or the machine's own by the name it was called by. */
export function trustedOrigins(publicUrl: string | null, host: string | undefined): string[] {
  const origins = publicUrl === null ? [] : [new URL(publicUrl).origin];
  // By name: a page of elsewhere whose name was made to lead here says that name, and not one of these.
  if (host !== undefined && LOOPBACK.test(host)) origins.push(`http://${host.toLowerCase()}`);
  return origins;
}
