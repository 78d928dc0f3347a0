import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { ContentEncoding } from "../../kit/content-encoding.ts";
import { matchesEtag } from "../../kit/etag.ts";
import type { Exchange, HttpResponse } from "../exchange.ts";

/** Returns 304 when the client has the same content. */
export function respondWithEtag(
  { headers }: Pick<Exchange, "headers">,
  contentHeaders: Readonly<Record<string, string>>,
  body: string,
): HttpResponse {
  const etag = `"${hash("sha256", body, "base64url").slice(0, 22)}"`;
  const responseHeaders = { ...contentHeaders, etag, "cache-control": "no-cache" };
  return matchesEtag(headers["if-none-match"], etag)
    ? { status: 304, headers: responseHeaders }
    : { status: 200, headers: responseHeaders, bytes: body };
}

const SUFFIXES: Readonly<Record<Exclude<ContentEncoding, "identity">, string>> = { br: ".br", gzip: ".gz" };

export type EncodedFile = { readonly bytes: Buffer; readonly headers: Readonly<Record<string, string>> };

/** A file of the build, in the encoding if the build has compressed it. Undefined: it does not exist. */
export async function readEncoded(file: string, wanted: ContentEncoding): Promise<EncodedFile | undefined> {
  const compressed = wanted === "identity" ? undefined : await readIfExists(`${file}${SUFFIXES[wanted]}`);
  const bytes = compressed ?? (await readIfExists(file));
  if (bytes === undefined) return undefined;
  const encoding = compressed === undefined ? {} : { "content-encoding": wanted };
  return { bytes, headers: { vary: "accept-encoding", ...encoding } };
}

async function readIfExists(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(file);
  } catch {
    return undefined;
  }
}
