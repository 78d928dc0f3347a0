export type DatabaseAddress = {
  /** Includes the password: never logged or shown. */
  readonly url: string;
  /** Without password and parameters. */
  readonly shown: string;
};

const SSL_MODES = ["disable", "no-verify", "require", "verify-ca", "verify-full"];

/** Parses a `postgres://` address. The problem text contains nothing of the address. */
export function readDatabaseAddress(text: string): DatabaseAddress | { readonly problem: string } {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^postgres(?:ql)?:$/.test(url.protocol) || url.pathname.length < 2)
    return { problem: "must be postgres://user:password@host:5432/database" };
  const mode = url.searchParams.get("sslmode");
  if (mode !== null && !SSL_MODES.includes(mode))
    return { problem: `must have one of these values in sslmode: ${SSL_MODES.join(", ")}` };
  const host = url.host === "" ? (url.searchParams.get("host") ?? "localhost") : url.host;
  const user = url.username === "" ? "" : `${url.username}@`;
  // The driver treats these two as `verify-full` and logs a warning; setting it explicitly avoids the warning.
  if (mode === "require" || mode === "verify-ca") url.searchParams.set("sslmode", "verify-full");
  return { url: url.href, shown: `postgres://${user}${host}${url.pathname}` };
}
