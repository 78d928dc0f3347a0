import type { Route } from "../contract/route.ts";
import { Compressor } from "../kit/compressor.ts";
import { type ContentEncoding, negotiateEncoding } from "../kit/content-encoding.ts";
import { etagOfEncoding, matchesEtag } from "../kit/etag.ts";
import type { Exchange, Handler, HttpResponse } from "./exchange.ts";

/** Smaller bodies fit into one packet with their headers. */
const COMPRESSED_BYTES_MIN = 1024;
/** The compressed catalogue in all its pages takes about a tenth of this. */
const CACHE_BYTES_MAX = 8 * 1024 * 1024;

const COMPRESSIBLE_TYPE = /^(?:application\/(?:json|x-ndjson)|text\/)/;

/** Wraps the handlers of routes that the route table marks as compressible; all others stay as they are. */
export function compressResponses(
  routes: readonly Route[],
  handlers: Readonly<Record<string, Handler>>,
): Record<string, Handler> {
  const compression = new ResponseCompression();
  const compressible = new Set(routes.filter(({ compressed }) => compressed === true).map(({ id }) => id));
  return Object.fromEntries(
    Object.entries(handlers).map(([id, handler]) => {
      if (!compressible.has(id) || handler.kind === "streamed") return [id, handler];
      return [id, { kind: "buffered", handle: (exchange) => compression.respond(exchange, handler.handle) }];
    }),
  );
}

type Representation = { readonly bytes: Buffer; readonly encoding: ContentEncoding };

class ResponseCompression {
  readonly #compressor = new Compressor();
  readonly #cache = new PrecompressedCache(CACHE_BYTES_MAX);

  /**
   * Selects the representation first and compares its ETag then: the condition is hidden from the handler, which knows
   * only the ETag of the uncompressed one.
   */
  async respond(exchange: Exchange, handle: (exchange: Exchange) => Promise<HttpResponse>): Promise<HttpResponse> {
    const { "if-none-match": condition, ...requestHeaders } = exchange.headers;
    const response = await handle({ ...exchange, headers: requestHeaders });
    const { etag } = response.headers ?? {};
    const vary = appendVary(response.headers?.["vary"] ?? exchange.baseHeaders["vary"]);
    if (response.status !== 200 && response.status !== 201)
      return { ...response, headers: { ...response.headers, vary } };
    const encoding = negotiateEncoding(exchange.headers["accept-encoding"]);
    const { bytes, encoding: used } = await this.#represent(exchange, response, encoding);
    const headers: Record<string, string> = { ...response.headers, vary };
    if (etag !== undefined) headers["etag"] = etagOfEncoding(etag, used);
    if (etag !== undefined && matchesEtag(condition, etagOfEncoding(etag, used))) {
      delete headers["content-type"];
      return { status: 304, headers };
    }
    if (response.json !== undefined) headers["content-type"] ??= "application/json";
    if (used !== "identity") headers["content-encoding"] = used;
    const { json: _, ...rest } = response;
    return { ...rest, headers, bytes };
  }

  async #represent(exchange: Exchange, response: HttpResponse, encoding: ContentEncoding): Promise<Representation> {
    if (encoding === "identity" || !isCompressible(response)) return { bytes: bodyOf(response), encoding: "identity" };
    const key = cacheKey(exchange, response, encoding);
    const cached = key === undefined ? undefined : this.#cache.get(key);
    if (cached !== undefined) return cached;
    const body = bodyOf(response);
    if (body.length <= COMPRESSED_BYTES_MIN) return { bytes: body, encoding: "identity" };
    const compressed = await this.#compressor.compress(body, encoding, key === undefined ? "per_response" : "once");
    if (compressed === undefined || compressed.length >= body.length) return { bytes: body, encoding: "identity" };
    const representation = { bytes: compressed, encoding };
    if (key !== undefined) this.#cache.set(key, representation);
    return representation;
  }
}

function isCompressible({ json, headers, bytes }: HttpResponse): boolean {
  if (headers?.["content-encoding"] !== undefined) return false;
  return json !== undefined || (bytes !== undefined && COMPRESSIBLE_TYPE.test(headers?.["content-type"] ?? ""));
}

function bodyOf({ json, bytes = "" }: HttpResponse): Buffer {
  const content = json === undefined ? bytes : JSON.stringify(json);
  return typeof content === "string" ? Buffer.from(content) : content;
}

/** Only public content with a strong ETag is kept: the ETag then determines the bytes for every caller. */
function cacheKey({ route }: Exchange, { headers }: HttpResponse, encoding: ContentEncoding): string | undefined {
  const { etag, "cache-control": cacheControl = "" } = headers ?? {};
  if (etag === undefined || route.access.by !== "anyone" || /private|no-store/.test(cacheControl)) return undefined;
  return `${encoding} ${etag}`;
}

function appendVary(vary: string | undefined): string {
  return vary === undefined ? "Accept-Encoding" : `${vary}, Accept-Encoding`;
}

/** Compressed bodies by encoding and ETag, the least recently used evicted first. */
class PrecompressedCache {
  readonly #entries = new Map<string, Representation>();
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get(key: string): Representation | undefined {
    const found = this.#entries.get(key);
    if (found === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, found);
    return found;
  }

  set(key: string, representation: Representation): void {
    this.#remove(key);
    this.#entries.set(key, representation);
    this.#bytes += representation.bytes.length;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#remove(oldest);
    }
  }

  #remove(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes.length ?? 0;
    this.#entries.delete(key);
  }
}
