import { hash } from "node:crypto";
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { brotliCompress, brotliDecompress, gzip, constants as zlib } from "node:zlib";
import { fault } from "../../contract/faults.ts";
import type { GuideList } from "../../contract/llms.ts";
import { type ContentEncoding, negotiateEncoding } from "../../kit/content-encoding.ts";
import { fontFaces } from "../brand.ts";
import { buffered, type Exchange, type Handler, type HttpResponse } from "../exchange.ts";
import { DOCS_SCRIPT, docsPage, type HtmlPage, startPage } from "./document-pages.ts";
import { guideAsset, guideHandlers, readGuideList } from "./guides.ts";
import { PAGE_HEADERS, portalHandlers } from "./portal.ts";
import { respondWithEtag } from "./static-content.ts";

export type DocumentDeps = {
  /** Built on first request, then cached. */
  readonly apiDocument: () => string;
  readonly manageDocument: () => string;
  readonly llmsText: (guides: GuideList) => string;
  /** Origin of the gateway. */
  readonly publicUrl: string;
  readonly portalFolder: string;
};

/** Handlers of the portal, /docs, the guides, /llms.txt and the OpenAPI documents, by route id. */
export function documentHandlers(deps: DocumentDeps): Readonly<Record<string, Handler>> {
  const assets = referenceAssets(path.join(deps.portalFolder, "vendor"));
  const guideFolder = path.join(deps.portalFolder, "docs");
  return {
    ...portalHandlers({ folder: deps.portalFolder, publicUrl: deps.publicUrl }, page(startPage(deps.publicUrl))),
    getDocsPage: page(docsPage(assets.files, fontFaces(deps.portalFolder))),
    getDocsAsset: buffered(async (exchange) => (await guideAsset(guideFolder, exchange)) ?? assets.reply(exchange)),
    ...guideHandlers(guideFolder, PAGE_HEADERS),
    getApiDocument: text("application/json", deps.apiDocument),
    getManageDocument: text("application/json", deps.manageDocument),
    getLlmsText: text("text/plain; charset=utf-8", () => deps.llmsText(readGuideList(guideFolder))),
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

/** The API reference's script in the built portal; its name carries the version. */
const REFERENCE_SCRIPT = /^api-reference-[\w.-]+\.js\.br$/;

/** Scripts of the API reference; their names carry a digest or version, so browsers may cache them. */
function referenceAssets(folder: string) {
  const start = `start-${hash("sha256", DOCS_SCRIPT, "hex").slice(0, 12)}.js`;
  const packed = readdirSync(folder).filter((name) => REFERENCE_SCRIPT.test(name));
  const sources = new Map<string, () => Promise<Buffer>>([
    ...packed.map((name) => [path.basename(name, ".br"), () => unpack(path.join(folder, name))] as const),
    [start, async () => Buffer.from(DOCS_SCRIPT)],
  ]);
  const cached = new Map<string, Promise<Buffer>>();
  const encoded = (file: string, encoding: ContentEncoding, read: () => Promise<Buffer>): Promise<Buffer> => {
    const key = `${encoding} ${file}`;
    const isPacked = encoding === "br" && file !== start;
    const load = () =>
      isPacked ? readFile(path.join(folder, `${file}.br`)) : read().then((bytes) => compress(bytes, encoding));
    const found = cached.get(key) ?? load();
    cached.set(key, found);
    found.catch(() => cached.delete(key));
    return found;
  };
  return {
    files: [...sources.keys()],
    async reply({ params, headers }: Pick<Exchange, "params" | "headers">): Promise<HttpResponse> {
      const file = params["file"] ?? "";
      const read = sources.get(file);
      if (read === undefined) throw fault("not_found", { message: "There is no file at this path." });
      const encoding = negotiateEncoding(headers["accept-encoding"]);
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

async function unpack(file: string): Promise<Buffer> {
  return promisify(brotliDecompress)(await readFile(file));
}

/** Runs once per encoding on the thread pool, at a medium quality. */
async function compress(bytes: Buffer, encoding: ContentEncoding): Promise<Buffer> {
  switch (encoding) {
    case "br":
      return promisify(brotliCompress)(bytes, { params: { [zlib.BROTLI_PARAM_QUALITY]: 5 } });
    case "gzip":
      return promisify(gzip)(bytes);
    case "identity":
      return bytes;
  }
}
