import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { promisify } from "node:util";
import { brotliCompress, gzip, constants as zlib } from "node:zlib";
import { fault } from "../../contract/faults.ts";
import { buffered, type Exchange, type Handler, type HttpResponse } from "../exchange.ts";
import { DOCS_SCRIPT, docsPage, type HtmlPage, startPage } from "./document-pages.ts";
import { portalHandlers } from "./portal.ts";
import { type Encoding, encodingFor, respondWithEtag } from "./static-content.ts";

export type DocumentDeps = {
  /** Built on first request, then cached. */
  readonly apiDocument: () => string;
  readonly manageDocument: () => string;
  readonly llmsText: () => string;
  /** Origin of the gateway. */
  readonly publicUrl: string;
  readonly portalFolder: string;
};

/** Handlers of the portal, /docs, /llms.txt and the OpenAPI documents, by route id. */
export function documentHandlers(deps: DocumentDeps): Readonly<Record<string, Handler>> {
  const assets = referenceAssets();
  return {
    ...portalHandlers({ folder: deps.portalFolder, publicUrl: deps.publicUrl }, page(startPage(deps.publicUrl))),
    getDocsPage: page(docsPage(assets.files)),
    getDocsAsset: buffered((exchange) => assets.reply(exchange)),
    getApiDocument: text("application/json", deps.apiDocument),
    getManageDocument: text("application/json", deps.manageDocument),
    getLlmsText: text("text/plain; charset=utf-8", deps.llmsText),
  };
}

function page({ html, contentSecurityPolicy }: HtmlPage): Handler {
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": contentSecurityPolicy,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
  };
  return buffered(async (exchange) => respondWithEtag(exchange, headers, html));
}

function text(contentType: string, build: () => string): Handler {
  let cached: string | undefined;
  const headers = { "content-type": contentType };
  return buffered(async (exchange) => {
    cached ??= build();
    return respondWithEtag(exchange, headers, cached);
  });
}

const REFERENCE = path.dirname(createRequire(import.meta.url).resolve("@scalar/api-reference"));

/** Scripts of the API reference; their names carry a digest or version, so browsers may cache them. */
function referenceAssets() {
  const start = `start-${hash("sha256", DOCS_SCRIPT, "hex").slice(0, 12)}.js`;
  const sources = new Map<string, () => Promise<Buffer>>([
    [`reference-${referenceVersion()}.js`, () => readFile(path.join(REFERENCE, "browser/standalone.js"))],
    [start, async () => Buffer.from(DOCS_SCRIPT)],
  ]);
  const cached = new Map<string, Promise<Buffer>>();
  const encoded = (file: string, encoding: Encoding, read: () => Promise<Buffer>): Promise<Buffer> => {
    const key = `${encoding} ${file}`;
    const found = cached.get(key) ?? read().then((bytes) => compress(bytes, encoding));
    cached.set(key, found);
    found.catch(() => cached.delete(key));
    return found;
  };
  return {
    files: [...sources.keys()],
    async reply({ params, headers }: Pick<Exchange, "params" | "headers">): Promise<HttpResponse> {
      const file = params["file"] ?? "";
      const read = sources.get(file);
      if (read === undefined) throw fault("not_found", { message: "There is no such file." });
      const encoding = encodingFor(headers["accept-encoding"]);
      return {
        status: 200,
        headers: {
          "content-type": "text/javascript; charset=utf-8",
          "cache-control": "public, max-age=31536000, immutable",
          vary: "accept-encoding",
          "x-content-type-options": "nosniff",
          ...(encoding === "identity" ? {} : { "content-encoding": encoding }),
        },
        bytes: await encoded(file, encoding, read),
      };
    },
  };
}

function referenceVersion(): string {
  const { version } = JSON.parse(readFileSync(path.join(REFERENCE, "../package.json"), "utf8"));
  return String(version);
}

/** Runs once per encoding on the thread pool, at a medium quality. */
async function compress(bytes: Buffer, encoding: Encoding): Promise<Buffer> {
  switch (encoding) {
    case "br":
      return promisify(brotliCompress)(bytes, { params: { [zlib.BROTLI_PARAM_QUALITY]: 5 } });
    case "gzip":
      return promisify(gzip)(bytes);
    case "identity":
      return bytes;
  }
}
