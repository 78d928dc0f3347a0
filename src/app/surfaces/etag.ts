import { matchesEtag } from "../../kit/etag.ts";
import { sha256Hex } from "../../kit/secret.ts";
import type { Exchange, HttpResponse } from "../exchange.ts";

/** The parts must determine the content. */
export function etagFor(...parts: readonly string[]): string {
  return `"${sha256Hex(JSON.stringify(parts)).slice(0, 24)}"`;
}

/** Returns 304 when the client has this version, else the content with its ETag. */
export function respondTagged(
  { headers }: Pick<Exchange, "headers">,
  tag: string,
  cacheHeaders: Readonly<Record<string, string>>,
  build: () => Pick<HttpResponse, "json" | "bytes"> & { readonly headers?: Readonly<Record<string, string>> },
): HttpResponse {
  const tagged = { ...cacheHeaders, etag: tag };
  if (matchesEtag(headers["if-none-match"], tag)) return { status: 304, headers: tagged };
  const { headers: own, ...body } = build();
  return { status: 200, headers: { ...own, ...tagged }, ...body };
}
