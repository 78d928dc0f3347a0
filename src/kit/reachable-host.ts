const WILDCARDS: readonly string[] = ["0.0.0.0", "::"];

/** Where this machine reaches a server that listens on this address, for a URL: a wildcard is no place to open in a browser. */
export function reachableHost(listenedOn: string): string {
  const host = WILDCARDS.includes(listenedOn) ? "127.0.0.1" : listenedOn;
  return host.includes(":") ? `[${host}]` : host;
}
