import { promisify } from "node:util";
import { brotliCompress, gzip, constants as zlib } from "node:zlib";
import type { ContentEncoding } from "./content-encoding.ts";

/** Half of libuv's default thread pool: journal syncs and file reads share it and must not queue behind compression. */
const CONCURRENCY_MAX = 2;
/** Beyond this, responses leave uncompressed instead of waiting. */
const WAITING_MAX = 64;

const BROTLI_QUALITY_MAX = 5;
const GZIP_LEVEL = 6;

export type CompressionEffort = "per_response" | "once";

/** Brotli 4 costs about as much as gzip 6 and is a little smaller; 5 is for what is compressed once and sent often. */
const BROTLI_QUALITY: Readonly<Record<CompressionEffort, number>> = { per_response: 4, once: BROTLI_QUALITY_MAX };

const brotliAsync = promisify(brotliCompress);
const gzipAsync = promisify(gzip);

/** Compresses on the thread pool, never on the event loop, a few bodies at a time. */
export class Compressor {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /** Undefined: too many bodies are waiting; the response should be sent as it is. */
  async compress(
    body: Buffer,
    encoding: Exclude<ContentEncoding, "identity">,
    effort: CompressionEffort,
  ): Promise<Buffer | undefined> {
    if (this.#running >= CONCURRENCY_MAX) {
      if (this.#waiting.length >= WAITING_MAX) return undefined;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#running += 1;
    try {
      if (encoding === "gzip") return await gzipAsync(body, { level: GZIP_LEVEL });
      return await brotliAsync(body, {
        params: {
          [zlib.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY[effort],
          [zlib.BROTLI_PARAM_MODE]: zlib.BROTLI_MODE_TEXT,
          [zlib.BROTLI_PARAM_SIZE_HINT]: body.length,
        },
      });
    } finally {
      // A waiting body takes over the slot.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
