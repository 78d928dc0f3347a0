/** Where PostgreSQL is, as it was set and as it may be shown. */
export type DatabaseAddress = {
  /** With everything in it: never shown. */
  readonly url: string;
  /** Without password and parameters. */
  readonly shown: string;
};

const SSL_MODES = ["disable", "no-verify", "require", "verify-ca", "verify-full"];

/** Reads a `postgres://` address, or says what to write instead; what it says holds nothing of the address. */
export function readDatabaseAddress(text: string): DatabaseAddress | { readonly problem: string } {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^postgres(?:ql)?:$/.test(url.protocol) || url.pathname.length < 2)
    return { problem: "write postgres://user:password@host:5432/database" };
  const mode = url.searchParams.get("sslmode");
  if (mode !== null && !SSL_MODES.includes(mode)) return { problem: `sslmode: write one of ${SSL_MODES.join(", ")}` };
  const host = url.host === "" ? (url.searchParams.get("host") ?? "localhost") : url.host;
  const user = url.username === "" ? "" : `${url.username}@`;
  // The library takes these two for the last one and warns of it: said outright, it has nothing to warn of.
  if (mode === "require" || mode === "verify-ca") url.searchParams.set("sslmode", "verify-full");
  return { url: url.href, shown: `postgres://${user}${host}${url.pathname}` };
}
