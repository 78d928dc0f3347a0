import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";

/** How a request ended before or during its response. */
export type RequestFailure = {
  /** `stopped`: the client was closed; it says nothing about the server. */
  readonly kind: "connect" | "timeout" | "broken" | "aborted" | "stopped";
  /** Whether any byte of the request may have reached the server. */
  readonly sent: boolean;
  /** An error code for the log; never contains content. */
  readonly why: string;
};

/** A body that is too large for memory; every attempt opens it again. */
export type StreamedBody = { readonly bytes: number; open(): Readable };

export type HttpBody = string | StreamedBody;

export type HttpRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: HttpBody;
  readonly method?: "GET" | "POST";
  /** The workspace whose credential the request carries, if not the operator's: owners never share connections. */
  readonly owner?: string | undefined;
  /** Of this response, instead of the client's own. */
  readonly timeouts?: ResponseTimeouts | undefined;
};

/** Limits for the wait before a response and for the gaps inside it. */
export type ResponseTimeouts = { readonly firstByteTimeoutMs: number; readonly idleTimeoutMs: number };

/**
 * Receives the body of a response. "pause" stops reading from the server until `resume`; bytes that TLS had already
 * decrypted are still delivered.
 */
export type ResponseBodyHandler = {
  onData(chunk: Buffer): "more" | "pause";
  onEnd(): void;
  onFailure(failure: RequestFailure): void;
};

export type ResponseHandler = {
  /** Chooses the body handler by status and headers, before any byte of the body is delivered. */
  onHeaders(status: number, headers: IncomingHttpHeaders): ResponseBodyHandler;
  /** The request failed before a response head arrived. */
  onFailure(failure: RequestFailure): void;
};

export type RequestHandle = { abort(): void; resume(): void };

export type HttpClient = {
  send(request: HttpRequest, handler: ResponseHandler): RequestHandle;
  /** Ends the owner's connections once their requests are finished, because its credentials changed. */
  release(owner: string): void;
  close(): Promise<void>;
};

export type ConnectionLimits = ResponseTimeouts & {
  readonly connectTimeoutMs: number;
  readonly headBytesMax: number;
};

export type SerializedHead = {
  readonly text: string;
  /** An ASCII head has the same bytes in UTF-8 as in Latin-1, so it is written together with a UTF-8 body. */
  readonly isAscii: boolean;
};

export type HttpClientLimits = ResponseTimeouts & {
  /** Per origin and owner. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
};

export type OriginPoolLimits = ConnectionLimits & { readonly connections: number };
