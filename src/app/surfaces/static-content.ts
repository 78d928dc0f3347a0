import { hash } from "node:crypto";
import type { Exchange, HttpResponse } from "../exchange.ts";

/** How pages and files are sent: not again to whoever has them, and compressed to whoever takes that. */

export type Encoding = "br" | "gzip" | "identity";

/** 304 for a caller that has these very bytes already. */
export function unlessKnown(
  { headers }: Pick<Exchange, "headers">,
  own: Readonly<Record<string, string>>,
  body: string,
): HttpResponse {
  const etag = `"${hash("sha256", body, "base64url").slice(0, 22)}"`;
  const known = headers["if-none-match"]?.split(",").some((one) => one.trim().replace(/^W\//, "") === etag);
  const answered = { ...own, etag, "cache-control": "no-cache" };
  return known ? { status: 304, headers: answered } : { status: 200, headers: answered, bytes: body };
}

export function encodingFor(accepted: string | string[] | undefined): Encoding {
  const names = String(accepted ?? "")
    .split(",")
    .filter((one) => !/;\s*q=0(\.0*)?\s*$/.test(one))
    .map((one) => one.split(";")[0]?.trim());
  if (names.includes("br")) return "br";
  return names.includes("gzip") ? "gzip" : "identity";
}
