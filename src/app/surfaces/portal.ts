import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fault } from "../../contract/faults.ts";
import { negotiateEncoding } from "../../kit/content-encoding.ts";
import { buffered, type Exchange, type Handler, type HttpResponse } from "../exchange.ts";
import { readEncoded, respondWithEtag } from "./static-content.ts";

export type PortalDeps = {
  /** Build output of the portal; empty when it was not built. */
  readonly folder: string;
  /** Origin of the gateway. */
  readonly publicUrl: string;
};

export const PAGE_HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "media-src 'self' blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; "),
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "permissions-policy":
    "camera=(), geolocation=(), microphone=(self), payment=(), usb=(), publickey-credentials-get=(self), publickey-credentials-create=(self)",
  "cross-origin-opener-policy": "same-origin",
};

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
};

/** Handlers of the portal, by route id; `startPage` is served when it was not built. */
export function portalHandlers(deps: PortalDeps, startPage: Handler): Readonly<Record<string, Handler>> {
  const page = pageOf(deps);
  const show =
    page === undefined ? startPage : buffered(async (exchange) => respondWithEtag(exchange, PAGE_HEADERS, page));
  return {
    getStartPage: show,
    getPortal: show,
    getPortalPage: show,
    getDevicePage: show,
    getPortalAsset: buffered((exchange) => asset(deps.folder, exchange)),
  };
}

/** The single-page application, served at every path of the portal. */
function pageOf({ folder, publicUrl }: PortalDeps): string | undefined {
  const file = path.join(folder, "index.html");
  if (!existsSync(file)) return undefined;
  return readFileSync(file, "utf8").replaceAll("%BASE_ADDRESS%", escapeHtml(`${publicUrl}/v1`));
}

/** File names contain a digest, so browsers may cache them forever; the build has compressed them. */
async function asset(folder: string, { params, headers }: Pick<Exchange, "params" | "headers">): Promise<HttpResponse> {
  const name = params["file"] ?? "";
  const contentType = CONTENT_TYPES[path.extname(name)];
  // The folder is flat: names with a slash or a leading dot are rejected.
  if (contentType === undefined || !/^[A-Za-z0-9_-][A-Za-z0-9._-]*$/.test(name)) throw noSuchFileFault();
  const encoding = negotiateEncoding(headers["accept-encoding"]);
  const content = await readEncoded(path.join(folder, "assets", name), encoding);
  if (content === undefined) throw noSuchFileFault();
  return {
    status: 200,
    headers: {
      "content-type": contentType,
      "cache-control": "public, max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "same-origin",
      ...content.headers,
    },
    bytes: content.bytes,
  };
}

function noSuchFileFault() {
  return fault("not_found", {
    message: "There is no file at this path. Reload the page: the portal may have been updated.",
  });
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
