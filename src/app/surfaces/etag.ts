import { sha256Hex } from "../../kit/secret.ts";
import type { Exchange, HttpResponse } from "../exchange.ts";

/** What identifies an answer before it is built: the same parts give the same bytes. */
export function tagOf(...parts: readonly string[]): string {
  return `"${sha256Hex(JSON.stringify(parts)).slice(0, 24)}"`;
}

/** 304 when the caller has these bytes already, else the answer with its tag. */
export function answerTagged(
  { headers }: Pick<Exchange, "headers">,
  tag: string,
  cacheHeaders: Readonly<Record<string, string>>,
  build: () => Pick<HttpResponse, "json" | "bytes"> & { readonly headers?: Readonly<Record<string, string>> },
): HttpResponse {
  const tagged = { ...cacheHeaders, etag: tag };
  if (holds(headers["if-none-match"], tag)) return { status: 304, headers: tagged };
  const { headers: own, ...body } = build();
  return { status: 200, headers: { ...own, ...tagged }, ...body };
}

/** Weak comparison, as RFC 9110 asks for: a proxy may have weakened the tag. */
function holds(sent: string | undefined, tag: string): boolean {
  if (sent === undefined) return false;
  if (sent.trim() === "*") return true;
  return sent.split(",").some((one) => one.trim().replace(/^W\//, "") === tag);
}
