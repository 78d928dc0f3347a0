import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fault } from "../../contract/faults.ts";
import type { GuideList } from "../../contract/llms.ts";
import { negotiateEncoding } from "../../kit/content-encoding.ts";
import { matchesEtag } from "../../kit/etag.ts";
import { buffered, type Exchange, type Handler, type HttpResponse } from "../exchange.ts";
import { readEncoded } from "./static-content.ts";

type GuideRequest = Pick<Exchange, "params" | "headers">;

/** `routing`, `clients/codex` and their Markdown twins with `.md`. */
const PAGE_NAME = /^[a-z0-9][a-z0-9-]*(?:\/[a-z0-9][a-z0-9-]*)?(?:\.md)?$/;
const ASSET_NAME = /^[a-z0-9][a-z0-9-]*\.(?:json|png|svg)$/;
const ASSET_TYPES: Readonly<Record<string, string>> = {
  ".json": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
};

/** Handlers of the guides, by route id. `folder` is the build output; `pageHeaders` are those of the portal's pages. */
export function guideHandlers(
  folder: string,
  pageHeaders: Readonly<Record<string, string>>,
): Readonly<Record<string, Handler>> {
  const send = async (exchange: GuideRequest, page: string): Promise<HttpResponse> => {
    if (!PAGE_NAME.test(page)) return notFound(exchange);
    const isMarkdown = page.endsWith(".md");
    const headers = isMarkdown ? MARKDOWN_HEADERS : pageHeaders;
    const found = await fileResponse(exchange, path.join(folder, isMarkdown ? page : `${page}.html`), headers);
    return found ?? notFound(exchange);
  };
  /** A page for browsers, the error envelope for programs. */
  const notFound = async (exchange: GuideRequest): Promise<HttpResponse> => {
    const wantsPage = String(exchange.headers.accept ?? "").includes("text/html");
    const file = path.join(folder, "404.html");
    const page = wantsPage
      ? await fileResponse({ ...exchange, headers: withoutEtag(exchange) }, file, pageHeaders)
      : undefined;
    if (page === undefined) throw missingGuideFault();
    return { ...page, status: 404 };
  };
  return {
    getGuideList: buffered((exchange) => send(exchange, "index")),
    getGuide: buffered((exchange) => send(exchange, exchange.params["page"] ?? "")),
  };
}

const MARKDOWN_HEADERS = { "content-type": "text/markdown; charset=utf-8", "x-content-type-options": "nosniff" };

function withoutEtag({ headers }: GuideRequest): Exchange["headers"] {
  const { "if-none-match": _, ...others } = headers;
  return others;
}

/** Each encoding has its own ETag. */
async function fileResponse(
  { headers }: Pick<Exchange, "headers">,
  file: string,
  contentHeaders: Readonly<Record<string, string>>,
): Promise<HttpResponse | undefined> {
  const content = await readEncoded(file, negotiateEncoding(headers["accept-encoding"]));
  if (content === undefined) return undefined;
  const etag = `"${hash("sha256", content.bytes, "base64url").slice(0, 22)}"`;
  const responseHeaders = { ...contentHeaders, ...content.headers, etag, "cache-control": "no-cache" };
  return matchesEtag(headers["if-none-match"], etag)
    ? { status: 304, headers: responseHeaders }
    : { status: 200, headers: responseHeaders, bytes: content.bytes };
}

/** The search index and the pictures: their names contain a digest, so browsers may cache them forever. */
export async function guideAsset(folder: string, { params, headers }: GuideRequest): Promise<HttpResponse | undefined> {
  const name = params["file"] ?? "";
  if (!ASSET_NAME.test(name)) return undefined;
  const content = await readEncoded(path.join(folder, "assets", name), negotiateEncoding(headers["accept-encoding"]));
  if (content === undefined) return undefined;
  return {
    status: 200,
    headers: {
      "content-type": ASSET_TYPES[path.extname(name)] ?? "application/octet-stream",
      "cache-control": "public, max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "same-origin",
      ...content.headers,
    },
    bytes: content.bytes,
  };
}

/** Titles and summaries of the guides for `/llms.txt`; empty when the portal was not built. */
export function readGuideList(folder: string): GuideList {
  try {
    return JSON.parse(readFileSync(path.join(folder, "pages.json"), "utf8"));
  } catch {
    return [];
  }
}

function missingGuideFault() {
  return fault("not_found", { message: "There is no guide at this path. GET /docs/guides lists all guides." });
}
