import { hash } from "node:crypto";
import type { Exchange, HttpResponse } from "../exchange.ts";

export type Encoding = "br" | "gzip" | "identity";

/** Returns 304 when the client has the same content. */
export function respondWithEtag(
  { headers }: Pick<Exchange, "headers">,
  contentHeaders: Readonly<Record<string, string>>,
  body: string,
): HttpResponse {
  const etag = `"${hash("sha256", body, "base64url").slice(0, 22)}"`;
  const isCurrent = headers["if-none-match"]?.split(",").some((one) => one.trim().replace(/^W\//, "") === etag);
  const responseHeaders = { ...contentHeaders, etag, "cache-control": "no-cache" };
  return isCurrent ? { status: 304, headers: responseHeaders } : { status: 200, headers: responseHeaders, bytes: body };
}

export function encodingFor(accepted: string | string[] | undefined): Encoding {
  const names = String(accepted ?? "")
    .split(",")
    .filter((one) => !/;\s*q=0(\.0*)?\s*$/.test(one))
    .map((one) => one.split(";")[0]?.trim());
  if (names.includes("br")) return "br";
  return names.includes("gzip") ? "gzip" : "identity";
}
