import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { promisify } from "node:util";
import { brotliCompress, gzip, constants as zlib } from "node:zlib";
import { fault } from "../../contract/faults.ts";
import { buffered, type Exchange, type Handler, type HttpResponse } from "../exchange.ts";
import { DOCS_SCRIPT, docsPage, type Page, startPage } from "./document-pages.ts";
import { portalHandlers } from "./portal.ts";
import { type Encoding, encodingFor, unlessKnown } from "./static-content.ts";

export type DocumentDeps = {
  /** Each is asked once, when somebody first wants to read it. */
  readonly apiDocument: () => string;
  readonly manageDocument: () => string;
  readonly llmsText: () => string;
  /** Where callers reach the gateway, without a path. */
  readonly publicUrl: string;
  /** The built portal. */
  readonly portalFolder: string;
};

/** Handlers of the portal, /docs, /llms.txt and the OpenAPI documents, by the id of their route. */
export function documentHandlers(deps: DocumentDeps): Readonly<Record<string, Handler>> {
  const assets = makeAssets();
  return {
    ...portalHandlers({ folder: deps.portalFolder, publicUrl: deps.publicUrl }, page(startPage(deps.publicUrl))),
    getDocsPage: page(docsPage(assets.files)),
    getDocsAsset: buffered((exchange) => assets.reply(exchange)),
    getApiDocument: text("application/json", deps.apiDocument),
    getManageDocument: text("application/json", deps.manageDocument),
    getLlmsText: text("text/plain; charset=utf-8", deps.llmsText),
  };
}

function page({ html, contentSecurityPolicy }: Page): Handler {
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": contentSecurityPolicy,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
  };
  return buffered(async (exchange) => unlessKnown(exchange, headers, html));
}

function text(contentType: string, make: () => string): Handler {
  let made: string | undefined;
  const headers = { "content-type": contentType };
  return buffered(async (exchange) => {
    made ??= make();
    return unlessKnown(exchange, headers, made);
  });
}

const REFERENCE = path.dirname(createRequire(import.meta.url).resolve("@scalar/api-reference"));

/** Scripts of the reference. Their names carry a digest or a version, so browsers may keep them. */
function makeAssets() {
  const start = `start-${hash("sha256", DOCS_SCRIPT, "hex").slice(0, 12)}.js`;
  const sources = new Map<string, () => Promise<Buffer>>([
    [`reference-${referenceVersion()}.js`, () => readFile(path.join(REFERENCE, "browser/standalone.js"))],
    [start, async () => Buffer.from(DOCS_SCRIPT)],
  ]);
  const made = new Map<string, Promise<Buffer>>();
  const encoded = (file: string, encoding: Encoding, read: () => Promise<Buffer>): Promise<Buffer> => {
    const key = `${encoding} ${file}`;
    const found = made.get(key) ?? read().then((bytes) => compress(bytes, encoding));
    made.set(key, found);
    found.catch(() => made.delete(key));
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

/** Once for each encoding, on a thread of the pool: a middle quality that takes a moment and not seconds. */
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
