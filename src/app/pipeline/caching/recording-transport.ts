import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";
import type { ProviderExchange } from "../../../domain/response-cache/cached-reply.ts";
import type { ReplyCache } from "../../../domain/response-cache/reply-cache.ts";
import type { Transport, UpstreamRequest, UpstreamResponseHandler } from "../../../io/upstream/transport.ts";
import { sha256Hex } from "../../../kit/secret.ts";
import { canonicalBody } from "./canonical-body.ts";

type RecordingMemory = Pick<ReplyCache, "limits" | "takeRecording" | "giveRecording">;
type Recording = { readonly headers: IncomingHttpHeaders; readonly chunks: Buffer[] };

/** Of the connection, not of the reply. */
const NOT_RECORDED: ReadonlySet<string> = new Set(["connection", "content-length", "set-cookie", "transfer-encoding"]);

/** Of the path, since an endpoint may move, and the body. Undefined: a body that is no text. */
export function exchangeDigest({ url, body }: Pick<UpstreamRequest, "url" | "body">): string | undefined {
  if (typeof body !== "string") return undefined;
  const { pathname, search } = new URL(url);
  return sha256Hex(`${pathname}${search}\n${canonicalBody(body) ?? body}`);
}

/** Records what the latest endpoint replies, within the bounds of the cache. */
export class RecordingTransport implements Transport {
  readonly #inner: Transport;
  readonly #cache: RecordingMemory;
  readonly #recordings = new Map<string, Recording>();
  #url: string | undefined;
  #bytes = 0;
  #isStopped = false;

  constructor(inner: Transport, cache: RecordingMemory) {
    this.#inner = inner;
    this.#cache = cache;
  }

  send(request: UpstreamRequest, handler: UpstreamResponseHandler): ReturnType<Transport["send"]> {
    const digest = this.#isStopped ? undefined : exchangeDigest(request);
    if (digest === undefined) this.stop();
    // Another endpoint: what the one before it replied was not served.
    if (request.url !== this.#url) this.#clear();
    this.#url = request.url;
    if (digest === undefined) return this.#inner.send(request, handler);
    this.#forget(digest);
    return this.#inner.send(request, {
      onFailure: (failure) => handler.onFailure(failure),
      onHeaders: (status, headers) => {
        const reader = handler.onHeaders(status, headers);
        if (status !== 200) return reader;
        const recording: Recording = { headers, chunks: [] };
        this.#recordings.set(digest, recording);
        return {
          onData: (chunk) => {
            this.#add(digest, recording, chunk);
            return reader.onData(chunk);
          },
          onEnd: () => reader.onEnd(),
          onFailure: (failure) => reader.onFailure(failure),
        };
      },
    });
  }

  release(owner: string): void {
    this.#inner.release(owner);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  /** Empty: nothing that can be replayed was recorded. */
  exchanges(): ProviderExchange[] {
    if (this.#isStopped) return [];
    return [...this.#recordings].map(([digest, { headers, chunks }]) => {
      const body = Buffer.concat(chunks);
      const encoding = isUtf8(body) ? "utf8" : "base64";
      return { digest, headers: recordedHeaders(headers), body: body.toString(encoding), encoding };
    });
  }

  /** Called at the end of the request, too. */
  stop(): void {
    this.#isStopped = true;
    this.#clear();
  }

  #add(digest: string, recording: Recording, chunk: Buffer): void {
    if (this.#isStopped || this.#recordings.get(digest) !== recording) return;
    const { replyBytes } = this.#cache.limits;
    if (this.#bytes + chunk.length > replyBytes || !this.#cache.takeRecording(chunk.length)) {
      this.stop();
      return;
    }
    this.#bytes += chunk.length;
    // A copy: a chunk can be a small part of a large read buffer.
    recording.chunks.push(Buffer.from(chunk));
  }

  #forget(digest: string): void {
    const bytes = this.#recordings.get(digest)?.chunks.reduce((sum, { length }) => sum + length, 0) ?? 0;
    this.#recordings.delete(digest);
    this.#bytes -= bytes;
    this.#cache.giveRecording(bytes);
  }

  #clear(): void {
    for (const digest of [...this.#recordings.keys()]) this.#forget(digest);
  }
}

function recordedHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const recorded: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (typeof value === "string" && !NOT_RECORDED.has(name)) recorded[name] = value;
  return recorded;
}
